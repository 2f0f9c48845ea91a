"""Streams of tables as event source mappings read them: the port StreamSource."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.scope import Caller
from redrive.delivery.sources.stream_sources import StartingPoint, StreamItem, StreamPage, StreamShard
from redrive.services.dynamodb.model.stream import Shard, Stream, find_shard, shards_of
from redrive.services.dynamodb.model.stream_records import function_record
from redrive.services.dynamodb.model.stream_requests import read_stream_arn, shard_not_found, stream_not_found
from redrive.services.dynamodb.streams import (
    find_stream,
    first_position,
    is_closed,
    last_position,
    read_page,
    require_stream,
    seq_before,
)
from redrive.store.api import Transaction


class TableStreams:
    """The streams of DynamoDB's tables. Implements StreamSource."""

    service = "dynamodb"

    def shards(self, tx: Transaction, caller: Caller, stream_arn: str) -> Sequence[StreamShard]:
        """The shards that can be read, parents before their children.

        Errors: AccessDeniedException; ResourceNotFoundException; ValidationException for no stream's ARN.
        """
        stream = require_stream(tx, caller, "DescribeStream", stream_arn)
        shards = shards_of(stream, tx.now)
        newest = [tx.streams.last(stored) for stored in stream.stored_shards]
        return [
            StreamShard(
                shard.id,
                () if shard.parent is None else (shard.parent.id,),
                is_closed(tx, shard, newest[shard.partition]),
            )
            for shard in shards
        ]

    def position(
        self, tx: Transaction, stream_arn: str, shard_id: str, start: StartingPoint, at: Instant | None
    ) -> int:
        """The number after which a new reader goes on.

        Errors: ResourceNotFoundException; ValidationException for no stream's ARN.
        """
        scope, name = read_stream_arn(stream_arn)
        stream = find_stream(tx, scope, name)
        if stream is None:
            raise stream_not_found(stream_arn)
        shard = _shard(tx, stream, shard_id)
        match start:
            case StartingPoint.LATEST:
                return last_position(tx, shard)
            case StartingPoint.AT_TIMESTAMP if at is not None:
                return max(first_position(tx, shard), seq_before(tx, shard, at))
            case _:
                return first_position(tx, shard)

    def read(
        self, tx: Transaction, caller: Caller, stream_arn: str, shard_id: str, after: int, *, limit: int, bytes_max: int
    ) -> StreamPage:
        """Records after a number that have not expired.

        Errors: AccessDeniedException; ResourceNotFoundException; ValidationException for no stream's ARN.
        """
        stream = require_stream(tx, caller, "GetRecords", stream_arn)
        shard = _shard(tx, stream, shard_id)
        page = read_page(tx, shard, after, limit=limit, bytes_max=bytes_max)
        items = [
            StreamItem(
                record.seq, record.at, record.partition_key, shard.number_of(record.seq), function_record(shard, record)
            )
            for record in page.records
        ]
        return StreamPage(items, page.is_end)


def _shard(tx: Transaction, stream: Stream, shard_id: str) -> Shard:
    shard = find_shard(stream, shard_id, tx.now)
    if shard is None:
        raise shard_not_found(shard_id, stream)
    return shard
