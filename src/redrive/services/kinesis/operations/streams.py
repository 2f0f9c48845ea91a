"""Operations on streams: create, find, list, describe, delete.

AWS works on a stream for some seconds after the answer. Here the work is complete before the answer, so the next
description shows ACTIVE. Every operation on a stream begins with `find_stream`.
"""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.documents import Document
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.languages.iam import Context, request_tags, resource_tags
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.descriptions import describe_stream as stream_description
from redrive.services.kinesis.model.descriptions import list_entry, summarize_stream
from redrive.services.kinesis.model.policy import binding_policy
from redrive.services.kinesis.model.requests import (
    decode_token,
    encode_token,
    in_use,
    invalid_argument,
    invalid_request,
    limit_exceeded,
    stream_not_found,
)
from redrive.services.kinesis.model.resharding import new_shards
from redrive.services.kinesis.model.stream import (
    AUTO,
    ON_DEMAND,
    PROVISIONED,
    USER_PARTITION_KEY,
    Stream,
    parse_stream_arn,
    shard_index,
    stream_arn,
)
from redrive.services.kinesis.model.tags import merge_tags
from redrive.services.kinesis.subscriptions import forget_subscriptions
from redrive.store.api import NO_CONTEXT, Transaction

_STREAMS = "streams"


def find_stream(
    tx: Transaction, caller: Caller, name: str | None, arn: str | None, action: str, context: Context = NO_CONTEXT
) -> Stream:
    """Return the stream that a name, an ARN or both mean, if the caller may do `action` (`kinesis:PutRecord`) on it.

    Another account's stream has to be named by its ARN.
    Errors: ResourceNotFoundException; InvalidArgumentException (neither, or two different streams); AccessDenied….
    """
    scope = caller.scope
    if arn is not None:
        scope, named = parse_stream_arn(arn)
        if name is not None and name != named:
            raise invalid_argument(f"StreamARN {arn} is not the ARN of stream {name}.")
        name = named
    elif name is None:
        raise invalid_argument("Either StreamName or StreamARN must be provided.")
    stream = tx.resources.get(Stream, scope, name) if scope.region == caller.region else None
    if stream is None:
        tx.services.authorize(tx, caller, action, stream_arn(scope, name), context=context)
        raise stream_not_found(scope, name)
    if stream.tags:
        context = {**resource_tags(stream.tags), **context}
    policy = stream.policy and binding_policy(stream.policy, stream.arn, caller, action)
    tx.services.authorize(tx, caller, action, stream.arn, context=context, policy=policy)
    return stream


def check_shards(tx: Transaction, caller: Caller, added: int) -> None:
    """Refuse shards beyond the quota of the account in this region. Errors: LimitExceededException."""
    if tx.services.limits is not Limits.STRICT:
        return
    count = open_shard_count(tx, caller)
    if count + added > limits.SHARDS_MAX:
        raise limit_exceeded(
            f"This request would exceed the shard limit for the account {caller.account} in {caller.region}. Current "
            f"shard count for the account: {count}. Limit: {limits.SHARDS_MAX}. Number of additional shards that would "
            f"have resulted from this request: {added}. Refer to the AWS Service Limits page "
            "(http://docs.aws.amazon.com/general/latest/gr/aws_service_limits.html) for current limits and how to "
            "request higher limits."
        )


def open_shard_count(tx: Transaction, caller: Caller) -> int:
    """How many open shards the provisioned streams of an account have in a region."""
    streams = tx.resources.list(Stream, caller.scope)
    return sum(len(stream.open_shards) for stream in streams if stream.mode == PROVISIONED)


@operation("CreateStream")
def create_stream(
    tx: Transaction,
    caller: Caller,
    *,
    stream_name: str,
    shard_count: int | None = None,
    stream_mode_details: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    warm_throughput_mi_bps: int | None = None,
    max_record_size_in_ki_b: int | None = None,
    record_distribution_strategy: str | None = None,
) -> Document:
    """Create a stream. It can be used at once. Without a mode and a number of shards, it is on demand.

    Errors: ResourceInUseException; ValidationException (mode and shards do not fit); LimitExceededException;
    InvalidArgumentException (tags, warm throughput, strategy).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_CreateStream.html
    """
    scope = caller.scope
    arn = stream_arn(scope, stream_name)
    asked = request_tags(tags or {})
    tx.services.authorize(tx, caller, "kinesis:CreateStream", arn, context=asked)
    mode = (stream_mode_details or {}).get("StreamMode", ON_DEMAND if shard_count is None else PROVISIONED)
    if mode == PROVISIONED and shard_count is None:
        raise invalid_request("ShardCount is required for a stream in PROVISIONED mode.")
    if mode == ON_DEMAND and shard_count is not None:
        raise invalid_request("ShardCount is not supported for a stream in ON_DEMAND mode.")
    strategy = record_distribution_strategy or USER_PARTITION_KEY
    check_strategy(mode, strategy)
    if warm_throughput_mi_bps is not None:
        check_warm_throughput(mode, warm_throughput_mi_bps)
    tagged = merge_tags({}, tags or {})
    if tagged:
        tx.services.authorize(tx, caller, "kinesis:AddTagsToStream", arn, context=asked)
    if tx.resources.get(Stream, scope, stream_name) is not None:
        raise in_use(f"Stream {stream_name} under account {scope.account} already exists.")
    count = shard_count or limits.ON_DEMAND_SHARDS
    if mode == PROVISIONED:
        check_shards(tx, caller, count)
    if count > limits.STREAM_SHARDS_MAX:
        raise limit_exceeded(f"A stream has at most {limits.STREAM_SHARDS_MAX} shards.")
    stream = Stream(
        name=stream_name, id=tx.entropy.hex(16), arn=arn, secret=tx.entropy.hex(32), created_at=tx.now,
        layout=tx.entropy.hex(16), shards=new_shards(count, tx.now), shards_made=count, mode=mode, tags=tagged,
        record_kib_max=max_record_size_in_ki_b or limits.RECORD_KIB_DEFAULT, warm_mibps=warm_throughput_mi_bps,
        distribution=strategy,
    )  # fmt: skip
    tx.resources.put(scope, stream)
    arrived(tx, arn, tx.now)  # Readers of an earlier stream of this name read from the new one.
    return {}


