"""Read a metric from the store, for all operations that return statistics, and for alarms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.services.cloudwatch.model.metric import Metric
from redrive.services.cloudwatch.model.queries import MetricStat
from redrive.services.cloudwatch.model.statistics import SIMPLE, merged, value_of
from redrive.services.cloudwatch.model.time import Window
from redrive.store.api import Transaction
from redrive.store.tables.metrics import DataPoint, Grouped, Series


@dataclass(frozen=True, slots=True)
class Values:
    """A statistic by the start of each period, and how many samples each period has."""

    values: Mapping[Instant, float]
    counts: Mapping[Instant, float]


def units_of(tx: Transaction, scope: Scope, metric: Metric, unit: str | None) -> list[str]:
    """Return the units in which to read a metric: the requested unit, or all units with data."""
    return [one.unit for one in _series_of(tx, scope, metric, unit)]


def _series_of(tx: Transaction, scope: Scope, metric: Metric, unit: str | None) -> list[Series]:
    """The series of a metric: that of the requested unit, or those of all units with data."""
    watched = metric.watched(scope)
    units = [unit] if unit is not None else tx.metrics.units_of(watched, metric.name)
    return [Series(watched, metric.name, one) for one in units]


def periods_of(
    tx: Transaction, scope: Scope, metric: Metric, units: Sequence[str], window: Window
) -> Iterator[tuple[Instant, DataPoint]]:
    """Yield the periods of a window with data in these units, in order, each with its data merged into one point."""
    return _merged(tx, [metric.series(scope, unit) for unit in units], window)


def _merged(tx: Transaction, series: Sequence[Series], window: Window) -> Iterator[tuple[Instant, DataPoint]]:
    start = max(window.start, window.visible_from)
    points = [point for one in series for point in tx.metrics.between(one, start, window.end)]
    for at, group in window.groups(points):
        yield at, merged(group)


def values_of(tx: Transaction, scope: Scope, stat: MetricStat, window: Window) -> Mapping[Instant, float]:
    """Return the values of a statistic in a window, by the start of each period, in order."""
    series = _series_of(tx, scope, stat.metric, stat.unit)
    if not _is_added_up(stat, series, window):
        return _counted(tx, stat, series, window).values
    start, end, period_ms = window.start, window.end, window.period_ms
    values: dict[Instant, float] = {}
    for one in series:
        values.update(tx.metrics.by_period(stat.stat, one, start, end, period_ms))
    return values


def counted_values_of(tx: Transaction, scope: Scope, stat: MetricStat, window: Window) -> Values:
    """Return the values of a statistic in a window, and how many samples each has."""
    series = _series_of(tx, scope, stat.metric, stat.unit)
    if not _is_added_up(stat, series, window):
        return _counted(tx, stat, series, window)
    start, end, period_ms = window.start, window.end, window.period_ms
    rows = tx.metrics.grouped(series[0], start, end, period_ms) if series else ()
    return Values(_simple_values(stat.stat, rows), {row[0]: row[2] for row in rows})


def _counted(tx: Transaction, stat: MetricStat, series: Sequence[Series], window: Window) -> Values:
    values: dict[Instant, float] = {}
    counts: dict[Instant, float] = {}
    for at, point in _merged(tx, series, window):
        value = value_of(stat.statistic, point)
        if value is not None:
            values[at] = value
            counts[at] = point.count
    return Values(values, counts)


def _simple_values(statistic: str, rows: Sequence[Grouped]) -> Mapping[Instant, float]:
    match statistic:
        case "Sum":
            return {at: total for at, total, _, _, _ in rows}
        case "Average":
            return {at: total / count for at, total, count, _, _ in rows}
        case "SampleCount":
            return {at: count for at, _, count, _, _ in rows}
        case "Minimum":
            return {at: low for at, _, _, low, _ in rows}
        case _:
            return {at: high for at, _, _, _, high in rows}


def _is_added_up(stat: MetricStat, series: Sequence[Series], window: Window) -> bool:
    """Whether the store computes a statistic: no values are needed, all data are shown, there is one unit at most."""
    return stat.stat in SIMPLE and window.visible_from <= window.start and len(series) <= 1


def first_from(tx: Transaction, scope: Scope, stat: MetricStat, start: Instant) -> Instant | None:
    """Return the first instant from `start` on with data of a statistic: data may be of the next two hours."""
    found = [tx.metrics.first(one, start) for one in _series_of(tx, scope, stat.metric, stat.unit)]
    return min([at for at in found if at is not None], default=None)
