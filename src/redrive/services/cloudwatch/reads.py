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
from redrive.store.tables.metrics import DataPoint


@dataclass(frozen=True, slots=True)
class Values:
    """A statistic by the start of each period, and how many samples each period has."""

    values: Mapping[Instant, float]
    counts: Mapping[Instant, float]


def units_of(tx: Transaction, scope: Scope, metric: Metric, unit: str | None) -> list[str]:
    """Return the units in which to read a metric: the requested unit, or all units with data."""
    return [unit] if unit is not None else tx.metrics.units_of(metric.watched(scope), metric.name)


def periods_of(
    tx: Transaction, scope: Scope, metric: Metric, units: Sequence[str], window: Window, *, with_samples: bool = True
) -> Iterator[tuple[Instant, DataPoint]]:
    """Yield the periods of a window with data in these units, in order, each with its data merged into one point.

    Without samples the store adds up, which is several times faster.
    """
    start = max(window.start, window.visible_from)
    if not with_samples and start == window.start:
        found = [tx.metrics.grouped(metric.series(scope, unit), start, window.end, window.period_ms) for unit in units]
        if len(found) == 1:
            for point in found[0]:
                yield point.minute, point
            return
        points = [point for part in found for point in part]
    else:
        series = [metric.series(scope, unit) for unit in units]
        points = [point for one in series for point in tx.metrics.between(one, start, window.end)]
    for at, group in window.groups(points):
        yield at, merged(group)


def values_of(tx: Transaction, scope: Scope, stat: MetricStat, window: Window) -> Values:
    """Return the values of a statistic in a window."""
    units = units_of(tx, scope, stat.metric, stat.unit)
    is_simple = stat.stat in SIMPLE
    values: dict[Instant, float] = {}
    counts: dict[Instant, float] = {}
    for at, point in periods_of(tx, scope, stat.metric, units, window, with_samples=not is_simple):
        value = value_of(stat.statistic, point)
        if value is not None:
            values[at] = value
            counts[at] = point.count
    return Values(values, counts)


def first_from(tx: Transaction, scope: Scope, stat: MetricStat, start: Instant) -> Instant | None:
    """Return the first instant from `start` on with data of a statistic: data may be of the next two hours."""
    units = units_of(tx, scope, stat.metric, stat.unit)
    found = [tx.metrics.first(stat.metric.series(scope, unit), start) for unit in units]
    return min([at for at in found if at is not None], default=None)
