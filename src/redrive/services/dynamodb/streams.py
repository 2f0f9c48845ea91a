"""Streams inside transactions: they begin and end with settings of their table, and they are found and read here."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.worker import will_age
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.change_log import RETENTION
from redrive.services.dynamodb.model.stream import Shard, Stream, ViewType, stream_label
from redrive.services.dynamodb.model.stream_requests import (
    check_stream_change,
    read_stream_arn,
    stream_not_found,
)
from redrive.services.dynamodb.model.table import Table
from redrive.services.dynamodb.policies import policy_of
from redrive.store.api import Transaction
from redrive.store.tables.streams import Position, StreamRecord


def begin_stream(tx: Transaction, table: Table, view_type: ViewType) -> Table:
    """Begin a new stream of a table, with a label that no stream of this name has. Returns the table to store."""
    named_at = tx.now
    while tx.resources.get(Stream, table.scope, _name(table, named_at)) is not None:
        named_at += 1
    stream = Stream(
        name=_name(table, named_at), id=new_uuid(tx.entropy), table_arn=table.arn, view_type=view_type,
        partitions=min(table.billing.partitions, limits.STREAM_PARTITIONS_MAX),
        key={name: table.attributes[name] for name in table.key_names}, created_at=tx.now,
    )  # fmt: skip
    tx.resources.put(table.scope, stream)
    return dataclasses.replace(table, stream=stream)


def end_stream(tx: Transaction, table: Table) -> Table:
    """Disable the stream of a table: nothing more is written, and readers have 24 hours. Returns the table to store."""
    assert table.stream is not None, "only a table with a stream comes here"
    stream = dataclasses.replace(table.stream, disabled_at=tx.now)
    tx.resources.put(table.scope, stream)
    will_age(tx, RETENTION, tx.now + limits.STREAM_RETENTION_MS)
    arrived(tx, stream.arn, tx.now)
    return dataclasses.replace(table, stream=stream)


def change_stream(tx: Transaction, table: Table, view_type: ViewType | None) -> Table:
    """Enable (with a view type) or disable the stream of a table. Errors: ValidationException if it is so already."""
    check_stream_change(table, view_type)
    return end_stream(tx, table) if view_type is None else begin_stream(tx, table, view_type)


def find_stream(tx: Transaction, scope: Scope, name: str) -> Stream | None:
    """A stream that can be read: it is enabled, or was until less than 24 hours ago."""
    stream = tx.resources.get(Stream, scope, name)
    return None if stream is None or stream.is_gone(tx.now) else stream


def require_stream(tx: Transaction, caller: Caller, action: str, stream_arn: str) -> Stream:
    """The stream with this ARN, if the caller may do this action (`GetRecords`) on it.

    Errors: AccessDeniedException; ValidationException for a text that is no stream's ARN; ResourceNotFoundException.
    """
    scope, name = read_stream_arn(stream_arn)
    policy = policy_of(tx, scope, name.replace("/", "/stream/"))
    tx.services.authorize(tx, caller, f"dynamodb:{action}", stream_arn, policy=policy)
    stream = find_stream(tx, scope, name) if scope.region == caller.region else None
    if stream is None:
        raise stream_not_found(stream_arn)
    return stream


@dataclasses.dataclass(frozen=True, slots=True)
class RecordPage:
    """Records of a shard after the number `begins_after`, which is later than asked for if records have expired.

    `after` is where the next page continues; `is_end`: the shard is closed and has no more.
    """

    records: Sequence[StreamRecord]
    begins_after: int
    after: int
    is_end: bool


def read_page(tx: Transaction, shard: Shard, after: int, *, limit: int, bytes_max: int) -> RecordPage:
    """Records of a shard after the one with the number `after`; those that have expired are left out.

    What other nodes write meanwhile is left for the next page. A reader of the latest records costs one statement.
    """
    last = tx.streams.last(shard.stored)
    begins_at = _begins_at(tx, shard)
    found = tx.streams.page(shard.stored, after, limit=limit, bytes_max=bytes_max, seq_last=last.seq)
    if found and found[0].at < begins_at:
        after = seq_before(tx, shard, begins_at)
        found = tx.streams.page(shard.stored, after, limit=limit, bytes_max=bytes_max, seq_last=last.seq)
    records = found if shard.is_last else [record for record in found if record.at < shard.ends_at]
    reached = records[-1].seq if records else after
    is_cut = len(records) < len(found)
    return RecordPage(records, after, reached, is_end=is_cut or (reached >= last.seq and is_closed(tx, shard, last)))


def is_closed(tx: Transaction, shard: Shard, last: Position) -> bool:
    """Whether no record of this shard follows `last`, which was the newest record of its partition.

    A write that began before the shard's end may be committed a little later. So the shard counts as closed when its
    partition has a later record, after which no earlier one is written; or when its time is over by a minute.
    """
    if shard.is_last:
        return True
    if tx.now < shard.ends_at:
        return False
    return tx.now >= shard.ends_at + limits.CLOSING_MS or last.at >= shard.ends_at


def seq_before(tx: Transaction, shard: Shard, at: Instant) -> int:
    """The number of the last record in the shard's partition that was written before an instant."""
    found = tx.streams.first_since(shard.stored, at)
    return tx.streams.last(shard.stored).seq if found is None else found.seq - 1


def first_position(tx: Transaction, shard: Shard) -> int:
    """The number before the shard's oldest record that has not expired."""
    return seq_before(tx, shard, _begins_at(tx, shard))


def last_position(tx: Transaction, shard: Shard) -> int:
    """The number of the shard's newest record, or of the last record before the shard."""
    if shard.is_last or tx.now < shard.ends_at:
        return tx.streams.last(shard.stored).seq
    return seq_before(tx, shard, shard.ends_at)


def _begins_at(tx: Transaction, shard: Shard) -> Instant:
    return max(shard.starts_at, tx.now - limits.STREAM_RETENTION_MS)


def _name(table: Table, at: Instant) -> str:
    return f"{table.name}/{stream_label(at)}"
