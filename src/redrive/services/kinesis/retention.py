"""The cleanup of expired rows in Kinesis: old records, and closed shards whose records have all expired.

Reads skip expired records, so the sweep only frees space.
"""

from __future__ import annotations

import dataclasses

from redrive.core.clock import Instant
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.delivery.upkeep.worker import rest_until
from redrive.services.kinesis.model.stream import Stream
from redrive.store.api import Transaction

RETENTION = "kinesis.retention"
"""The kind of the sweep's timer. An operation that stores a record also sets the timer to the record's expiry."""


class StreamSweep:
    """Deletes expired records of all streams, and closed shards after the retention of their stream."""

    timer = RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        left = limit
        over_at: list[Instant] = []
        for scope, stream in tx.resources.everywhere(Stream):
            horizon = stream.horizon(tx.now)
            living = stream.living_shards(tx.now)
            kept = {shard.index for shard in living}
            for shard in stream.shards:
                if shard.index not in kept:
                    forget_rows(tx, "stream_records", stream.records_of(shard.index))
            if len(living) < len(stream.shards):
                tx.resources.put(scope, dataclasses.replace(stream, shards=tuple(living)))
            for shard in living:
                records = stream.records_of(shard.index)
                tx.streams.reserve(records)
                left -= tx.streams.trim(records, horizon, limit=left)
                if left <= 0:
                    return  # The timer stays due, so the next claim continues.
                first, last = tx.streams.first(records), tx.streams.last(records)
                if first.seq < last.seq:  # The newest record stays: it is the memory of the shard's last number.
                    over_at.append(first.at + stream.retention_ms + 1)
                if shard.closed_at is not None:
                    over_at.append(shard.closed_at + stream.retention_ms)
        rest_until(tx, RETENTION, min(over_at, default=None))
