"""Operations on registered consumers: register, describe, list, deregister."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, request_tags, resource_tags
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.descriptions import describe_consumer
from redrive.services.kinesis.model.policy import binding_policy
from redrive.services.kinesis.model.requests import (
    decode_token,
    encode_token,
    in_use,
    invalid_argument,
    limit_exceeded,
    stream_not_found,
)
from redrive.services.kinesis.model.stream import Consumer, Stream, consumer_arn, consumer_name, parse_stream_arn
from redrive.services.kinesis.model.tags import merge_tags
from redrive.services.kinesis.operations.shards import check_incarnation
from redrive.services.kinesis.operations.streams import announce, find_stream
from redrive.services.kinesis.subscriptions import forget_subscriptions
from redrive.store.api import NO_CONTEXT, Transaction

_CONSUMERS = "consumers"


def find_consumer(
    tx: Transaction, caller: Caller, arn: str, action: str, context: Context = NO_CONTEXT
) -> tuple[Stream, Consumer]:
    """Return the consumer with this ARN and its stream, if the caller may do `action` on it.

    Errors: ResourceNotFoundException; AccessDeniedException.
    """
    scope, stream_name = parse_stream_arn(arn)
    stream = tx.resources.get(Stream, scope, stream_name) if scope.region == caller.region else None
    consumer = None if stream is None else stream.consumer(consumer_name(arn) or "")
    if stream is None or consumer is None or consumer.arn != arn:
        tx.services.authorize(tx, caller, action, arn, context=context)
        raise _no_consumer(arn, scope.account)
    policy = binding_policy(consumer.policy, arn, caller, action)
    tx.services.authorize(
        tx, caller, action, arn, context={**resource_tags(consumer.tags), **context}, policy=policy
    )  # fmt: skip
    return stream, consumer


def store_consumer(tx: Transaction, stream: Stream, consumer: Consumer) -> None:
    """Store a changed consumer of a stream."""
    consumers = tuple(consumer if one.name == consumer.name else one for one in stream.consumers)
    tx.resources.put(stream.scope, dataclasses.replace(stream, consumers=consumers))


@operation("RegisterStreamConsumer")
def register_stream_consumer(
    tx: Transaction,
    caller: Caller,
    *,
    stream_arn: str,
    consumer_name: str,
    stream_id: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> Document:
    """Register a consumer of a stream. It can subscribe at once.

    Errors: ResourceNotFoundException; ResourceInUseException (the stream has a consumer of this name);
    LimitExceededException; InvalidArgumentException (tags).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_RegisterStreamConsumer.html
    """
    asked = request_tags(tags or {})
    stream = find_stream(tx, caller, None, stream_arn, "kinesis:RegisterStreamConsumer", asked)
    where = f"stream {stream.name} under account {stream.scope.account}"
    if stream.consumer(consumer_name) is not None:
        raise in_use(f"Consumer {consumer_name} of {where} already exists.")
    if len(stream.consumers) >= limits.CONSUMERS_MAX and tx.services.limits is Limits.STRICT:
        raise limit_exceeded(f"At most {limits.CONSUMERS_MAX} consumers can be registered with {where}.")
    tagged = merge_tags({}, tags or {})
    arn = consumer_arn(stream, consumer_name, tx.now)
    if tagged:
        tx.services.authorize(tx, caller, "kinesis:TagResource", arn, context=asked)
    consumer = Consumer(consumer_name, arn, tx.now, tagged)
    tx.resources.put(stream.scope, dataclasses.replace(stream, consumers=(*stream.consumers, consumer)))
    return {"Consumer": describe_consumer(consumer, status="CREATING")}


@operation("DescribeStreamConsumer")
def describe_stream_consumer(
    tx: Transaction,
    caller: Caller,
    *,
    stream_arn: str | None = None,
    consumer_name: str | None = None,
    consumer_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Describe the consumer with this ARN, or the one with this name of a stream.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DescribeStreamConsumer.html
    """
    action = "kinesis:DescribeStreamConsumer"
    stream, consumer = _named(tx, caller, action, stream_arn, consumer_name, consumer_arn)
    return {"ConsumerDescription": {**describe_consumer(consumer), "StreamARN": stream.arn}}


@operation("ListStreamConsumers")
def list_stream_consumers(
    tx: Transaction,
    caller: Caller,
    *,
    stream_arn: str,
    next_token: str | None = None,
    max_results: int | None = None,
    stream_creation_timestamp: Instant | None = None,
    stream_id: str | None = None,
) -> Document:
    """List the consumers of a stream, sorted by name, at most `max_results` (100).

    Errors: ResourceNotFoundException; InvalidArgumentException; ExpiredNextTokenException; ResourceInUseException (a
    later stream has the name).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListStreamConsumers.html
    """
    stream = find_stream(tx, caller, None, stream_arn, "kinesis:ListStreamConsumers")
    key, after = "", ""
    if next_token is not None:
        if stream_creation_timestamp is not None:
            raise invalid_argument("NextToken and StreamCreationTimestamp cannot be provided together.")
        key, after, *_ = [*decode_token(_CONSUMERS, next_token, tx.now), ""]
    check_incarnation(stream, key, stream_creation_timestamp)
    size = max_results or limits.LIST_CONSUMERS_DEFAULT
    found = sorted((one for one in stream.consumers if one.name > after), key=lambda one: one.name)
    answer: Document = {"Consumers": [describe_consumer(consumer) for consumer in found[:size]]}
    if len(found) > size:
        answer["NextToken"] = encode_token(_CONSUMERS, tx.now, stream.id, found[size - 1].name)
    return answer


@operation("DeregisterStreamConsumer")
def deregister_stream_consumer(
    tx: Transaction,
    caller: Caller,
    *,
    stream_arn: str | None = None,
    consumer_name: str | None = None,
    consumer_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Deregister a consumer. Its subscriptions end.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DeregisterStreamConsumer.html
    """
    action = "kinesis:DeregisterStreamConsumer"
    stream, consumer = _named(tx, caller, action, stream_arn, consumer_name, consumer_arn)
    left = tuple(one for one in stream.consumers if one != consumer)
    tx.resources.put(stream.scope, dataclasses.replace(stream, consumers=left))
    forget_subscriptions(tx, stream, consumer)
    announce(tx, stream)
    return {}


def _named(
    tx: Transaction, caller: Caller, action: str, stream_arn: str | None, name: str | None, arn: str | None
) -> tuple[Stream, Consumer]:
    """The consumer that an ARN means, or a name and the ARN of its stream; all of them must mean the same."""
    if arn is None:
        if stream_arn is None or name is None:
            raise invalid_argument("Either ConsumerARN, or StreamARN and ConsumerName, must be provided.")
        scope, stream_name = parse_stream_arn(stream_arn)
        stream = tx.resources.get(Stream, scope, stream_name) if scope.region == caller.region else None
        known = None if stream is None else stream.consumer(name)
        if known is None:
            wanted = f"{stream_arn}/consumer/{name}"
            tx.services.authorize(tx, caller, action, wanted)
            raise stream_not_found(scope, stream_name) if stream is None else _no_consumer(name, scope.account)
        arn = known.arn
    stream, consumer = find_consumer(tx, caller, arn, action)
    if stream_arn not in (None, stream.arn) or name not in (None, consumer.name):
        raise invalid_argument(f"ConsumerARN {arn} is not the ARN of that consumer.")
    return stream, consumer


def _no_consumer(what: str, account: str) -> ServiceError:
    return ServiceError("ResourceNotFoundException", f"Consumer {what} under account {account} not found.")
