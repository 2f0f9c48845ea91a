"""`redrive metrics get NAMESPACE METRIC`: draws a metric."""

from __future__ import annotations

from collections.abc import Sequence

import click

from redrive.cli.charts import number, scaled
from redrive.cli.clients import Place, place_options
from redrive.cli.durations import Duration
from redrive.cli.output import print_json, wants_json
from redrive.cli.series import Line, fitting_period_s, metric_query, output_option, read_lines
from redrive.core.clock import SECOND_MS, format_instant
from redrive.core.errors import UserError


@click.command()
@click.argument("namespace")
@click.argument("metric")
@click.option("-d", "--dimension", "dimensions", multiple=True, metavar="NAME=VALUE", help="A dimension; repeatable.")
@click.option("--stat", default="Average", show_default=True, help="Sum, Maximum, p99, tm90 …; several with commas.")
@click.option("--period", type=int, help="Seconds of a point; without it, as fits the time range.")
@click.option("--since", type=Duration(), default="3h", show_default=True, help="How far back: 90s, 15m, 24h, 7d.")
@output_option
@place_options
def get(
    namespace: str, metric: str, dimensions: Sequence[str], stat: str, period: int | None, since: float,
    output: str | None, place: Place,
) -> None:  # fmt: skip
    """Draw METRIC of NAMESPACE, with exactly these dimensions, as CloudWatch keeps them."""
    named = dict(_pair(text) for text in dimensions)
    period_s = period or fitting_period_s(since)
    end = place.now()
    queries = [
        {**metric_query(namespace, metric, named, stat=one, period_s=period_s, query_id=f"q{place_of}"), "Label": one}
        for place_of, one in enumerate(stat.split(","))
    ]
    lines = read_lines(place, queries, start=end - round(since * SECOND_MS), end=end, period_s=period_s)
    if wants_json(output == "json"):
        print_json({"namespace": namespace, "metric": metric, "dimensions": named, "series": [
            line.document for line in lines
        ]})  # fmt: skip
        return
    for line in lines:
        draw(line, f"{namespace} {metric} {line.label}")
    if not any(line.points for line in lines):
        click.echo(f"See which metrics there are, with their dimensions: redrive metrics list {namespace}", err=True)


def draw(line: Line, title: str) -> None:
    """Print a series: its title, a chart, and from when to when it goes."""
    click.echo(f"{title}, by {line.period_s} s")
    for text in scaled(line.values):
        click.echo(f"  {text.rstrip()}")
    points = line.points
    if points:
        (at, latest), known = points[-1], [value for _, value in points]
        click.echo(f"  {format_instant(line.start)} … {format_instant(at)}: {len(points)} points, "
                   f"latest {number(latest)}, lowest {number(min(known))}, highest {number(max(known))}")  # fmt: skip


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UserError(f"{text} is no dimension.", next_step="Write NAME=VALUE, as QueueName=orders.", exit_code=2)
    return name, value
