"""What ages in CloudWatch beside data points: the history of alarms."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.delivery.upkeep.worker import rest_until
from redrive.services.cloudwatch.acting import HISTORY_RETENTION
from redrive.services.cloudwatch.limits import HISTORY_KEPT_MS
from redrive.store.api import Transaction


class AlarmHistorySweep:
    """Deletes items of history two weeks after they were stored."""

    timer = HISTORY_RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        """Return when items may be too old."""
        return tx.timers.next(HISTORY_RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        """Delete the oldest items."""
        if tx.alarm_history.sweep(tx.now - HISTORY_KEPT_MS, limit=limit) < limit:
            oldest = tx.alarm_history.oldest()
            rest_until(tx, HISTORY_RETENTION, None if oldest is None else oldest + HISTORY_KEPT_MS)
