"""Reading a shard: which records have not expired, from where a reader goes on, and how far behind a reader is."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.services.kinesis.model.sequence import sequence_number
from redrive.services.kinesis.model.stream import Shard, Stream
from redrive.store.api import Transaction
from redrive.store.tables.streams import StreamRecord


def read_records(
    tx: Transaction, stream: Stream, shard: Shard, after: int, *, last: int, limit: int, bytes_max: int
) -> Sequence[StreamRecord]:
    """Records of a shard that have not expired: after the one numbered `after`, up to the one numbered `last`.

    They have at most `bytes_max` bytes, unless one record has more. `last` was the newest record before this call:
    other nodes may write in between, and a reader must not go on behind records that it has not seen.
    """
    records = stream.records_of(shard.index)
    horizon = stream.horizon(tx.now)
    page = tx.streams.page(records, after, limit=limit, bytes_max=bytes_max, seq_last=last)
    if page and page[0].at < horizon:
        first = tx.streams.first_since(records, horizon)
        if first is None:
            return []
        page = tx.streams.page(records, first.seq - 1, limit=limit, bytes_max=bytes_max, seq_last=last)
    if len(page) > 1 and sum(map(size_of, page)) > bytes_max:
        return page[:-1]
    return page


def size_of(record: StreamRecord) -> int:
    """The bytes of a record: its data and its partition key."""
    return len(record.data) + len(record.partition_key.encode())


def number_of(shard: Shard, record: StreamRecord) -> str:
    """The sequence number of a record."""
    return sequence_number(shard.created_s, shard.index, record.seq, record.at)


def describe_record(stream: Stream, shard: Shard, record: StreamRecord) -> Document:
    """A Record."""
    described: Document = {
        "SequenceNumber": number_of(shard, record),
        "ApproximateArrivalTimestamp": record.at,
        "Data": record.data,
    }
    if record.partition_key:
        described["PartitionKey"] = record.partition_key
    if stream.is_encrypted:
        described["EncryptionType"] = "KMS"
    return described


def position_at(tx: Transaction, stream: Stream, shard: Shard, at: Instant) -> int:
    """The number after which a reader goes on who wants the records since an instant."""
    records = stream.records_of(shard.index)
    first = tx.streams.first_since(records, at)
    return tx.streams.last(records).seq if first is None else first.seq - 1


def last_number(tx: Transaction, stream: Stream, shard: Shard) -> int:
    """The number of the newest record of a shard."""
    return tx.streams.last(stream.records_of(shard.index)).seq


def children_of(stream: Stream, shard: Shard, now: Instant) -> list[Shard]:
    """The shards that a closed shard became."""
    return [child for child in stream.living_shards(now) if shard.index in (child.parent, child.adjacent_parent)]
