"""Metrics: counts and measurements, per minute.

    tx.metrics.count ──► kept by the transaction ──commit──► Accumulator (memory) ──flush, each minute──► the table
                                                rollback ──► gone

So counting runs no statement in a hot operation. A crash loses the current minute. AWS's metrics are best effort, too.
docs/decisions/0007-metrics-are-accumulated.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import orjson

from redrive.core.clock import HOUR_MS, MINUTE_MS, Instant
from redrive.core.documents import dump_json
from redrive.store.database import Database
from redrive.store.queries import load_queries
from redrive.store.tables.rates import Rates, RateTable

_SQL = load_queries("metrics")

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
WATCHED_MS = 6 * HOUR_MS
"""How long a thing is measured after its last count."""

SAMPLES_KEPT_MAX = 1_000
"""How many different values of a minute are stored exactly. Further values are rounded to three digits."""


STATISTICS = {
    "SampleCount": "by_period_sample_count", "Average": "by_period_average", "Sum": "by_period_sum",
    "Minimum": "by_period_minimum", "Maximum": "by_period_maximum",
}  # fmt: skip
"""The statistics that the database computes, each with its statement."""


class Watched(NamedTuple):
    """A thing with metrics. `dimensions` is the text of `dimensions_text`, `scope` is `account/region`.

    Things and series are tuples, because both are hashed for every sample.
    """

    scope: str
    namespace: str
    dimensions: str


class Series(NamedTuple):
    """One metric of one thing."""

    watched: Watched
    name: str
    unit: str


class SeriesGroup:
    """Several series that count the same samples. Compared by identity: create it once and keep it."""

    __slots__ = ("members", "watched")

    def __init__(self, *members: Series) -> None:
        self.members = members
        self.watched = tuple({series.watched: None for series in members})


@dataclass(frozen=True, slots=True)
class DataPoint:
    """One minute of a series, or one second if published at that resolution. `minute` is its first instant.

    `samples` maps each value to how often it occurred; None if only the statistics were published. Comparisons ignore
    it.
    """

    minute: Instant
    sum: float
    count: float
    min: float
    max: float
    samples: Mapping[float, float] | None = field(default=None, compare=False, repr=False)


def dimensions_text(dimensions: Mapping[str, str]) -> str:
    """Dimensions in canonical form: JSON, ordered by name."""
    return dump_json(dict(sorted(dimensions.items())))


Grouped = tuple[Instant, float, float, float, float]
"""The start of a period, with the sum, the count, the minimum and the maximum of its values."""

_Counted = Series | SeriesGroup
_Sample = tuple[_Counted, Instant, float, int]


class _Minute:
    """The statistics of a minute that is not written yet."""

    __slots__ = ("count", "max", "min", "samples", "sum")

    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0
        self.min = math.inf
        self.max = -math.inf
        self.samples: dict[float, float] = {}

    def add(self, value: float, times: int) -> None:
        self.sum += value * times
        self.count += times
        self.min = min(self.min, value)
        self.max = max(self.max, value)
        _keep(self.samples, value, times)

    def point(self, minute: Instant) -> DataPoint:
        return DataPoint(minute, self.sum, self.count, self.min, self.max, self.samples)


class Accumulator:
    """Counts that are not in the table yet. The transactions of one store share it."""

    __slots__ = ("due_at", "minutes", "rates", "watched")

    def __init__(self) -> None:
        self.rates: Rates = {}
        self.minutes: dict[tuple[_Counted, Instant], _Minute] = {}
        self.watched: dict[Watched, Instant] = {}
        self.due_at: Instant | None = None

    def clear(self) -> None:
        """Delete all counts."""
        self.rates.clear()
        self.minutes.clear()
        self.watched.clear()
        self.due_at = None

    def add(self, sample: _Sample) -> None:
        """Add a sample."""
        counted, at, value, times = sample
        minute = at - at % MINUTE_MS
        if times:
            underway = self.minutes.get((counted, minute))
            if underway is None:
                underway = self.minutes[counted, minute] = _Minute()
            underway.add(value, times)
        if isinstance(counted, SeriesGroup):
            for watched in counted.watched:
                self.watched[watched] = at
        else:
            self.watched[counted.watched] = at
        if self.due_at is None:
            self.due_at = minute + MINUTE_MS

    def sums(self) -> Mapping[Series, float]:
        """The total of each series."""
        sums: dict[Series, float] = {}
        for (counted, _), underway in self.minutes.items():
            for series in _members(counted):
                sums[series] = sums.get(series, 0.0) + underway.sum
        return sums


class MetricTable:
    """The counts of this transaction, and the stored metrics."""

    __slots__ = (
        "_accumulator", "_counted", "_database", "_due_after_flush", "_flushed_at", "_kept", "_rates", "_written",
    )  # fmt: skip

    def __init__(self, database: Database, accumulator: Accumulator) -> None:
        self._database = database
        self._accumulator = accumulator
        self._counted: list[_Sample] = []
        self._rates: RateTable | None = None
        self._flushed_at: Instant | None = None
        self._due_after_flush: Instant | None = None
        self._kept: frozenset[Watched] = frozenset()
        self._written: dict[Series, Instant] = {}

    def count(self, series: Series | SeriesGroup, at: Instant, value: float = 1.0, *, times: int = 1) -> None:
        """Count a value `times` times, if this transaction commits. Runs no statement."""
        self._counted.append((series, at, value, times))

    def count_refusal(self, series: Series | SeriesGroup, at: Instant) -> None:
        """Count something that makes the transaction fail: it counts although nothing is committed."""
        self._accumulator.add((series, at, 1.0, 1))

    def watch(self, series: Series, at: Instant) -> None:
        """Start to measure the series' thing, although nothing was counted yet. Runs no statement."""
        self._counted.append((series, at, 0.0, 0))

    def due_at(self) -> Instant | None:
        """When there is next something to measure or to write; None if nothing was counted."""
        return self._accumulator.due_at if self._flushed_at is None else self._due_after_flush

    def watched(self, now: Instant) -> list[Watched]:
        """The things to measure: all that were counted within the last six hours."""
        return [one for one, at in self._accumulator.watched.items() if now - at <= WATCHED_MS]

    def put(self, series: Series, at: Instant, value: float) -> None:
        """Write a measurement for the last minute that ended before this instant, unless another node has done so."""
        self._has_written(series, _minute_before(at))
        minute = {**_key(series), "minute": _minute_before(at)}
        values = {"sum": value, "count": 1, "min": value, "max": value, "samples": _samples_text({value: 1})}
        self._database.write(_SQL["put"], {**minute, **values})

    def add(self, series: Series, point: DataPoint) -> None:
        """Write a point at once; it is added to the stored minute."""
        self._has_written(series, point.minute)
        key = {**_key(series), "minute": point.minute}
        values = {"sum": point.sum, "count": point.count, "min": point.min, "max": point.max}
        if self._database.run(_SQL["put"], {**key, **values, "samples": _samples_text(point.samples)}):
            return  # Most minutes are written once.
        stored = self._database.one(_SQL["samples"], key)
        samples = _together(None if stored is None else _read_samples(stored[0]), point.samples)
        self._database.write(_SQL["add"], {**key, **values, "samples": _samples_text(samples)})

    def _has_written(self, series: Series, minute: Instant) -> None:
        known = self._written.get(series)
        if known is None or minute < known:
            self._written[series] = minute

    def flush(self, now: Instant, *, keep: frozenset[Watched]) -> None:
        """Write the counts up to the end of the last minute. Only the things in `keep` are measured further."""
        for (counted, minute), underway in self._accumulator.minutes.items():
            if minute <= _minute_before(now):
                for series in _members(counted):
                    self.add(series, underway.point(minute))
        self._flushed_at = now
        self._kept = keep
        _, watched = self._left(now)
        self._due_after_flush = _minute_after(now) if watched else None

    def between(self, series: Series, start: Instant, end: Instant) -> list[DataPoint]:
        """The stored minutes of a series that begin in [start, end), in order."""
        rows = self._database.all(_SQL["between"], {**_key(series), "start": start, "end": end})
        return [
            DataPoint(minute, total, count, low, high, _read_samples(samples))
            for minute, total, count, low, high, samples in rows
        ]

    def grouped(self, series: Series, start: Instant, end: Instant, period_ms: int) -> Sequence[Grouped]:
        """The periods of a series in [start, end) that have data, in order: start, sum, count, minimum, maximum.

        Periods are counted from `start` on; the database adds the minutes up. Plain tuples, because there are many.
        """
        params = {**_key(series), "start": start, "end": end, "period": period_ms}
        return cast("Sequence[Grouped]", self._database.all(_SQL["grouped"], params))

    def by_period(
        self, statistic: str, series: Series, start: Instant, end: Instant, period_ms: int
    ) -> Sequence[tuple[Instant, float]]:
        """One of `STATISTICS` of each period of a series in [start, end) that has data, with the period's start."""
        params = {**_key(series), "start": start, "end": end, "period": period_ms}
        return cast("Sequence[tuple[Instant, float]]", self._database.all(_SQL[STATISTICS[statistic]], params))

    def first(self, series: Series, start: Instant) -> Instant | None:
        """The first stored minute of a series that begins at `start` or later; None if there is none."""
        row = self._database.one(_SQL["first"], {**_key(series), "start": start})
        return None if row is None or row[0] is None else int(row[0])

    def take_written(self) -> Mapping[Series, Instant]:
        """The series that this transaction has written since it was last asked, each with its earliest minute."""
        written, self._written = self._written, {}
        return written

    def series_of(self, scope: str, *, since: Instant = 0) -> Sequence[Series]:
        """All series in a scope with stored minutes that began at `since` or later."""
        rows = self._database.all(_SQL["names"], {"scope": scope, "since": since})
        return [Series(Watched(scope, namespace, dimensions), name, unit) for namespace, name, dimensions, unit in rows]

    def units_of(self, watched: Watched, name: str) -> list[str]:
        """The units with which a thing's metric is stored."""
        key = _key(Series(watched, name, ""))
        return [
            unit for (unit,) in self._database.all(_SQL["units"], {part: key[part] for part in key if part != "unit"})
        ]

    def oldest(self) -> Instant | None:
        """When the oldest stored minute began; None if there is none."""
        row = self._database.one(_SQL["oldest"], ())
        return None if row is None or row[0] is None else int(row[0])

    def coarsen(self, since: Instant, before: Instant, period_ms: int, *, limit: int) -> int:
        """Add up to `limit` points of [since, before) to those of their longer periods. Returns how many.

        No other step may write points meanwhile.
        """
        params = {"since": since, "before": before, "period": period_ms, "limit": limit}
        rows = self._database.all(_SQL["finer"], params)
        for scope, namespace, name, dimensions, unit, minute, total, count, low, high, samples in rows:
            series = Series(Watched(scope, namespace, dimensions), name, unit)
            begins = minute - minute % period_ms
            self.add(series, DataPoint(begins, total, count, low, high, _read_samples(samples)))
            self._database.write(_SQL["delete"], {**_key(series), "minute": minute})
        self._written.clear()
        return len(rows)

    def oldest_finer(self, since: Instant, period_ms: int) -> Instant | None:
        """The first point from `since` on that does not begin with a period of this length; None if there is none."""
        row = self._database.one(_SQL["oldest_finer"], {"since": since, "period": period_ms})
        return None if row is None else int(row[0])

    def sweep(self, before: Instant, *, limit: int) -> int:
        """Delete up to `limit` minutes that began before this instant, oldest first. Returns how many were deleted."""
        return self._database.run(_SQL["sweep"], {"before": before, "limit": limit})

    @property
    def accumulator(self) -> Accumulator:
        """Where counts go at the commit."""
        return self._accumulator

    @property
    def rates(self) -> RateTable:
        """What this transaction takes of rates. Most transactions take nothing."""
        if self._rates is None:
            self._rates = RateTable(self._accumulator.rates)
        return self._rates

    def take(self, other: MetricTable) -> None:
        """Take over what a part of this transaction has counted."""
        self._counted += other._counted
        for series, minute in other._written.items():
            self._has_written(series, minute)
        if other._rates is not None:
            self.rates.take_over(other._rates)

    @property
    def has_counted(self) -> bool:
        """Whether this transaction has counted anything so far."""
        return bool(self._counted)

    @property
    def mark(self) -> tuple[int, int]:
        """The position to `rewind` to if later counts are rolled back."""
        return len(self._counted), 0 if self._rates is None else self._rates.mark

    def rewind(self, mark: tuple[int, int]) -> None:
        """Drop the counts since the mark."""
        counted, taken = mark
        del self._counted[counted:]
        if self._rates is not None:
            self._rates.rewind(taken)

    def committed(self) -> None:
        """Pass the counts to the accumulator. Only the store calls it, after the commit."""
        accumulator = self._accumulator
        for sample in self._counted:
            accumulator.add(sample)
        if self._rates is not None:
            self._rates.committed()

    def forget_flushed(self) -> None:
        """Remove flushed minutes from the accumulator. Only the store calls it, before any `committed`."""
        now = self._flushed_at
        if now is not None:
            accumulator = self._accumulator
            accumulator.minutes, accumulator.watched = self._left(now)
            accumulator.due_at = _minute_after(now) if accumulator.watched else None

    def _left(self, now: Instant) -> tuple[dict[tuple[_Counted, Instant], _Minute], dict[Watched, Instant]]:
        """The minutes that a flush leaves in memory, and the things that are measured further."""
        last = _minute_before(now)
        minutes = {key: minute for key, minute in self._accumulator.minutes.items() if key[1] > last}
        underway = {series.watched for counted, _ in minutes for series in _members(counted)}
        watched = {one: at for one, at in self._accumulator.watched.items() if one in self._kept or one in underway}
        return minutes, watched


