"""A stream over the store's records, for tests of mappings: a test opens and closes its shards, and puts records."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.sources.stream_sources import StartingPoint, StreamItem, StreamPage, StreamShard
from redrive.delivery.sources.watches import arrived
from redrive.store.api import Transaction
from redrive.store.tables.streams import NewStreamRecord, StreamRecord

STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/clicks"
FIRST = "shardId-000000000000"
NUMBER = 49_590_338_271_490_256_608_559_692_538_361_571_095_921_575_989_136_000_000


def number_of(seq: int) -> str:
    """The sequence number of a record."""
    return str(NUMBER + seq)


@dataclass(slots=True)
class Shards:
    """One stream of Kinesis: a StreamSource that keeps its records where Kinesis keeps them."""

    service: str = "kinesis"
    stream: str = STREAM
    open: dict[str, StreamShard] = field(default_factory=lambda: {FIRST: StreamShard(FIRST)})
    retention_ms: int = 24 * 3_600_000
    is_gone: bool = False
    reads: int = 0

    def shards(self, tx: Transaction, caller: Caller, stream_arn: str) -> Sequence[StreamShard]:
        self._check(stream_arn)
        return list(self.open.values())

    def position(
        self, tx: Transaction, stream_arn: str, shard_id: str, start: StartingPoint, at: Instant | None
    ) -> int:
        match start:
            case StartingPoint.TRIM_HORIZON:
                return 0
            case StartingPoint.LATEST:
                return tx.streams.last(shard_id).seq
            case StartingPoint.AT_TIMESTAMP:
                assert at is not None
                found = tx.streams.first_since(shard_id, at)
                return tx.streams.last(shard_id).seq if found is None else found.seq - 1

    def read(
        self, tx: Transaction, caller: Caller, stream_arn: str, shard_id: str, after: int, *, limit: int, bytes_max: int
    ) -> StreamPage:
        self._check(stream_arn)
        self.reads += 1
        since = tx.now - self.retention_ms
        found = tx.streams.page(shard_id, after, limit=limit, bytes_max=bytes_max)
        items = [self._item(shard_id, one) for one in found if one.at > since]
        last = found[-1].seq if found else after
        is_end = self.open[shard_id].is_closed and last >= tx.streams.last(shard_id).seq
        return StreamPage(items, is_end)

    def put(self, tx: Transaction, *records: tuple[str, object], shard: str = FIRST) -> list[str]:
        """Put records, each a partition key and data; returns their sequence numbers."""
        tx.streams.reserve(shard)
        new = [
            NewStreamRecord(key, data if isinstance(data, bytes) else json.dumps(data).encode())
            for key, data in records
        ]
        positions = tx.streams.append(shard, new, now=tx.now)
        arrived(tx, self.stream, tx.now)
        return [number_of(position.seq) for position in positions]

    def split(self, tx: Transaction, shard: str, *children: str) -> None:
        """Close a shard, and open others after it."""
        self.open[shard] = replace(self.open[shard], is_closed=True)
        for child in children:
            self.open[child] = StreamShard(child, (shard,))
        arrived(tx, self.stream, tx.now)

    def _check(self, stream_arn: str) -> None:
        if self.is_gone or stream_arn != self.stream:
            raise ServiceError("ResourceNotFoundException", f"Stream {stream_arn} not found.")

    def _item(self, shard_id: str, record: StreamRecord) -> StreamItem:
        number = number_of(record.seq)
        region = self.stream.split(":")[3]
        document = {
            "kinesis": {
                "kinesisSchemaVersion": "1.0",
                "partitionKey": record.partition_key,
                "sequenceNumber": number,
                "data": base64.b64encode(record.data).decode(),
                "approximateArrivalTimestamp": record.at / 1000,
            },
            "eventSource": "aws:kinesis",
            "eventVersion": "1.0",
            "eventID": f"{shard_id}:{number}",
            "eventName": "aws:kinesis:record",
            "awsRegion": region,
            "eventSourceARN": self.stream,
        }
        return StreamItem(record.seq, record.at, record.partition_key, number, document)
