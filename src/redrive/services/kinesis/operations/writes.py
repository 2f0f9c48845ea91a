"""Writing records.

The records of a call go to their shards in one transaction. A shard numbers its records in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.worker import will_age
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.hash_keys import Routes
from redrive.services.kinesis.model.metrics import metrics_of, shard_metrics_of
from redrive.services.kinesis.model.records import (
    Entry,
    check_keys,
    check_ordering_number,
    entry_sizes,
    keys_path,
    rate_exceeded,
    shards_of,
)
from redrive.services.kinesis.model.requests import check_dry_run, invalid_argument
from redrive.services.kinesis.model.sequence import SEQ_STEP, sequence_base
from redrive.services.kinesis.model.stream import Stream, routes_of, shard_id
from redrive.services.kinesis.operations.streams import announce, find_stream
from redrive.services.kinesis.retention import RETENTION
from redrive.store.api import Transaction
from redrive.store.tables.streams import NewStreamRecord

Written = tuple[str, str]
"""The shard's id and the sequence number of a record."""


@operation("PutRecord")
def put_record(
    tx: Transaction,
    caller: Caller,
    *,
    data: bytes,
    stream_name: str | None = None,
    partition_key: str | None = None,
    explicit_hash_key: str | None = None,
    sequence_number_for_ordering: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
    dry_run: bool | None = None,
) -> Document:
    """Write one record to the shard that its partition key, or its explicit hash key, leads to.

    Errors: ResourceNotFoundException; InvalidArgumentException (size, hash key, number for ordering);
    ProvisionedThroughputExceededException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecord.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:PutRecord")
    entry: Entry = {"Data": data}
    if partition_key is not None:
        entry["PartitionKey"] = partition_key
    if explicit_hash_key is not None:
        entry["ExplicitHashKey"] = explicit_hash_key
    check_keys(stream, [entry], lambda _: "partitionKey")
    sizes = entry_sizes(stream, [entry])
    if sequence_number_for_ordering is not None:
        check_ordering_number(stream, sequence_number_for_ordering)
    shards = _shards(tx, stream, [entry])
    check_dry_run(dry_run)
    (written,) = _write(tx, stream, [entry], sizes, shards)
    metrics = metrics_of(stream.arn)
    if written is None:
        raise rate_exceeded(stream, shards[0])
    tx.metrics.count(metrics.put_record, tx.now)
    tx.metrics.count(metrics.put_record_bytes, tx.now, sizes[0])
    return _signed(stream, {"ShardId": written[0], "SequenceNumber": written[1]})


@operation("PutRecords")
def put_records(
    tx: Transaction,
    caller: Caller,
    *,
    records: Sequence[Entry],
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
    dry_run: bool | None = None,
) -> Document:
    """Write up to 500 records, 10 MiB in all. Each succeeds or fails on its own; later records are still tried.

    Errors: ResourceNotFoundException; InvalidArgumentException (sizes, hash keys); ValidationException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:PutRecords")
    check_keys(stream, records, keys_path)
    sizes = entry_sizes(stream, records)
    if sum(sizes) > limits.REQUEST_BYTES_MAX:
        raise invalid_argument(f"Records size exceeds {limits.REQUEST_BYTES_MAX // 1_048_576} MB limit")
    shards = _shards(tx, stream, records)
    check_dry_run(dry_run)
    written = _write(tx, stream, records, sizes, shards)
    failed = written.count(None)
    answers: list[Document] = []
    for position, one in enumerate(written):
        if one is None:
            error = rate_exceeded(stream, shards[position])
            answers.append({"ErrorCode": error.code, "ErrorMessage": error.message})
        else:
            answers.append({"SequenceNumber": one[1], "ShardId": one[0]})
    metrics = metrics_of(stream.arn)
    stored = sum(size for size, one in zip(sizes, written, strict=True) if one is not None) if failed else sum(sizes)
    tx.metrics.count(metrics.put_records, tx.now)
    tx.metrics.count(metrics.put_records_total, tx.now, len(records))
    if failed < len(records):
        tx.metrics.count(metrics.put_records_stored, tx.now, len(records) - failed)
        tx.metrics.count(metrics.put_records_bytes, tx.now, stored)
    if failed:
        tx.metrics.count(metrics.put_records_throttled, tx.now, failed)
    return _signed(stream, {"FailedRecordCount": failed, "Records": answers})


