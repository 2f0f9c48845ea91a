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
from redrive.store.tables.metrics import DataPoint, Grouped


@dataclass(frozen=True, slots=True)
class Values:
    """A statistic by the start of each period, and how many samples each period has."""

    values: Mapping[Instant, float]
    counts: Mapping[Instant, float]


def units_of(tx: Transaction, scope: Scope, metric: Metric, unit: str | None) -> list[str]:
    """Return the units in which to read a metric: the requested unit, or all units with data."""
    return [unit] if unit is not None else tx.metrics.units_of(metric.watched(scope), metric.name)


def periods_of(
    tx: Transaction, scope: Scope, metric: Metric, units: Sequence[str], window: Window
) -> Iterator[tuple[Instant, DataPoint]]:
    """Yield the periods of a window with data in these units, in order, each with its data merged into one point."""
    start = max(window.start, window.visible_from)
    series = [metric.series(scope, unit) for unit in units]
    points = [point for one in series for point in tx.metrics.between(one, start, window.end)]
    for at, group in window.groups(points):
        yield at, merged(group)


def values_of(tx: Transaction, scope: Scope, stat: MetricStat, window: Window) -> Mapping[Instant, float]:
    """Return the values of a statistic in a window, by the start of each period, in order."""
    rows = _added_up(tx, scope, stat, window)
    return counted_values_of(tx, scope, stat, window).values if rows is None else _values(stat, window, rows)


def _values(stat: MetricStat, window: Window, rows: Sequence[Grouped]) -> Mapping[Instant, float]:
    begin, step = window.start, window.period_ms
    match stat.stat:
        case "Sum":
            return {begin + number * step: total for number, total, _, _, _ in rows}
        case "Average":
            return {begin + number * step: total / count for number, total, count, _, _ in rows}
        case "SampleCount":
            return {begin + number * step: count for number, _, count, _, _ in rows}
        case "Minimum":
            return {begin + number * step: low for number, _, _, low, _ in rows}
        case _:
            return {begin + number * step: high for number, _, _, _, high in rows}


def counted_values_of(tx: Transaction, scope: Scope, stat: MetricStat, window: Window) -> Values:
    """Return the values of a statistic in a window, and how many samples each has."""
    rows = _added_up(tx, scope, stat, window)
    if rows is not None:
        counts = {window.start + row[0] * window.period_ms: row[2] for row in rows}
        return Values(_values(stat, window, rows), counts)
    units = units_of(tx, scope, stat.metric, stat.unit)
    values: dict[Instant, float] = {}
    counts = {}
    for at, point in periods_of(tx, scope, stat.metric, units, window):
        value = value_of(stat.statistic, point)
        if value is not None:
            values[at] = value
            counts[at] = point.count
    return Values(values, counts)


def _added_up(tx: Transaction, scope: Scope, stat: MetricStat, window: Window) -> Sequence[Grouped] | None:
    """The periods of a window, added up by the store; None if the values themselves are needed, or several units."""
    if stat.stat not in SIMPLE or window.visible_from > window.start:
        return None
    units = units_of(tx, scope, stat.metric, stat.unit)
    if len(units) > 1:
        return None
    with_extremes = stat.stat in ("Minimum", "Maximum")
    series = [stat.metric.series(scope, unit) for unit in units]
    start, end, period_ms = window.start, window.end, window.period_ms
    found = [tx.metrics.grouped(one, start, end, period_ms, with_extremes=with_extremes) for one in series]
    return found[0] if found else []


def first_from(tx: Transaction, scope: Scope, stat: MetricStat, start: Instant) -> Instant | None:
    """Return the first instant from `start` on with data of a statistic: data may be of the next two hours."""
    units = units_of(tx, scope, stat.metric, stat.unit)
    found = [tx.metrics.first(stat.metric.series(scope, unit), start) for unit in units]
    return min([at for at in found if at is not None], default=None)
