"""The metrics worker: once a minute, what was counted is written down, and what can be seen is measured.

It knows no service. A service gives it a sampler for its namespace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from redrive.core.clock import DAY_MS, MINUTE_MS, Instant
from redrive.core.errors import Bug
from redrive.delivery.outside.errand import Result
from redrive.delivery.upkeep.worker import rest_until, will_age
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.store.api import Transaction
from redrive.store.tables.metrics import Watched

# Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html
KEPT_MS = 15 * DAY_MS
"""How long data points of one minute are kept."""

RETENTION = "metrics.retention"
"""The kind of the timer of the sweep."""


class Sampler(Protocol):
    """Measures the things of one namespace."""

    @property
    def namespace(self) -> str:
        """`AWS/SQS`, say."""
        ...

    def sample(self, tx: Transaction, watched: Watched) -> bool:
        """Put down what can be seen of a thing now; False if it need not be looked at until something is counted."""
        ...


class MetricsWorker:
    """Flushes the store's accumulator in one transaction for each minute in which there was anything to tell."""

    name = "metrics.flush"
    timer = None
    upkeep = True

    def __init__(self, samplers: Sequence[Sampler]) -> None:
        self._samplers: Mapping[str, Sampler] = {sampler.namespace: sampler for sampler in samplers}

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        due_at = tx.metrics.due_at()
        if due_at is None and tx.metrics.mark:
            # What this transaction has counted first of all is accumulated when it commits.
            return tx.now - tx.now % MINUTE_MS + MINUTE_MS
        return due_at

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        due_at = tx.metrics.due_at()
        if due_at is None or due_at > tx.now:
            # Another engine over this store was faster: to measure once more would be to add up two measurements.
            return ()
        tx.metrics.flush(tx.now, keep=frozenset(one for one in tx.metrics.watched(tx.now) if self._sample(tx, one)))
        will_age(tx, RETENTION, tx.now + KEPT_MS)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("metrics make no attempts")

    def _sample(self, tx: Transaction, watched: Watched) -> bool:
        sampler = self._samplers.get(watched.namespace)
        return sampler is not None and sampler.sample(tx, watched)


class MetricSweep:
    """Data points, 15 days after their minute began."""

    timer = RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        if tx.metrics.sweep(tx.now - KEPT_MS, limit=limit) < limit:
            oldest = tx.metrics.oldest()
            rest_until(tx, RETENTION, None if oldest is None else oldest + KEPT_MS)
