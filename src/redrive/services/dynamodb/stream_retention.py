"""The cleanup of streams: expired records, streams that were disabled long ago, and backups of deleted tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.delivery.upkeep.worker import rest_until
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.change_log import RETENTION
from redrive.services.dynamodb.model.backup import Backup
from redrive.services.dynamodb.model.stream import Stream
from redrive.services.dynamodb.model.table import Table
from redrive.store.api import Transaction


class TableStreamSweep:
    """Deletes the records of streams after 24 hours, those of recovery after its period, and disabled streams."""

    timer = RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        left = limit
        over_at: list[Instant] = []
        for scope, stream in tx.resources.everywhere(Stream):
            if stream.is_gone(tx.now):
                _forget(tx, scope, stream)
            elif stream.disabled_at is not None:
                over_at.append(stream.disabled_at + limits.STREAM_RETENTION_MS)
        over_at += _forget_backups(tx)
        for shard, kept_ms in list(_kept_shards(tx)):
            tx.streams.reserve(shard)
            left -= tx.streams.trim(shard, tx.now - kept_ms, limit=left)
            if left <= 0:
                return  # The timer stays due, so the next claim continues.
            first, last = tx.streams.first(shard), tx.streams.last(shard)
            over_at += [first.at + kept_ms] if first.seq < last.seq else []
        rest_until(tx, RETENTION, min(over_at, default=None))


def _kept_shards(tx: Transaction) -> Iterator[tuple[str, int]]:
    """The stored shards of all streams and recovery logs, and how long each keeps its records."""
    for _, stream in tx.resources.everywhere(Stream):
        yield from ((shard, limits.STREAM_RETENTION_MS) for shard in stream.stored_shards)
    for _, table in tx.resources.everywhere(Table):
        if table.log is not None:
            log = table.log
            yield from ((shard, log.kept_ms) for shard in log.stored_shards)


def _forget_backups(tx: Transaction) -> Sequence[Instant]:
    """Forget the backups of deleted tables that have ended. Returns when the others end."""
    later: list[Instant] = []
    for scope, backup in tx.resources.everywhere(Backup):
        if backup.expires_at is None:
            continue
        if backup.expires_at > tx.now:
            later.append(backup.expires_at)
        else:
            forget_rows(tx, "items", backup.items_id)
            tx.resources.delete(Backup, scope, backup.name)
    return later


def _forget(tx: Transaction, scope: Scope, stream: Stream) -> None:
    for shard in stream.stored_shards:
        forget_rows(tx, "stream_records", shard)
    tx.resources.delete(Stream, scope, stream.name)
    table = tx.resources.get(Table, scope, stream.table_name)
    if table is not None and table.stream is not None and table.stream.id == stream.id:
        tx.resources.put(scope, dataclasses.replace(table, stream=None))
