"""Reading records: iterators, and the records after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import EventStream, operation
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.descriptions import describe_child
from redrive.services.kinesis.model.iterators import Position, check_iterator, decode_iterator, encode_iterator
from redrive.services.kinesis.model.metrics import metrics_of, shard_metrics_of
from redrive.services.kinesis.model.records import starting_seq
from redrive.services.kinesis.model.requests import check_dry_run, invalid_argument
from redrive.services.kinesis.model.stream import Shard, Stream, shard_index, stream_arn
from redrive.services.kinesis.operations.consumers import find_consumer
from redrive.services.kinesis.operations.streams import find_stream
from redrive.services.kinesis.reading import (
    children_of,
    describe_record,
    last_number,
    position_at,
    read_records,
    size_of,
)
from redrive.services.kinesis.subscriptions import subscribe
from redrive.store.api import Transaction
from redrive.store.tables.streams import StreamRecord

_BY_NUMBER = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")


@operation("GetShardIterator")
def get_shard_iterator(
    tx: Transaction,
    caller: Caller,
    *,
    shard_id: str,
    shard_iterator_type: str,
    stream_name: str | None = None,
    starting_sequence_number: str | None = None,
    timestamp: Instant | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
    dry_run: bool | None = None,
) -> Document:
    """Return an iterator for a place in a shard. An iterator is valid for five minutes.

    Errors: ResourceNotFoundException (no such stream or shard); InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetShardIterator.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:GetShardIterator")
    shard = require_shard(tx, stream, shard_id)
    after = start_of(tx, stream, shard, shard_iterator_type, starting_sequence_number, timestamp)
    check_dry_run(dry_run)
    return {"ShardIterator": _iterator(tx, stream, shard, after)}


@operation("GetRecords")
def get_records(
    tx: Transaction,
    caller: Caller,
    *,
    shard_iterator: str,
    limit: int | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
    dry_run: bool | None = None,
) -> Document:
    """Return records after an iterator, and the iterator for those that follow.

    At the end of a closed shard there is no next iterator; the answer names the shards that follow.

    Errors: ResourceNotFoundException; InvalidArgumentException; ExpiredIteratorException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html
    """
    position = decode_iterator(shard_iterator)
    stream = _stream_of(tx, caller, position, stream_arn)
    check_iterator(position, stream.secret, tx.now)
    shard = stream.shard(position.shard)
    if position.stream_id != stream.id or shard is None:
        raise _no_shard(stream, position.shard)
    check_dry_run(dry_run)
    size = limit or limits.RECORDS_MAX
    last = last_number(tx, stream, shard)
    records = read_records(tx, stream, shard, position.after, last=last, limit=size, bytes_max=limits.RECORDS_BYTES_MAX)
    after = records[-1].seq if records else last
    behind_ms = max(1, tx.now - records[-1].at) if after < last else 0
    answer: Document = {
        "Records": [describe_record(stream, shard, record) for record in records],
        "MillisBehindLatest": behind_ms,
    }
    if shard.is_open or after < last:
        answer["NextShardIterator"] = _iterator(tx, stream, shard, after)
    else:
        answer["ChildShards"] = [describe_child(child) for child in children_of(stream, shard, tx.now)]
    _count(tx, stream, shard, records)
    return answer


@operation("SubscribeToShard")
def subscribe_to_shard(
    tx: Transaction,
    caller: Caller,
    *,
    consumer_arn: str,
    shard_id: str,
    starting_position: Document,
    stream_id: str | None = None,
    dry_run: bool | None = None,
) -> EventStream:
    """Send the records of a shard to a registered consumer as they come, for five minutes.

    A later call for the same consumer and shard takes over.

    Errors: ResourceNotFoundException (no such consumer or shard); InvalidArgumentException (the position);
    ResourceInUseException (the consumer subscribed to this shard less than five seconds ago).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html
    """
    stream, consumer = find_consumer(tx, caller, consumer_arn, "kinesis:SubscribeToShard")
    shard = require_shard(tx, stream, shard_id)
    position = starting_position
    after = start_of(tx, stream, shard, position["Type"], position.get("SequenceNumber"), position.get("Timestamp"))
    check_dry_run(dry_run)
    return subscribe(tx, stream, consumer, shard, after)


