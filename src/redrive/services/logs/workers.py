"""The due work of CloudWatch Logs: once an hour, events whose retention has passed are forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.logs import limits
from redrive.services.logs.model import LogGroup, LogStream, stream_key
from redrive.services.logs.model_batch import event_bytes
from redrive.store.api import Transaction

RETENTION = "logs.retention"
"""The kind of the sweep's timer, and the name of its worker."""

_EVERYWHERE = "everywhere"


def begin_retention(tx: Transaction, group: LogGroup) -> None:
    """Have the sweep run from now on, if this group's events expire and it does not run yet."""
    if group.kept_days is not None and tx.timers.get(RETENTION, _EVERYWHERE) is None:
        tx.timers.set(RETENTION, _EVERYWHERE, tx.now + limits.SWEEP_INTERVAL_MS)
        tx.notify("due")


class LogRetentionWorker:
    """Forgets expired events, a bounded number at a time. Stops when no group's events expire any more."""

    name = timer = RETENTION
    upkeep = True

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(RETENTION)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        groups = [(scope, group) for scope, group in tx.resources.everywhere(LogGroup) if group.kept_days is not None]
        if not groups:
            tx.timers.clear(RETENTION, _EVERYWHERE)
            return ()
        room = limits.SWEPT_EVENTS_MAX
        for scope, group in groups:
            room -= _sweep(tx, scope, group, room)
            if room <= 0:
                return ()  # The timer stays due, and the next claim goes on.
        tx.timers.set(RETENTION, _EVERYWHERE, tx.now + limits.SWEEP_INTERVAL_MS)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("the retention sweep makes no attempts")


def _sweep(tx: Transaction, scope: Scope, group: LogGroup, limit: int) -> int:
    """Forget expired events of a group, and bring it and its streams up to date; answers how many there were."""
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
    if freed:
        tx.resources.put(scope, replace(group, stored_bytes=group.stored_bytes - freed.total()))
    return len(expired)
