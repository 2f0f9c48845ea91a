"""`redrive metrics list`: which metrics have data."""

from __future__ import annotations

from typing import Any

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.output import print_json, print_table, wants_json
from redrive.cli.series import output_option


@click.command("list")
@click.argument("namespace", required=False)
@click.option("--name", help="Only metrics with this name.")
@output_option
@place_options
def list_metrics(namespace: str | None, name: str | None, output: str | None, place: Place) -> None:
    """List the metrics with data in the last two weeks: all, or those of NAMESPACE, such as AWS/SQS."""
    asked = {key: value for key, value in (("Namespace", namespace), ("MetricName", name)) if value is not None}
    pages = place.client("cloudwatch").get_paginator("list_metrics").paginate(**asked)
    found = [metric for page in pages for metric in page["Metrics"]]
    if wants_json(output == "json"):
        print_json({"metrics": [_document(metric) for metric in found]})
    elif found:
        rows = [(one["Namespace"], one["MetricName"], _dimensions(one)) for one in found]
        print_table(("namespace", "metric", "dimensions"), sorted(rows))
    else:
        click.echo(f"No metric{f' of {namespace}' if namespace else ''} has data in {place.region_shown}.", err=True)


def _document(metric: Any) -> dict[str, Any]:
    dimensions = {one["Name"]: one["Value"] for one in metric["Dimensions"]}
    return {"namespace": metric["Namespace"], "name": metric["MetricName"], "dimensions": dimensions}


def _dimensions(metric: Any) -> str:
    return ", ".join(f"{one['Name']}={one['Value']}" for one in metric["Dimensions"])
