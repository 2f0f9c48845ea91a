"""GetMetricStatistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.metric import INVALID_COMBINATION, INVALID_VALUE, MISSING, Metric, Problems
from redrive.services.cloudwatch.model.queries import PERIOD_TEXT
from redrive.services.cloudwatch.model.statistics import SIMPLE, Statistic, parse_statistic, value_of
from redrive.services.cloudwatch.model.time import is_period, window
from redrive.services.cloudwatch.reads import periods_of, units_of
from redrive.store.api import Transaction
from redrive.store.tables.metrics import DataPoint


@operation("GetMetricStatistics")
def get_metric_statistics(
    tx: Transaction, caller: Caller, *, namespace: str, metric_name: str, start_time: Instant, end_time: Instant,
    period: int, dimensions: Sequence[Mapping[str, str]] | None = None, statistics: Sequence[str] | None = None,
    extended_statistics: Sequence[str] | None = None, unit: str | None = None,
) -> Document:  # fmt: skip
    """Return the statistics of one metric: a data point for each period and unit with data, oldest first.

    Errors: InvalidParameterValue, MissingParameter, InvalidParameterCombination (for example, more than 1,440 data
    points).
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricStatistics.html
    """
    tx.services.authorize(tx, caller, "cloudwatch:GetMetricStatistics", "*")
    _check_time(start_time, end_time, period)
    extended = _extended(statistics, extended_statistics)
    metric = Metric.of(namespace, metric_name, dimensions)
    asked = window(start_time, end_time, period, tx.now)
    datapoints = []
    for one in units_of(tx, caller.scope, metric, unit):
        for at, point in periods_of(tx, caller.scope, metric, [one], asked):
            document = _datapoint(point, statistics or (), extended)
            if document:
                datapoints.append({"Timestamp": at, **document, "Unit": one})
    return {"Label": metric_name, "Datapoints": sorted(datapoints, key=lambda document: document["Timestamp"])}


def _check_time(start: Instant, end: Instant, period: int) -> None:
    problems = Problems()
    if not is_period(period):
        problems.add(INVALID_VALUE, f"The parameter Period {PERIOD_TEXT}")
    if start >= end:
        problems.add(INVALID_COMBINATION, "The parameter StartTime must be less than the parameter EndTime.")
    problems.refuse()
    count = -((start - end) // (period * SECOND_MS))
    if count > limits.STATISTICS_DATAPOINTS_MAX:
        raise ServiceError(
            INVALID_COMBINATION,
            f"You have requested up to {count} datapoints, which exceeds the limit of "
            f"{limits.STATISTICS_DATAPOINTS_MAX}. You may reduce the datapoints requested by increasing Period, "
            "or decreasing the time range.",
        )


def _extended(statistics: Sequence[str] | None, extended: Sequence[str] | None) -> dict[str, Statistic]:
    """Parse the extended statistics. A request has either these or simple ones."""
    if not statistics and not extended:
        raise ServiceError(MISSING, "Must specify either Statistics or ExtendedStatistics")
    if statistics and extended:
        raise ServiceError(
            INVALID_COMBINATION,
            "The parameters Statistics and ExtendedStatistics are mutually exclusive and you have specified both.",
        )
    problems = Problems()
    found: dict[str, Statistic] = {}
    for number, text in enumerate(extended or (), start=1):
        statistic = None if text in SIMPLE else parse_statistic(text)
        if statistic is None:
            place = f"ExtendedStatistics.member.{number}"
            problems.add(INVALID_VALUE, f"The value {text} for parameter {place} is not a valid statistic.")
        else:
            found[text] = statistic
    problems.refuse()
    return found


def _datapoint(point: DataPoint, simple: Sequence[str], extended: Mapping[str, Statistic]) -> Document:
    """Return the statistics of a point; empty if none of the requested ones can be computed."""
    document: Document = {name: value_of(Statistic(name), point) for name in simple}
    told = {text: value_of(statistic, point) for text, statistic in extended.items()}
    if known := {text: value for text, value in told.items() if value is not None}:
        document["ExtendedStatistics"] = known
    return document
