"""`redrive alarms list`: the alarms, and the states that they are in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.output import print_json, print_table, span, wants_json
from redrive.cli.reading_alarms import TYPES, condition_of
from redrive.cli.series import output_option
from redrive.core.clock import SECOND_MS, Instant, format_instant

_ORDER = ("ALARM", "INSUFFICIENT_DATA", "OK")


@click.command("list")
@click.argument("prefix", required=False)
@click.option("--state", type=click.Choice(_ORDER), help="Only alarms that are in this state.")
@output_option
@place_options
def list_alarms(prefix: str | None, state: str | None, output: str | None, place: Place) -> None:
    """List alarms, those in ALARM first: all, or those whose names begin with PREFIX."""
    asked: dict[str, Any] = {"AlarmTypes": TYPES}
    asked |= {key: value for key, value in (("AlarmNamePrefix", prefix), ("StateValue", state)) if value}
    pages = place.client("cloudwatch").get_paginator("describe_alarms").paginate(**asked)
    found = [alarm for page in pages for alarm in page["MetricAlarms"] + page["CompositeAlarms"]]
    found.sort(key=lambda alarm: (_ORDER.index(alarm["StateValue"]), alarm["AlarmName"]))
    if wants_json(output == "json"):
        print_json({"alarms": [_document(alarm) for alarm in found]})
    elif found:
        now = place.now()
        rows = [_row(alarm, now) for alarm in found]
        print_table(("state", "alarm", "for", "condition", "actions"), rows)
    else:
        click.echo(f"There are no such alarms in {place.region_shown}.", err=True)


def since(alarm: Any) -> Instant:
    """When an alarm came to its state."""
    at: datetime = alarm.get("StateTransitionedTimestamp") or alarm["StateUpdatedTimestamp"]
    return round(at.timestamp() * SECOND_MS)


def _document(alarm: Any) -> dict[str, Any]:
    return {
        "name": alarm["AlarmName"],
        "arn": alarm["AlarmArn"],
        "state": alarm["StateValue"],
        "since": format_instant(since(alarm)),
        "reason": alarm.get("StateReason", ""),
        "condition": condition_of(alarm),
        "actions_enabled": alarm["ActionsEnabled"],
        "suppressed_by": alarm.get("ActionsSuppressedBy"),
    }


def _row(alarm: Any, now: Instant) -> tuple[str, ...]:
    acts = "" if alarm["ActionsEnabled"] else "disabled"
    if alarm.get("ActionsSuppressedBy"):
        acts = f"suppressed by {alarm['ActionsSuppressedBy']}"
    return alarm["StateValue"], alarm["AlarmName"], span(now - since(alarm)), condition_of(alarm), acts
