"""The metrics worker: once a minute, it writes down the counters and measures what can be measured.

This module knows no service. Each service provides a sampler for its namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, Instant
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Result
from redrive.delivery.sources.watches import readers_of
from redrive.delivery.upkeep.worker import rest_until, will_age
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.store.api import Transaction
from redrive.store.tables.metrics import DataPoint, Series, Watched

# Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html
LEVELS = ((MINUTE_MS, 3 * HOUR_MS), (5 * MINUTE_MS, 15 * DAY_MS), (HOUR_MS, 63 * DAY_MS))
"""The longer periods to which points are added up, each with the age from which on."""
FIRST_AGE_MS = 3 * HOUR_MS
MINUTE_AGE_MS = 15 * DAY_MS
KEPT_MS = 455 * DAY_MS
"""How long data points are kept at all."""

_EVERYWHERE = Scope("delivery", "all")

ALARM_TIMER = "cloudwatch.alarm"
HIGH_RESOLUTION_TIMER = "cloudwatch.alarm.high_resolution"
INTERVALS_MS = {ALARM_TIMER: MINUTE_MS, HIGH_RESOLUTION_TIMER: 10 * SECOND_MS}
"""The kinds of timers that read metrics, and the interval at which each of them looks."""

RETENTION = "metrics.retention"
"""The kind of the sweep's timer."""


def metric_key(watched: Watched, name: str) -> str:
    """What stands for a metric among the ARNs of watches (`delivery/sources/watches.py`)."""
    return f"metric:{watched.scope}/{watched.namespace}/{name}{watched.dimensions}"


def publish(tx: Transaction, points: Iterable[tuple[Series, DataPoint]]) -> None:
    """Write data points, which can be read at once, and tell the readers of their metrics."""
    ages: list[Instant] = []
    for series, point in points:
        tx.metrics.add(series, point)
        ages.append(point.minute + (MINUTE_AGE_MS if point.minute % MINUTE_MS == 0 else FIRST_AGE_MS))
    if ages:
        will_age(tx, RETENTION, max(min(ages), tx.now))
        tell_readers(tx)


def tell_readers(tx: Transaction) -> None:
    """Tell the readers of all metrics that this transaction has written. A metric without readers costs a look-up."""
    for series, minute in tx.metrics.take_written().items():
        for reader in readers_of(tx, metric_key(series.watched, series.name)):
            interval_ms = INTERVALS_MS[reader.kind]
            # A point counts from the end of its interval on; one that comes later counts from the next interval on.
            at = max(minute - minute % interval_ms + interval_ms, -(-tx.now // interval_ms) * interval_ms)
            if tx.timers.hasten(reader.kind, reader.timer, at):
                tx.notify("due")


class Sampler(Protocol):
    """Measures the things of one namespace."""

    @property
    def namespace(self) -> str:
        """The namespace, such as `AWS/SQS`."""
        ...

    def sample(self, tx: Transaction, watched: Watched) -> bool:
        """Measure a thing now. False if the thing needs no more samples until something is counted again."""
        ...


class MetricsWorker:
    """Writes the store's accumulator in one transaction, for each minute with new data."""

    name = "metrics.flush"
    timer = None
    upkeep = True

    def __init__(self, samplers: Sequence[Sampler]) -> None:
        self._samplers: Mapping[str, Sampler] = {sampler.namespace: sampler for sampler in samplers}

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        due_at = tx.metrics.due_at()
        if due_at is None and tx.metrics.has_counted:
            # This transaction has counted the first data; the accumulator has it when the transaction commits.
            return tx.now - tx.now % MINUTE_MS + MINUTE_MS
        return due_at

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        due_at = tx.metrics.due_at()
        if due_at is None or due_at > tx.now:
            # Another engine on this store was faster. A second measurement would be added to the first.
            return ()
        tx.metrics.flush(tx.now, keep=frozenset(one for one in tx.metrics.watched(tx.now) if self._sample(tx, one)))
        tell_readers(tx)
        will_age(tx, RETENTION, tx.now + MINUTE_AGE_MS)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("metrics make no attempts")

    def _sample(self, tx: Transaction, watched: Watched) -> bool:
        sampler = self._samplers.get(watched.namespace)
        return sampler is not None and sampler.sample(tx, watched)


@dataclass(frozen=True, slots=True)
class MetricAges:
    """Up to which instants points have been added up: to minutes, to five minutes, to hours."""

    KIND: ClassVar[str] = "delivery.metric_ages"
    IS_STATE: ClassVar[bool] = True

    name: str = "all"
    until: tuple[Instant, ...] = (0, 0, 0)


class MetricSweep:
    """Adds old data points up to longer periods, and deletes those that are older than all of them."""

    timer = RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        tx.be_alone()  # Points are read, and added to others.
        ages = tx.resources.get(MetricAges, _EVERYWHERE, MetricAges().name) or MetricAges()
        until = list(ages.until)
        left = limit
        for place, (period_ms, age_ms) in enumerate(LEVELS):
            before = tx.now - age_ms
            before -= before % period_ms
            if left <= 0 or before <= until[place]:
                continue
            done = tx.metrics.coarsen(until[place], before, period_ms, limit=left)
            left -= done
            if left > 0:
                until[place] = before
        tx.resources.put(_EVERYWHERE, MetricAges(until=tuple(until)))
        if left > 0:
            left -= tx.metrics.sweep(tx.now - KEPT_MS, limit=left)
        if left > 0:
            rest_until(tx, RETENTION, self._next(tx, until))

    def _next(self, tx: Transaction, until: Sequence[Instant]) -> Instant | None:
        """When the next point is old enough for something."""
        oldest = tx.metrics.oldest()
        if oldest is None:
            return None
        due = [oldest + KEPT_MS]
        for (period_ms, age_ms), since in zip(LEVELS, until, strict=True):
            found = tx.metrics.oldest_finer(since, period_ms)
            if found is not None:
                due.append(found - found % period_ms + period_ms + age_ms)
        return min(due)
