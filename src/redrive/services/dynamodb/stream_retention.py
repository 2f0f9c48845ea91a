"""The cleanup of streams: records that have expired, and streams that were disabled long ago."""

from __future__ import annotations

import dataclasses

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.delivery.upkeep.worker import rest_until
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.change_log import RETENTION
from redrive.services.dynamodb.model.stream import Stream
from redrive.services.dynamodb.model.table import Table
from redrive.store.api import Transaction


class TableStreamSweep:
    """Deletes the records of streams after 24 hours, and streams 24 hours after they were disabled."""

    timer = RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        left = limit
        over_at: list[Instant] = []
        for scope, stream in tx.resources.everywhere(Stream):
            if stream.is_gone(tx.now):
                _forget(tx, scope, stream)
                continue
            for shard in stream.stored_shards:
                tx.streams.reserve(shard)
                left -= tx.streams.trim(shard, tx.now - limits.STREAM_RETENTION_MS, limit=left)
                if left <= 0:
                    return  # The timer stays due, so the next claim continues.
                first, last = tx.streams.first(shard), tx.streams.last(shard)
                over_at += [first.at + limits.STREAM_RETENTION_MS] if first.seq < last.seq else []
            if stream.disabled_at is not None:
                over_at.append(stream.disabled_at + limits.STREAM_RETENTION_MS)
        rest_until(tx, RETENTION, min(over_at, default=None))


def _forget(tx: Transaction, scope: Scope, stream: Stream) -> None:
    for shard in stream.stored_shards:
        forget_rows(tx, "stream_records", shard)
    tx.resources.delete(Stream, scope, stream.name)
    table = tx.resources.get(Table, scope, stream.table_name)
    if table is not None and table.stream is not None and table.stream.id == stream.id:
        tx.resources.put(scope, dataclasses.replace(table, stream=None))
