"""`redrive metrics dashboard NAME`: draws the widgets of a dashboard, one below the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
from botocore.exceptions import ClientError

from redrive.cli.clients import Place, place_options
from redrive.cli.durations import Duration
from redrive.cli.metrics_get import draw
from redrive.cli.output import print_json, wants_json
from redrive.cli.series import Line, fitting_period_s, metric_query, output_option, read_lines
from redrive.core.clock import SECOND_MS
from redrive.core.errors import UserError

_SAME, _SAME_ALL = ".", "..."
"""In the metrics of a widget: the value above in the same place, and all values above."""


@click.command()
@click.argument("name", required=False)
@click.option("--since", type=Duration(), default="3h", show_default=True, help="How far back: 90s, 15m, 24h, 7d.")
@output_option
@place_options
def dashboard(name: str | None, since: float, output: str | None, place: Place) -> None:
    """Draw the dashboard NAME: its metrics, its texts and the states of its alarms. Without NAME, list dashboards."""
    cloudwatch = place.client("cloudwatch")
    if name is None:
        pages = cloudwatch.get_paginator("list_dashboards").paginate()
        names = [entry["DashboardName"] for page in pages for entry in page["DashboardEntries"]]
        if wants_json(output == "json"):
            print_json({"dashboards": names})
        else:
            click.echo("\n".join(names))
        return
    try:
        body = json.loads(cloudwatch.get_dashboard(DashboardName=name)["DashboardBody"])
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("ResourceNotFound", "DashboardNotFoundError"):
            raise
        step = f"List them: redrive metrics dashboard{place.options}"
        raise UserError(f"There is no dashboard {name}.", next_step=step, exit_code=2) from error
    shown = [_shown(widget, place, since) for widget in body.get("widgets", [])]
    if wants_json(output == "json"):
        print_json({"dashboard": name, "widgets": [{**one, "lines": [
            line.document for line in one["lines"]]} for one in shown]})  # fmt: skip
        return
    for one in shown:
        _print(one)


def _shown(widget: dict[str, Any], place: Place, since_s: float) -> dict[str, Any]:
    """What a widget says: its title, its series, its text or its alarms."""
    kind, properties = widget["type"], widget.get("properties", {})
    told: dict[str, Any] = {"type": kind, "title": properties.get("title", ""), "lines": []}
    if kind == "text":
        told["text"] = properties.get("markdown", "")
    elif kind == "alarm":
        told["alarms"] = _states(place, properties.get("alarms", []))
    elif kind == "metric" and properties.get("metrics"):
        period_s = int(properties.get("period") or fitting_period_s(since_s))
        end = place.now()
        queries = list(_queries(properties, period_s))
        told["lines"] = read_lines(place, queries, start=end - round(since_s * SECOND_MS), end=end, period_s=period_s)
    else:
        told["text"] = f"redrive draws no widgets of this kind ({kind}) here."
    return told


def _queries(properties: dict[str, Any], period_s: int) -> Iterator[dict[str, Any]]:
    """The queries of a widget. A row may repeat the values of the row above by dots."""
    above: list[str] = []
    for number, row in enumerate(properties["metrics"]):
        options = row[-1] if row and isinstance(row[-1], dict) else {}
        texts = [item for item in row if isinstance(item, str)]
        if texts and texts[0] == _SAME_ALL:
            texts = above[: len(above) - len(texts) + 1] + texts[1:]
        texts = [above[place] if item == _SAME and place < len(above) else item for place, item in enumerate(texts)]
        query_id = options.get("id") or f"q{number}"
        common = {"ReturnData": options.get("visible", True)}
        if "label" in options:
            common["Label"] = options["label"]
        if "expression" in options:
            yield {"Id": query_id, "Expression": options["expression"], **common}
        elif len(texts) >= 2:
            above = texts
            stat = options.get("stat") or properties.get("stat") or "Average"
            dimensions = dict(zip(texts[2::2], texts[3::2], strict=False))
            period = int(options.get("period") or period_s)
            query = metric_query(texts[0], texts[1], dimensions, stat=stat, period_s=period, query_id=query_id)
            yield {**query, **common}


def _states(place: Place, arns: list[str]) -> dict[str, str]:
    names = [arn.partition(":alarm:")[2] for arn in arns]
    types = ["MetricAlarm", "CompositeAlarm"]
    found = place.client("cloudwatch").describe_alarms(AlarmNames=names, AlarmTypes=types) if names else {}
    alarms = [*found.get("MetricAlarms", []), *found.get("CompositeAlarms", [])]
    states = {alarm["AlarmName"]: alarm["StateValue"] for alarm in alarms}
    return {name: states.get(name, "gone") for name in names}


def _print(shown: dict[str, Any]) -> None:
    if shown["title"]:
        click.echo(shown["title"])
    if "text" in shown:
        click.echo(shown["text"])
    for name, state in shown.get("alarms", {}).items():
        click.echo(f"  {state:17}  {name}")
    lines: list[Line] = shown["lines"]
    for line in lines:
        draw(line, line.label)
    click.echo("")