def _members(counted: _Counted) -> tuple[Series, ...]:
    return counted.members if isinstance(counted, SeriesGroup) else (counted,)


def _minute_before(now: Instant) -> Instant:
    return now - now % MINUTE_MS - MINUTE_MS


def _minute_after(now: Instant) -> Instant:
    return now - now % MINUTE_MS + MINUTE_MS


def _key(series: Series) -> dict[str, str | int]:
    watched = series.watched
    return {
        "scope": watched.scope, "namespace": watched.namespace, "name": series.name,
        "dimensions": watched.dimensions, "unit": series.unit,
    }  # fmt: skip


def _keep(samples: dict[float, float], value: float, times: float) -> None:
    """Count a value. If there are very many values, new ones are rounded and so share an entry."""
    if value not in samples and len(samples) >= SAMPLES_KEPT_MAX:
        value = float(f"{value:.3g}")
    samples[value] = samples.get(value, 0) + times


def _together(one: Mapping[float, float] | None, other: Mapping[float, float] | None) -> Mapping[float, float] | None:
    """The samples of two parts of a minute; None if one part has none."""
    if one is None or other is None:
        return None
    samples = dict(one)
    for value, times in other.items():
        _keep(samples, value, times)
    return samples


def _samples_text(samples: Mapping[float, float] | None) -> str | None:
    return None if samples is None else orjson.dumps(list(samples.items())).decode()


def _read_samples(text: str | None) -> Mapping[float, float] | None:
    return None if text is None else dict(orjson.loads(text))
