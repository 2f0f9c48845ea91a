"""Alarms for commands: what one watches, in words, and the values that it evaluates."""

from __future__ import annotations

from typing import Any

from redrive.cli.charts import number
from redrive.cli.clients import Place
from redrive.cli.series import Line, read_lines
from redrive.core.clock import Instant
from redrive.core.errors import UserError

TYPES = ["MetricAlarm", "CompositeAlarm"]
SIGNS = {
    "GreaterThanThreshold": ">",
    "GreaterThanOrEqualToThreshold": ">=",
    "LessThanThreshold": "<",
    "LessThanOrEqualToThreshold": "<=",
}


def find_alarm(place: Place, name: str) -> dict[str, Any]:
    """An alarm by its name. Errors: UserError if there is none."""
    answer = place.client("cloudwatch").describe_alarms(AlarmNames=[name], AlarmTypes=TYPES)
    found: list[dict[str, Any]] = answer["MetricAlarms"] + answer["CompositeAlarms"]
    if not found:
        step = f"List them: redrive alarms list{place.options}"
        raise UserError(f"There is no alarm {name} in {place.region_shown}.", next_step=step, exit_code=2)
    return found[0]


def condition_of(alarm: dict[str, Any]) -> str:
    """What an alarm waits for: `Sum of AWS/SQS NumberOfMessagesSent > 5 in 2 of 3 periods of 60 s`."""
    if "AlarmRule" in alarm:
        return str(alarm["AlarmRule"])
    periods = alarm["EvaluationPeriods"]
    sign = SIGNS.get(alarm["ComparisonOperator"], alarm["ComparisonOperator"])
    count = f"{alarm.get('DatapointsToAlarm', periods)} of {periods} periods of {period_of(alarm)} s"
    return f"{_watched(alarm)} {sign} {number(alarm.get('Threshold', 0))} in {count}"


def period_of(alarm: dict[str, Any]) -> int:
    """The period of a metric alarm, in seconds."""
    if "Period" in alarm:
        return int(alarm["Period"])
    stats = [query["MetricStat"]["Period"] for query in alarm.get("Metrics", []) if "MetricStat" in query]
    return int(max(stats, default=60))


def read_watched(place: Place, alarm: dict[str, Any], *, start: Instant, end: Instant) -> Line:
    """The values that a metric alarm compares with its threshold."""
    period_s = period_of(alarm)
    lines = read_lines(place, _queries(alarm), start=start, end=end, period_s=period_s)
    return lines[0] if lines else Line(alarm["AlarmName"], start, period_s, [])


def _queries(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    if alarm.get("Metrics"):
        return list(alarm["Metrics"])
    metric = {
        "Namespace": alarm["Namespace"], "MetricName": alarm["MetricName"], "Dimensions": alarm.get("Dimensions", []),
    }  # fmt: skip
    stat = {"Metric": metric, "Period": alarm["Period"], "Stat": alarm.get("Statistic") or alarm["ExtendedStatistic"]}
    if alarm.get("Unit"):
        stat["Unit"] = alarm["Unit"]
    return [{"Id": "watched", "MetricStat": stat}]


def _watched(alarm: dict[str, Any]) -> str:
    for query in alarm.get("Metrics", []):
        if query.get("ReturnData", True) and "Expression" in query:
            return str(query["Expression"])
    if alarm.get("Metrics"):
        return "metric math"
    dimensions = ", ".join(f"{one['Name']}={one['Value']}" for one in alarm.get("Dimensions", []))
    stat = alarm.get("Statistic") or alarm.get("ExtendedStatistic")
    return f"{stat} of {alarm['Namespace']} {alarm['MetricName']}{f' ({dimensions})' if dimensions else ''}"
