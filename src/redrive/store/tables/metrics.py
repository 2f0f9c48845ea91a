"""Metrics: what was counted, and what was measured, per minute.

    tx.metrics.count ──► kept by the transaction ──commit──► Accumulator (memory) ──flush, each minute──► the table
                                                rollback ──► gone

So counting costs a hot operation no statement. What a crash takes is the minute that was under way: AWS's metrics are
best effort too. docs/decisions/0007-metrics-are-accumulated.md says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import HOUR_MS, MINUTE_MS, Instant
from redrive.store.database import Database
from redrive.store.queries import load_queries

_SQL = load_queries("metrics")

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
WATCHED_MS = 6 * HOUR_MS
"""How long something is measured after the last time that anything was counted of it."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Something that metrics are about: `dimensions` is JSON text, `scope` is `account/region`."""

    scope: str
    namespace: str
    dimensions: str


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one thing."""

    watched: Watched
    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class DataPoint:
    """A minute of a series; `minute` is its first instant."""

    minute: Instant
    sum: float
    count: float
    min: float
    max: float


_Sample = tuple[Series, Instant, float, int]


class Accumulator:
    """What was counted and is not yet in the table, shared by the transactions of one store."""

    __slots__ = ("due_at", "points", "watched")

    def __init__(self) -> None:
        self.points: dict[tuple[Series, Instant], DataPoint] = {}
        self.watched: dict[Watched, Instant] = {}
        self.due_at: Instant | None = None

    def clear(self) -> None:
        """Forget everything."""
        self.points.clear()
        self.watched.clear()
        self.due_at = None

    def add(self, sample: _Sample) -> None:
        """Take a sample in."""
        series, at, value, times = sample
        minute = at - at % MINUTE_MS
        point = self.points.get((series, minute))
        total = value * times
        if point is None:
            point = DataPoint(minute, total, times, value, value)
        else:
            point = DataPoint(
                minute, point.sum + total, point.count + times, min(point.min, value), max(point.max, value)
            )
        self.points[series, minute] = point
        self.watched[series.watched] = at
        if self.due_at is None:
            self.due_at = minute + MINUTE_MS


class MetricTable:
    """Counts of this transaction, and the metrics that are stored."""

    __slots__ = ("_accumulator", "_counted", "_database", "_flushed_at", "_kept")

    def __init__(self, database: Database, accumulator: Accumulator) -> None:
        self._database = database
        self._accumulator = accumulator
        self._counted: list[_Sample] = []
        self._flushed_at: Instant | None = None
        self._kept: frozenset[Watched] = frozenset()

    def count(self, series: Series, at: Instant, value: float = 1.0, *, times: int = 1) -> None:
        """Count a value so many times, if this transaction commits. Costs no statement."""
        self._counted.append((series, at, value, times))

    def due_at(self) -> Instant | None:
        """When there is next something to measure or to write; None while nothing was counted."""
        return self._accumulator.due_at

    def watched(self, now: Instant) -> list[Watched]:
        """What is to be measured: all of which something was counted within the last six hours."""
        return [one for one, at in self._accumulator.watched.items() if now - at <= WATCHED_MS]

    def put(self, series: Series, at: Instant, value: float) -> None:
        """Write down a measurement for the minute that ended last before this instant."""
        self._write(series, DataPoint(_minute_before(at), value, 1, value, value))

    def flush(self, now: Instant, *, keep: frozenset[Watched]) -> None:
        """Write what was counted until the end of the last minute; go on measuring only what is kept."""
        for (series, minute), point in self._accumulator.points.items():
            if minute <= _minute_before(now):
                self._write(series, point)
        self._flushed_at = now
        self._kept = keep

    def between(self, series: Series, start: Instant, end: Instant) -> list[DataPoint]:
        """The stored minutes of a series that begin in [start, end), in order."""
        watched = series.watched
        rows = self._database.all(
            _SQL["between"],
            {
                "scope": watched.scope, "namespace": watched.namespace, "name": series.name,
                "dimensions": watched.dimensions, "start": start, "end": end,
            },
        )  # fmt: skip
        return [DataPoint(*row) for row in rows]

    def series_of(self, scope: str) -> Sequence[Series]:
        """All series of which something is stored in a scope."""
        return [
            Series(Watched(scope, namespace, dimensions), name, unit)
            for namespace, name, dimensions, unit in self._database.all(_SQL["names"], {"scope": scope})
        ]

    def sweep(self, before: Instant) -> int:
        """Forget minutes that began before this instant; answers how many."""
        return self._database.run(_SQL["sweep"], {"before": before})

    @property
    def mark(self) -> int:
        """Where to rewind to if what is counted from now on is undone."""
        return len(self._counted)

    def rewind(self, mark: int) -> None:
        """Forget what was counted since the mark."""
        del self._counted[mark:]

    def committed(self) -> None:
        """Let the accumulator know. For the store, once the transaction has committed."""
        accumulator = self._accumulator
        if self._flushed_at is not None:
            self._forget_flushed(self._flushed_at)
        for sample in self._counted:
            accumulator.add(sample)

    def _forget_flushed(self, now: Instant) -> None:
        accumulator = self._accumulator
        last = _minute_before(now)
        accumulator.points = {key: point for key, point in accumulator.points.items() if key[1] > last}
        underway = {series.watched for series, _ in accumulator.points}
        accumulator.watched = {
            one: at for one, at in accumulator.watched.items() if one in self._kept or one in underway
        }
        accumulator.due_at = now - now % MINUTE_MS + MINUTE_MS if accumulator.watched else None

    def _write(self, series: Series, point: DataPoint) -> None:
        watched = series.watched
        self._database.run(
            _SQL["add"],
            {
                "scope": watched.scope, "namespace": watched.namespace, "name": series.name,
                "dimensions": watched.dimensions, "minute": point.minute, "sum": point.sum, "count": point.count,
                "min": point.min, "max": point.max, "unit": series.unit,
            },
        )  # fmt: skip


def _minute_before(now: Instant) -> Instant:
    return now - now % MINUTE_MS - MINUTE_MS