def _write(
    tx: Transaction, stream: Stream, entries: Sequence[Entry], sizes: Sequence[int], shards: Sequence[int]
) -> list[Written | None]:
    """Append entries to their shards, in this order. None for an entry that its shard does not take now."""
    by_shard: dict[int, list[int]] = {}
    for position, shard in enumerate(shards):
        by_shard.setdefault(shard, []).append(position)
    tx.streams.reserve(*map(stream.records_of, sorted(by_shard)))
    written: list[Written | None] = [None] * len(entries)
    is_limited = tx.services.has_rates
    for index, positions in by_shard.items():
        taken = _within_rate(tx, stream, index, positions, sizes) if is_limited else positions
        if taken:
            _append(tx, stream, index, entries, taken, written)
        if stream.shard_metrics:
            _count_shard(tx, stream, index, [sizes[position] for position in taken], len(positions) - len(taken))
    if any(written):
        will_age(tx, RETENTION, tx.now + stream.retention_ms)
        announce(tx, stream)
    return written


def _append(
    tx: Transaction, stream: Stream, index: int, entries: Sequence[Entry], positions: Sequence[int],
    written: list[Written | None],
) -> None:  # fmt: skip
    """Append the entries at these positions to a shard, and note their numbers in `written`."""
    records = [
        NewStreamRecord(entry.get("PartitionKey", ""), entry["Data"])
        for entry in map(entries.__getitem__, positions)
    ]  # fmt: skip
    shard = stream.shard(index)
    assert shard is not None, "routes lead to shards of the stream"
    places = tx.streams.append(stream.records_of(index), records, now=tx.now)
    # All of them were written at the same instant.
    base = sequence_base(shard.created_s, index, places[0].at)
    for position, (seq, _) in zip(positions, places, strict=True):
        written[position] = (shard.id, str(base + seq * SEQ_STEP))


def _within_rate(
    tx: Transaction, stream: Stream, index: int, positions: Sequence[int], sizes: Sequence[int]
) -> Sequence[int]:
    """The positions of the entries that a shard takes: 1,000 records and 1 MiB within a second.

    Source: https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html
    """
    count, size = tx.streams.written_since(
        stream.records_of(index), tx.now - SECOND_MS + 1, at_most=limits.SHARD_RECORDS_PER_S
    )
    taken = []
    for position in positions:
        # A record that is larger than the rate is taken by a shard that has taken nothing else.
        has_room = size + sizes[position] <= limits.SHARD_BYTES_PER_S or not count
        if count < limits.SHARD_RECORDS_PER_S and has_room:
            taken.append(position)
            count += 1
            size += sizes[position]
    return taken


def _shards(tx: Transaction, stream: Stream, entries: Sequence[Entry]) -> list[int]:
    return shards_of(stream, _routes(tx, stream), entries, lambda: int(tx.entropy.hex(32), 16))


def _routes(tx: Transaction, stream: Stream) -> Routes:
    """The routes of a stream, computed once for each layout of its shards."""
    key = ("kinesis.routes", stream.layout)
    known = tx.resources.memo.get(key)
    if known is None:
        known = routes_of(stream)
        tx.resources.memo.put(key, known)
    return cast("Routes", known)


def _count_shard(tx: Transaction, stream: Stream, index: int, sizes: Sequence[int], throttled: int) -> None:
    """Count for the metrics of a shard that EnableEnhancedMonitoring has turned on."""
    counts: Mapping[str, float] = {
        "IncomingBytes": sum(sizes),
        "IncomingRecords": len(sizes),
        "WriteProvisionedThroughputExceeded": throttled,
    }
    for series in shard_metrics_of(stream.arn, shard_id(index)):
        if series.name in stream.shard_metrics and counts.get(series.name):
            tx.metrics.count(series, tx.now, counts[series.name])


def _signed(stream: Stream, answer: Document) -> Document:
    """Add the type of encryption, which AWS tells only of encrypted streams."""
    return {**answer, "EncryptionType": "KMS"} if stream.is_encrypted else answer