@operation("DeleteStream")
def delete_stream(
    tx: Transaction,
    caller: Caller,
    *,
    stream_name: str | None = None,
    enforce_consumer_deletion: bool | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Delete a stream with its records, and its consumers if `EnforceConsumerDeletion` says so.

    Errors: ResourceNotFoundException; ResourceInUseException (the stream has consumers).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DeleteStream.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:DeleteStream")
    if stream.consumers and not enforce_consumer_deletion:
        raise in_use(
            f"Stream {stream.name} under account {stream.scope.account} has registered consumers. Deregister them, or "
            "set EnforceConsumerDeletion."
        )
    tx.resources.delete(Stream, stream.scope, stream.name)
    forget_rows(tx, "streams", stream.id)
    for consumer in stream.consumers:
        forget_subscriptions(tx, stream, consumer)
    announce(tx, stream)
    return {}


def announce(tx: Transaction, stream: Stream) -> None:
    """Tell the readers of a stream, and of its consumers, that there is something to read or that shards changed."""
    arrived(tx, stream.arn, tx.now)
    for consumer in stream.consumers:
        arrived(tx, consumer.arn, tx.now)
    tx.notify(stream.topic)


@operation("DescribeStream")
def describe_stream(
    tx: Transaction,
    caller: Caller,
    *,
    stream_name: str | None = None,
    limit: int | None = None,
    exclusive_start_shard_id: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Describe a stream with a page of its shards, at most `limit` (100) after the given one.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DescribeStream.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:DescribeStream")
    after = index_after(exclusive_start_shard_id)
    shards = [shard for shard in stream.living_shards(tx.now) if shard.index > after]
    size = limit or limits.DESCRIBED_SHARDS_DEFAULT
    return {"StreamDescription": stream_description(stream, shards[:size], has_more=len(shards) > size)}


def index_after(id: str | None) -> int:
    """The index of an ExclusiveStartShardId; -1 without one. The shard need not exist.

    Errors: InvalidArgumentException.
    """
    if id is None:
        return -1
    index = shard_index(id)
    if index is None:
        raise invalid_argument(f"ExclusiveStartShardId {id} is not the id of a shard.")
    return index


@operation("DescribeStreamSummary")
def describe_stream_summary(
    tx: Transaction,
    caller: Caller,
    *,
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Describe a stream without its shards.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DescribeStreamSummary.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:DescribeStreamSummary")
    return {"StreamDescriptionSummary": summarize_stream(stream)}


@operation("ListStreams")
def list_streams(
    tx: Transaction,
    caller: Caller,
    *,
    limit: int | None = None,
    exclusive_start_stream_name: str | None = None,
    next_token: str | None = None,
) -> Document:
    """List the caller's streams, sorted by name, at most `limit` (100) after the given one.

    Errors: InvalidArgumentException; ExpiredNextTokenException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListStreams.html
    """
    tx.services.authorize(tx, caller, "kinesis:ListStreams", stream_arn(caller.scope, "*"))
    after = exclusive_start_stream_name or ""
    if next_token is not None:
        after = decode_token(_STREAMS, next_token, tx.now)[0]
    size = limit or limits.LIST_STREAMS_DEFAULT
    found = tx.resources.list(Stream, caller.scope, after=after, limit=size + 1)
    page = found[:size]
    answer: Document = {
        "StreamNames": [stream.name for stream in page],
        "StreamSummaries": [list_entry(stream) for stream in page],
        "HasMoreStreams": len(found) > size,
    }
    if len(found) > size:
        answer["NextToken"] = encode_token(_STREAMS, tx.now, page[-1].name)
    return answer


def check_strategy(mode: str, strategy: str) -> None:
    """Refuse to distribute the records of a provisioned stream. Errors: InvalidArgumentException."""
    if strategy == AUTO and mode != ON_DEMAND:
        raise invalid_argument("RecordDistributionStrategy AUTO is only supported for streams in ON_DEMAND mode.")


def check_warm_throughput(mode: str, mibps: int) -> None:
    """Refuse a warm throughput that this stream cannot have. Errors: InvalidArgumentException."""
    if mode != ON_DEMAND:
        raise invalid_argument("Warm throughput is only supported for streams in ON_DEMAND mode.")
    if mibps > limits.WARM_MIBPS_MAX:
        raise invalid_argument(f"WarmThroughputMiBps is at most {limits.WARM_MIBPS_MAX}.")
