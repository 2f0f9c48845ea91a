"""`redrive alarms test NAME`: when an alarm would have fired on past data, perhaps with other settings."""

from __future__ import annotations

from typing import Any

import click

from redrive.cli.alarms_show import breaches
from redrive.cli.charts import number, scaled
from redrive.cli.clients import Place, place_options
from redrive.cli.durations import Duration
from redrive.cli.output import print_json, print_table, span, wants_json
from redrive.cli.reading_alarms import condition_of, find_alarm, period_of, read_watched
from redrive.cli.series import Line, output_option
from redrive.core.clock import SECOND_MS, Instant, format_instant
from redrive.core.errors import UserError
from redrive.services.cloudwatch.model.alarm import StateValue
from redrive.services.cloudwatch.model.evaluated import RANGE_BEYOND, Point, TreatMissing, evaluate

Change = tuple[Instant, StateValue, list[float]]
"""When an alarm changed, to which state, and the values that it saw."""


@click.command()
@click.argument("name")
@click.option("--since", type=Duration(), default="24h", show_default=True, help="How far back: 15m, 24h, 7d.")
@click.option("--threshold", type=float, help="Another threshold than the alarm's.")
@click.option("--periods", type=click.IntRange(1), help="Another N: how many periods are evaluated.")
@click.option("--datapoints", type=click.IntRange(1), help="Another M: how many of them have to breach.")
@click.option("--missing", type=click.Choice([one.value for one in TreatMissing]), help="Treat missing data so.")
@output_option
@place_options
def test(
    name: str, since: float, threshold: float | None, periods: int | None, datapoints: int | None,
    missing: str | None, output: str | None, place: Place,
) -> None:  # fmt: skip
    """Test the alarm NAME against history: when would it have fired? Nothing is changed, and nobody is told.

    Each period is evaluated at its end. CloudWatch looks at longer periods each minute, so a change may come earlier
    there. Data is read as it is now; some of it may have come late.
    """
    alarm = find_alarm(place, name)
    if "AlarmRule" in alarm:
        step = f"Test the alarms that it names: {alarm['AlarmRule']}"
        raise UserError(f"{name} is a composite alarm, which has no data.", next_step=step, exit_code=2)
    tried = _changed(alarm, threshold, periods, datapoints, missing)
    period_ms = period_of(alarm) * SECOND_MS
    end = place.now() - place.now() % period_ms
    first = end - round(since * SECOND_MS) // period_ms * period_ms
    line = read_watched(place, tried, start=first - (tried["EvaluationPeriods"] + RANGE_BEYOND) * period_ms, end=end)
    changes = timeline(tried, line, first)
    fired = [(at, values) for at, value, values in changes if value is StateValue.ALARM]
    if wants_json(output == "json"):
        print_json(_document(tried, changes, len(fired)))
        return
    click.echo(f"{name}: {condition_of(tried)}, missing data {tried.get('TreatMissingData', 'missing')}")
    for text in scaled(line.values):
        click.echo(f"  {text.rstrip()}")
    rows = [
        (format_instant(at), value.value, _lasted(changes, place_of, end), ", ".join(map(number, values)))
        for place_of, (at, value, values) in enumerate(changes)
    ]
    if rows:
        print_table(("at", "state", "for", "values"), rows)
    click.echo(f"It would have fired {len(fired)} time{'' if len(fired) == 1 else 's'} in {span(end - first)}.")


def timeline(alarm: Any, line: Line, first: Instant) -> list[Change]:
    """How an alarm's state would have changed from an instant on, one evaluation at the end of each period."""
    periods = int(alarm["EvaluationPeriods"])
    to_alarm = int(alarm.get("DatapointsToAlarm") or periods)
    treat = TreatMissing(alarm.get("TreatMissingData", "missing"))
    step_ms = line.period_s * SECOND_MS
    points = [
        None if value is None else Point(
            line.start + place * step_ms, value, breaches(alarm, value, alarm["Threshold"])
        )
        for place, value in enumerate(line.values)
    ]  # fmt: skip
    state: StateValue | None = None
    changes: list[Change] = []
    for end in range(len(points) + 1):
        at = line.start + end * step_ms
        if at < first:
            continue
        seen = points[max(0, end - periods - RANGE_BEYOND) : end]
        found = evaluate(seen, periods=periods, to_alarm=to_alarm, treat=treat)
        if found.value is not None and found.value is not state:
            state = found.value
            changes.append((at, state, [point.value for point in found.points]))
    return changes


def _changed(
    alarm: Any, threshold: float | None, periods: int | None, datapoints: int | None, missing: str | None
) -> dict[str, Any]:  # fmt: skip
    """The alarm with other settings. Errors: UserError if M would be more than N."""
    if alarm["ComparisonOperator"].endswith(("LowerThreshold", "UpperThreshold")):
        text = f"{alarm['AlarmName']} is based on anomaly detection, which redrive does not compute."
        raise UserError(text, next_step="Test an alarm with a threshold.", exit_code=2)
    given = {
        "Threshold": threshold, "EvaluationPeriods": periods, "DatapointsToAlarm": datapoints,
        "TreatMissingData": missing,
    }  # fmt: skip
    tried = {**alarm, **{key: value for key, value in given.items() if value is not None}}
    if periods is not None and datapoints is None and "DatapointsToAlarm" in tried:
        tried["DatapointsToAlarm"] = min(tried["DatapointsToAlarm"], periods)
    if tried.get("DatapointsToAlarm", 1) > tried["EvaluationPeriods"]:
        text = f"{tried['DatapointsToAlarm']} of {tried['EvaluationPeriods']} periods cannot breach."
        raise UserError(text, next_step="Give --periods, too, or a smaller --datapoints.", exit_code=2)
    return tried


def _lasted(changes: list[Change], place: int, end: Instant) -> str:
    following = changes[place + 1][0] if place + 1 < len(changes) else end
    return span(following - changes[place][0])


def _document(alarm: Any, changes: list[Change], fired: int) -> dict[str, Any]:
    return {
        "name": alarm["AlarmName"],
        "condition": condition_of(alarm),
        "fired": fired,
        "changes": [
            {"at": format_instant(at), "state": value.value, "values": values} for at, value, values in changes
        ],
    }
