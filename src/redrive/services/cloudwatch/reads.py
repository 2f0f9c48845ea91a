"""Read a metric from the store, for all operations that return statistics."""

from __future__ import annotations

from collections.abc import Iterator

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.services.cloudwatch.model.metric import Metric
from redrive.services.cloudwatch.model.statistics import merged
from redrive.services.cloudwatch.model.time import Window
from redrive.store.api import Transaction
from redrive.store.tables.metrics import DataPoint


def units_of(tx: Transaction, scope: Scope, metric: Metric, unit: str | None) -> list[str]:
    """Return the units in which to read a metric: the requested unit, or all units with data."""
    return [unit] if unit is not None else tx.metrics.units_of(metric.watched(scope), metric.name)


def periods_of(
    tx: Transaction, scope: Scope, metric: Metric, units: list[str], window: Window
) -> Iterator[tuple[Instant, DataPoint]]:
    """Yield the periods of a window with data in these units, in order, each with its data merged into one point."""
    start = max(window.start, window.visible_from)
    points = [point for unit in units for point in tx.metrics.between(metric.series(scope, unit), start, window.end)]
    for at, group in window.groups(points):
        yield at, merged(group)
