"""`redrive alarms show NAME`: an alarm with its reason, the points that it evaluates, and its latest changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from redrive.cli.alarms_list import since
from redrive.cli.charts import number, scaled
from redrive.cli.clients import Place, place_options
from redrive.cli.output import print_json, span, wants_json
from redrive.cli.reading_alarms import condition_of, find_alarm, period_of, read_watched
from redrive.cli.series import Line, output_option
from redrive.core.clock import SECOND_MS, format_instant
from redrive.services.cloudwatch.model.evaluated import RANGE_BEYOND

_CHANGES_SHOWN = 10
_PERIODS_DRAWN = 60
_BREACHES: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "LessThanOrEqualToThreshold": lambda value, threshold: value <= threshold,
}


@click.command()
@click.argument("name")
@output_option
@place_options
def show(name: str, output: str | None, place: Place) -> None:
    """Show the alarm NAME: its state and why, the points of its evaluation range, and how its state has changed."""
    alarm = find_alarm(place, name)
    changes = _changes(place, name)
    line = None if "AlarmRule" in alarm else _line(place, alarm)
    points = [] if line is None else _points(alarm, line)
    if wants_json(output == "json"):
        print_json(_document(alarm, points, changes))
        return
    now = place.now()
    click.echo(f"{alarm['AlarmName']}: {alarm['StateValue']} for {span(now - since(alarm))}")
    click.echo(f"  condition  {condition_of(alarm)}")
    click.echo(f"  missing    {alarm.get('TreatMissingData', 'missing')}" if line is not None else "", nl=bool(line))
    click.echo(f"  reason     {alarm.get('StateReason', '')}")
    if line is not None:
        for text in scaled(line.values):
            click.echo(f"  {text.rstrip()}")
    for point in points:
        shown = "-" if point["value"] is None else number(point["value"])
        click.echo(f"  {point['at']}  {shown:>12}  {'breaching' if point['is_breaching'] else ''}".rstrip())
    for change in changes:
        click.echo(f"  {change['at']}  {change['summary']}")


def breaches(alarm: Any, value: float, threshold: float) -> bool:
    """Whether a value is beyond an alarm's threshold."""
    return _BREACHES[alarm["ComparisonOperator"]](value, threshold)


def _line(place: Place, alarm: Any) -> Line:
    """The values of an alarm, up to the last full minute, or ten seconds for shorter periods."""
    period_ms = period_of(alarm) * SECOND_MS
    grain_ms = min(period_ms, 60 * SECOND_MS)
    end = place.now() - place.now() % grain_ms
    periods = max(alarm["EvaluationPeriods"] + RANGE_BEYOND, _PERIODS_DRAWN)
    return read_watched(place, alarm, start=end - periods * period_ms, end=end)


def _points(alarm: Any, line: Line) -> list[dict[str, Any]]:
    """The points of the evaluation range, oldest first; a value of None is missing."""
    count = alarm["EvaluationPeriods"] + RANGE_BEYOND
    first = max(0, len(line.values) - count)
    return [
        {
            "at": format_instant(line.start + place * line.period_s * SECOND_MS),
            "value": value,
            "is_breaching": value is not None and breaches(alarm, value, alarm["Threshold"]),
        }
        for place, value in enumerate(line.values)
        if place >= first
    ]


def _changes(place: Place, name: str) -> list[dict[str, str]]:
    """The latest items of the alarm's history, newest first."""
    found = place.client("cloudwatch").describe_alarm_history(
        AlarmName=name, MaxRecords=_CHANGES_SHOWN, ScanBy="TimestampDescending",
        AlarmTypes=["MetricAlarm", "CompositeAlarm"],
    )["AlarmHistoryItems"]  # fmt: skip
    return [
        {
            "at": format_instant(round(item["Timestamp"].timestamp() * SECOND_MS)), "type": item["HistoryItemType"],
            "summary": item["HistorySummary"],
        }
        for item in found
    ]  # fmt: skip


def _document(alarm: Any, points: list[dict[str, Any]], changes: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "name": alarm["AlarmName"], "state": alarm["StateValue"], "since": format_instant(since(alarm)),
        "reason": alarm.get("StateReason", ""), "condition": condition_of(alarm), "points": points,
        "history": changes,
    }  # fmt: skip