def start_of(
    tx: Transaction, stream: Stream, shard: Shard, kind: str, number: str | None, timestamp: Instant | None
) -> int:
    """The number of the record after which a reader goes on who begins in this way. Errors: InvalidArgumentException.

    A number of a record that has expired is accepted; the reader then begins with the oldest record.
    """
    if kind == "AT_TIMESTAMP":
        if timestamp is None:
            raise invalid_argument(
                "Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP. Current request has no "
                "timestamp parameter."
            )
        if timestamp > tx.now:
            raise invalid_argument(
                f"The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. "
                f"timestampInMillis: {timestamp}, currentTimestampInMillis: {tx.now}"
            )
        return position_at(tx, stream, shard, timestamp)
    if (kind in _BY_NUMBER) != (number is not None):
        raise invalid_argument(
            "Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and StartingSequenceNumber or (2) "
            "TRIM_HORIZON or LATEST and no StartingSequenceNumber. Request specified "
            f"{kind} and {'no' if number is None else 'also a'} StartingSequenceNumber."
        )
    if number is not None:
        seq = starting_seq(stream, shard, number)
        after = seq if kind == "AFTER_SEQUENCE_NUMBER" else max(0, seq - 1)
        return min(after, last_number(tx, stream, shard))
    return last_number(tx, stream, shard) if kind == "LATEST" else 0


def require_shard(tx: Transaction, stream: Stream, id: str) -> Shard:
    """Return the shard with this id. Errors: ResourceNotFoundException (no such shard, or it has expired)."""
    index = shard_index(id)
    shard = None if index is None else stream.shard(index)
    if shard is None or (shard.closed_at is not None and shard.closed_at <= stream.horizon(tx.now)):
        raise _missing(stream, id)
    return shard


def _stream_of(tx: Transaction, caller: Caller, position: Position, arn: str | None) -> Stream:
    """The stream that an iterator names; the ARN of the request must be of the same stream."""
    own = stream_arn(position.scope, position.stream)
    if arn is not None and arn != own:
        raise invalid_argument(f"StreamARN {arn} is not the stream of the ShardIterator.")
    return find_stream(tx, caller, None, own, "kinesis:GetRecords")


def _iterator(tx: Transaction, stream: Stream, shard: Shard, after: int) -> str:
    position = Position(stream.scope, stream.name, stream.id, shard.index, after, tx.now, tx.entropy.hex(8))
    return encode_iterator(position, stream.secret)


def _missing(stream: Stream, id: str) -> ServiceError:
    return ServiceError(
        "ResourceNotFoundException",
        f"Shard {id} in stream {stream.name} under account {stream.scope.account} does not exist",
    )


def _no_shard(stream: Stream, index: int) -> ServiceError:
    return _missing(stream, f"shardId-{index:012d}")


def _count(tx: Transaction, stream: Stream, shard: Shard, records: Sequence[StreamRecord]) -> None:
    """Count a read for the metrics of the stream, and of the shard if they are turned on."""
    metrics = metrics_of(stream.arn)
    size = sum(map(size_of, records))
    age_ms = tx.now - records[-1].at if records else 0
    tx.metrics.count(metrics.get_records, tx.now)
    tx.metrics.count(metrics.get_records_count, tx.now, len(records))
    tx.metrics.count(metrics.get_records_bytes, tx.now, size)
    tx.metrics.count(metrics.get_records_age, tx.now, age_ms)
    if not stream.shard_metrics:
        return
    values: Mapping[str, float] = {
        "OutgoingBytes": size, "OutgoingRecords": len(records), "IteratorAgeMilliseconds": age_ms,
    }  # fmt: skip
    for series in shard_metrics_of(stream.arn, shard.id):
        if series.name in stream.shard_metrics and series.name in values:
            tx.metrics.count(series, tx.now, values[series.name])
