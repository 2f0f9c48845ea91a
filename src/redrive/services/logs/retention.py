"""The cleanup of log events whose retention has passed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from redrive.core.clock import DAY_MS, Instant
from redrive.core.scope import Scope
from redrive.delivery.upkeep.worker import rest_until
from redrive.services.logs.model.batch import event_bytes
from redrive.services.logs.model.group import LogGroup, LogStream, stream_key
from redrive.store.api import Transaction

RETENTION = "logs.retention"
"""The kind of the sweep's timer. An operation that stores an event with an expiry also sets the timer."""


class LogSweep:
    """Deletes expired events of groups with a retention. AWS may keep expired events for up to 72 hours."""

    timer = RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        left = limit
        over_at: list[Instant] = []
        for scope, group in tx.resources.everywhere(LogGroup):
            if group.kept_days is None:
                continue
            left -= _sweep(tx, scope, group, left)
            if left <= 0:
                return  # The timer stays due, so the next claim continues.
            oldest_at = tx.log_events.oldest(group.id)
            over_at += [] if oldest_at is None else [oldest_at + group.kept_days * DAY_MS]
        rest_until(tx, RETENTION, min(over_at, default=None))


def _sweep(tx: Transaction, scope: Scope, group: LogGroup, limit: int) -> int:
    """Delete expired events of a group, and update the group and its streams; returns the number of deleted events."""
    expired = tx.log_events.expire(group.id, group.kept_since(tx.now), limit=limit)
    freed: Counter[str] = Counter()
    for stream_name, message in expired:
        freed[stream_name] += event_bytes(message)
    for stream_name, size in freed.items():
        stream = tx.resources.get(LogStream, scope, stream_key(group.id, stream_name))
        if stream is not None:
            first_at = tx.log_events.first_at(group.id, stream_name)
            stored = stream.stored_bytes - size
            tx.resources.put(scope, replace(stream, first_event_at=first_at, stored_bytes=stored))
    if freed and (now := tx.resources.get(LogGroup, scope, group.name)) is not None:
        tx.resources.put(scope, replace(now, stored_bytes=now.stored_bytes - freed.total()))
    return len(expired)
