"""`redrive runs list|show`: shows how deliveries went, and all events of one execution."""

from __future__ import annotations

import json
import sys

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from redrive.cli.endpoint import endpoint_option
from redrive.cli.schedules import region_option
from redrive.cli.surface import Surface
from redrive.cli.timeline import sentence

STATES = ("retrying", "delivered", "dead-lettered", "dropped", "gave-up", "missed", "returned")
"""The states of `store.tables.attempts.RunState`; the server refuses others."""


output_option = click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), help="How to print: a table to a terminal, JSON to a pipe."
)


@click.group()
def command() -> None:
    """Show how deliveries went, and all that happened to one execution."""


@command.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only runs in this state.")
@click.option("--source", metavar="ARN", help="Only runs of this schedule, function, or queue.")
@click.option("--target", metavar="ARN", help="Only runs to this target.")
@click.option("--execution", metavar="ID", help="Only runs of this execution, and batches that had messages of it.")
@click.option("--since", metavar="TIME", help="Only runs that began at this time (ISO 8601) or later.")
@click.option("--until", metavar="TIME", help="Only runs that began at this time or before.")
@click.option("-n", "--count", default=20, show_default=True, type=click.IntRange(1, 1_000), help="How many.")
@click.option("--after", metavar="PLACE", help="Go on after the list that ended with this place.")
@region_option
@endpoint_option
@output_option
def list_runs(endpoint_url: str, output: str | None, count: int, **filters: str | None) -> None:
    """List runs, the latest first: one for each delivery and each batch of messages."""
    if filters["source"] or filters["execution"]:
        del filters["region"]  # All their runs are in one region, whichever that is.
    answer = Surface(endpoint_url).list_runs(limit=count, **filters)
    if _is_json(output):
        click.echo(json.dumps(answer))
        return
    if not answer["runs"]:
        click.echo("There are no such runs. What was attempted more than 14 days ago is forgotten.", err=True)
        return
    folded = (Column(name, overflow="fold") for name in ("kind", "state", "execution", "from", "error"))
    table = Table(Column("began", no_wrap=True), *folded)
    for run in answer["runs"]:
        error = run["attempts"][-1]["error"] if run["attempts"] else None
        table.add_row(
            run["began"], run["kind"], run["state"], run["execution_id"], _name(run["source"]), error or ""
        )  # fmt: skip
    Console().print(table)
    click.echo("  See all that happened to one of them with: redrive runs show ID", err=True)
    if answer["after"]:
        click.echo(f"  See those before with: --after {answer['after']}", err=True)


@command.command()
@click.argument("id")
@endpoint_option
@output_option
def show(id: str, endpoint_url: str, output: str | None) -> None:
    """Show all that happened to one execution, in order.

    ID is its execution id, or the id of a delivery, a request or a message that belongs to it.
    """
    answer = Surface(endpoint_url).get_run(id=id)
    if _is_json(output):
        click.echo(json.dumps(answer))
        return
    console = Console(highlight=False)
    console.print(f"[bold]execution {escape(answer['execution_id'])}[/bold]")
    for event in answer["timeline"]:
        console.print(f"  {event['at']}  {escape(sentence(event))}", soft_wrap=True)


def _is_json(output: str | None) -> bool:
    return output == "json" or (output is None and not sys.stdout.isatty())


def _name(arn: str) -> str:
    """The name in an ARN, without account and region."""
    return arn.split(":", 5)[-1]
