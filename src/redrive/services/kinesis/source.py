"""Streams of Kinesis as a source of batches for functions."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from redrive.core.arn import Arn
from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.stream_sources import StartingPoint, StreamItem, StreamPage, StreamShard
from redrive.languages.iam import Context, resource_tags
from redrive.services.kinesis.model.policy import binding_policy
from redrive.services.kinesis.model.requests import stream_not_found
from redrive.services.kinesis.model.stream import (
    Shard,
    Stream,
    consumer_name,
    parse_stream_arn,
    shard_index,
)
from redrive.services.kinesis.reading import last_number, number_of, position_at, read_records
from redrive.store.api import NO_CONTEXT, Transaction
from redrive.store.tables.streams import StreamRecord


class KinesisStreams:
    """Implements delivery.sources.stream_sources.StreamSource. A stream may be named by the ARN of its consumer."""

    service = "kinesis"

    def shards(self, tx: Transaction, caller: Caller, stream_arn: str) -> Sequence[StreamShard]:
        """The shards of a stream that still can be read, in the order of their ids."""
        stream = _authorized(tx, caller, stream_arn, "kinesis:ListShards", "kinesis:DescribeStreamConsumer")
        return [
            StreamShard(shard.id, shard.parents, is_closed=not shard.is_open)
            for shard in stream.living_shards(tx.now)
        ]  # fmt: skip

    def position(
        self, tx: Transaction, stream_arn: str, shard_id: str, start: StartingPoint, at: Instant | None
    ) -> int:
        """The number of the record after which a new reader goes on."""
        stream = _stream(tx, stream_arn)
        shard = _shard(stream, shard_id)
        match start:
            case StartingPoint.TRIM_HORIZON:
                return 0
            case StartingPoint.LATEST:
                return last_number(tx, stream, shard)
            case StartingPoint.AT_TIMESTAMP:
                return position_at(tx, stream, shard, at or 0)

    def read(
        self, tx: Transaction, caller: Caller, stream_arn: str, shard_id: str, after: int, *, limit: int, bytes_max: int
    ) -> StreamPage:
        """Records of a shard after a number, as functions see them."""
        stream = _authorized(tx, caller, stream_arn, "kinesis:GetRecords", "kinesis:SubscribeToShard")
        shard = _shard(stream, shard_id)
        last = last_number(tx, stream, shard)
        records = read_records(tx, stream, shard, after, last=last, limit=limit, bytes_max=bytes_max)
        reached = records[-1].seq if records else last
        items = [_item(stream, shard, record, caller) for record in records]
        return StreamPage(items, is_end=not shard.is_open and reached >= last)


def _stream(tx: Transaction, arn: str) -> Stream:
    """The stream that an ARN names. Errors: ResourceNotFoundException."""
    scope, name = _parse(arn)
    stream = tx.resources.get(Stream, scope, name)
    if stream is None:
        raise stream_not_found(scope, name)
    return stream


def _authorized(tx: Transaction, caller: Caller, arn: str, action: str, consumer_action: str) -> Stream:
    """The stream, if the caller may do this action on it, or the other action on the consumer that the ARN names.

    Errors: ResourceNotFoundException; AccessDeniedException.
    """
    scope, name = _parse(arn)
    stream = tx.resources.get(Stream, scope, name)
    of_consumer = consumer_name(arn)
    resource, policy = arn, ""
    context: Context = NO_CONTEXT
    if of_consumer is not None:
        action = consumer_action
        consumer = None if stream is None else stream.consumer(of_consumer)
        if consumer is None or consumer.arn != arn:
            tx.services.authorize(tx, caller, action, arn)
            raise ServiceError("ResourceNotFoundException", f"Consumer {arn} not found.")
        policy, context = consumer.policy, resource_tags(consumer.tags)
    elif stream is not None:
        resource, policy, context = stream.arn, stream.policy, resource_tags(stream.tags)
    bound = binding_policy(policy, resource, caller, action)
    tx.services.authorize(tx, caller, action, resource, context=context, policy=bound)
    if stream is None:
        raise stream_not_found(scope, name)
    return stream


def _parse(arn: str) -> tuple[Scope, str]:
    """The place and the name of a stream. Errors: ResourceNotFoundException for a text that names none."""
    try:
        resource = Arn.parse(arn).resource
    except ValueError:
        resource = ""
    if not resource.startswith("stream/"):
        raise ServiceError("ResourceNotFoundException", f"Stream {arn} not found.")
    return parse_stream_arn(arn)


def _shard(stream: Stream, id: str) -> Shard:
    index = shard_index(id)
    shard = None if index is None else stream.shard(index)
    if shard is None:
        raise ServiceError("ResourceNotFoundException", f"Shard {id} in stream {stream.name} does not exist")
    return shard


def _item(stream: Stream, shard: Shard, record: StreamRecord, caller: Caller) -> StreamItem:
    """A record with its document. Source: https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html"""
    number = number_of(shard, record)
    document: Document = {
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": record.partition_key,
            "sequenceNumber": number,
            "data": base64.b64encode(record.data).decode(),
            "approximateArrivalTimestamp": record.at / SECOND_MS,
        },
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"{shard.id}:{number}",
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": caller.role_arn or caller.principal_arn,
        "awsRegion": stream.scope.region,
        "eventSourceARN": stream.arn,
    }
    return StreamItem(record.seq, record.at, record.partition_key, number, document)
