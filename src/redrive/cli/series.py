"""Time series of CloudWatch for commands: one value for each period, None where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from redrive.cli.clients import Place
from redrive.core.clock import SECOND_MS, Instant, format_instant

output_option = click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), help="How to print: drawn to a terminal, JSON to a pipe."
)


@dataclass(frozen=True, slots=True)
class Line:
    """The values of one series, from `start` on, one for each period."""

    label: str
    start: Instant
    period_s: int
    values: Sequence[float | None]

    @property
    def points(self) -> list[tuple[Instant, float]]:
        """The periods with values, in order."""
        step_ms = self.period_s * SECOND_MS
        return [(self.start + place * step_ms, value) for place, value in enumerate(self.values) if value is not None]

    @property
    def document(self) -> dict[str, Any]:
        """The series for JSON."""
        points = [{"at": format_instant(at), "value": value} for at, value in self.points]
        return {"label": self.label, "period_s": self.period_s, "points": points}


def read_lines(
    place: Place, queries: Sequence[Mapping[str, Any]], *, start: Instant, end: Instant, period_s: int
) -> list[Line]:  # fmt: skip
    """The series that GetMetricData returns for some queries, in its order."""
    start -= start % (period_s * SECOND_MS)
    pages = place.client("cloudwatch").get_paginator("get_metric_data").paginate(
        MetricDataQueries=list(queries), StartTime=start / SECOND_MS, EndTime=end / SECOND_MS,
        ScanBy="TimestampAscending",
    )  # fmt: skip
    found: dict[tuple[str, str], dict[Instant, float]] = {}
    for result in (result for page in pages for result in page["MetricDataResults"]):
        known = found.setdefault((result["Id"], result["Label"]), {})
        for at, value in zip(result["Timestamps"], result["Values"], strict=True):
            known[round(at.timestamp() * SECOND_MS)] = value
    periods = range(start, end, period_s * SECOND_MS)
    return [
        Line(label, start, period_s, [values.get(at) for at in periods]) for (_, label), values in found.items()
    ]  # fmt: skip


def metric_query(
    namespace: str, name: str, dimensions: Mapping[str, str], *, stat: str, period_s: int, query_id: str = "m"
) -> dict[str, Any]:  # fmt: skip
    """A query for a statistic of a metric."""
    shown = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    metric = {"Namespace": namespace, "MetricName": name, "Dimensions": shown}
    return {"Id": query_id, "MetricStat": {"Metric": metric, "Period": period_s, "Stat": stat}}


def fitting_period_s(span_s: float) -> int:
    """A period with which a time range has at most 120 points: a minute, 5 minutes, 15 minutes, an hour or more."""
    for period_s in (60, 300, 900, 3_600, 21_600):
        if span_s <= period_s * 120:
            return period_s
    return 86_400
