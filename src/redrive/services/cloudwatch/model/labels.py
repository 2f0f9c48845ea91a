"""Labels of results, and the placeholders `${…}` in them.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/graph-dynamic-labels.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from redrive.core.clock import Instant
from redrive.services.cloudwatch.model.metric import validation_error
from redrive.services.cloudwatch.model.queries import MetricStat, Query
from redrive.services.cloudwatch.model.values import TimeSeries

_PLACE = re.compile(r"\$\{\s*(?:PROP\('([^']+)'\)|([A-Z_]+))\s*\}")
_TIMEZONE = re.compile(r"([+-])(\d{2})([0-5]\d)")

_VALUES: Mapping[str, Callable[[list[float]], float]] = {
    "AVG": lambda values: sum(values) / len(values),
    "DATAPOINT_COUNT": len,
    "FIRST": lambda values: values[0],
    "LAST": lambda values: values[-1],
    "MAX": max,
    "MIN": min,
    "SUM": sum,
}
_TIMES: Mapping[str, Callable[[Mapping[Instant, float]], Instant]] = {
    "FIRST_TIME": min,
    "LAST_TIME": max,
    "MAX_TIME": lambda values: max(values, key=lambda at: values[at]),
    "MIN_TIME": lambda values: min(values, key=lambda at: values[at]),
}


def parse_timezone(text: str | None) -> tzinfo:
    """Parse an offset such as `+0130`; UTC if there is none. Errors: ValidationException."""
    if text is None:
        return UTC
    match = _TIMEZONE.fullmatch(text)
    if match is None or int(match[2]) > 23:
        raise validation_error(f"The value {text} for parameter LabelOptions.Timezone is not a valid timezone.")
    offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-offset if match[1] == "-" else offset)


def properties(stat: MetricStat, *, account: str, region: str) -> Mapping[str, str]:
    """Return the values of `${PROP('…')}` for a metric."""
    metric = stat.metric
    return {
        "AccountId": account,
        "MetricName": metric.name,
        "Namespace": metric.namespace,
        "Period": str(stat.period_s),
        "Region": region,
        "Stat": stat.stat,
        **{f"Dim.{name}": value for name, value in metric.dimensions},
    }


def default_labels(queries: Sequence[Query]) -> Mapping[str, str]:
    """Return default labels for the returned metrics without a label, by the ids of their queries.

    A default label is the metric's name. If metrics share a name, the label also has the statistic and the period, if
    these differ.
    """
    metrics = [
        (query.id, query.content)
        for query in queries
        if isinstance(query.content, MetricStat) and query.is_returned and query.label is None
    ]
    namesakes: dict[str, list[MetricStat]] = {}
    for _, stat in metrics:
        namesakes.setdefault(stat.metric.name, []).append(stat)
    are_apart = {name: _differences(stats) for name, stats in namesakes.items()}
    labels = {}
    for query_id, stat in metrics:
        by_stat, by_period = are_apart[stat.metric.name]
        parts = [stat.metric.name, *([stat.stat] if by_stat else ()), *([str(stat.period_s)] if by_period else ())]
        labels[query_id] = " ".join(parts)
    return labels


def _differences(stats: Sequence[MetricStat]) -> tuple[bool, bool]:
    """Whether the statistics differ, and whether the periods do."""
    return len({one.stat for one in stats}) > 1, len({one.period_s for one in stats}) > 1


def fill_label(label: str, series: TimeSeries, own: Mapping[str, str], zone: tzinfo) -> str:
    """Fill the placeholders of a label.

    Unknown placeholders do not change, nor do those of values if the series is empty.
    """

    def fill(match: re.Match[str]) -> str:
        prop, word = match[1], match[2]
        if prop is not None:
            return own.get(prop, match[0])
        if word == "LABEL":
            return series.label
        if word in _VALUES and series.values:
            return f"{_VALUES[word](list(series.values.values())):g}"
        if word in _TIMES and series.values:
            return datetime.fromtimestamp(_TIMES[word](series.values) // 1000, zone).isoformat()
        return match[0]

    return _PLACE.sub(fill, label)
