"""`redrive schedules list|next|missed|trigger|show`: shows when schedules fire, and what came of it."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Column, Table

from redrive.cli.clock import output_option
from redrive.cli.endpoint import endpoint_option
from redrive.cli.surface import Attempt, Firing, GetOccurrencesAnswer, Missed, Run, Schedule, Surface

PAGE = 1_000
ATTEMPTS_AT_ENDS = (3, 2)
"""How many attempts of a long execution are shown at its beginning and at its end."""

region_option = click.option(
    "--region", envvar="AWS_DEFAULT_REGION", default="us-east-1", show_default=True, help="The region."
)


@click.group()
def command() -> None:
    """Show when schedules fire and how it went, or fire one now."""


@command.command("list")
@region_option
@endpoint_option
@output_option
def list_all(region: str, endpoint_url: str, output: str) -> None:
    """List the schedules of a region, each with its next occurrence in its own zone and in UTC."""
    found = _schedules(Surface(endpoint_url), region)
    if output == "json":
        click.echo(json.dumps(found))
        return
    if not found:
        click.echo(f"There are no schedules in {region}. Make some with: redrive deploy TEMPLATE", err=True)
        return
    table = Table("name", "group", "state", "expression and zone", Column("next, there and in UTC", no_wrap=True))
    for one in found:
        upcoming = one["next"] or Firing(local="–", utc="")
        recurrence = f"{one['expression']}\n{one['zone']}"
        table.add_row(one["name"], one["group"], one["state"], recurrence, f"{upcoming['local']}\n{upcoming['utc']}")
    Console().print(table)
    for one in found:
        _warn(one)


@command.command("next")
@click.argument("name")
@click.option("-n", "--count", default=5, show_default=True, type=click.IntRange(1, 1_000), help="How many.")
@region_option
@endpoint_option
@output_option
def show_next(name: str, count: int, region: str, endpoint_url: str, output: str) -> None:
    """Show the next occurrences of NAME (or GROUP/NAME, or an ARN) in its own zone and in UTC."""
    answer = _overview(endpoint_url, name, region, count)
    if output == "json":
        click.echo(json.dumps(answer["next"]))
        return
    schedule = answer["schedule"]
    if not answer["next"]:
        what = "it is disabled" if schedule["state"] == "DISABLED" else "its last time has passed"
        click.echo(f"{schedule['name']} will not fire: {what}.", err=True)
        click.echo(f"  See whether it has fired with: redrive schedules show {name}", err=True)
        return
    window = schedule["window_minutes"]
    note = f", each within {window} minutes from then" if window else ""
    table = Table("in its zone", "in UTC", title=f"{schedule['expression']} {schedule['zone']}{note}")
    for firing in answer["next"]:
        table.add_row(firing["local"], firing["utc"])
    Console().print(table)


@command.command()
@click.argument("name", required=False)
@region_option
@endpoint_option
@output_option
def missed(name: str | None, region: str, endpoint_url: str, output: str) -> None:
    """Show occurrences that nobody will fire, of NAME or of all schedules of the region.

    They were due while nothing ran, or while their schedule was disabled; they waited in their flexible window when it
    was changed; or they were over when it was made. What is shown reaches back 14 days.
    """
    found = _missed(Surface(endpoint_url), region, name)
    if output == "json":
        click.echo(json.dumps(found))
        return
    if not found:
        click.echo("Nothing was missed.", err=True)
        return
    table = Table(*map(_folded, ("name", "group", "occurrences", "from", "to", "why")))
    for row in found:
        table.add_row(row["name"], row["group"], row["count"], row["first"], row["last"], row["why"])
    Console().print(table)


@command.command()
@click.argument("name")
@region_option
@endpoint_option
@output_option
def trigger(name: str, region: str, endpoint_url: str, output: str) -> None:
    """Fire one occurrence of NAME now, with an execution id of its own; when it fires next stays as it is."""
    fired = Surface(endpoint_url).trigger_schedule(schedule=name, region=region)
    if output == "json":
        click.echo(json.dumps(fired))
        return
    click.echo(f"fired {fired['execution_id']} for {fired['scheduled_time']}")
    click.echo(f"  See how it goes with: redrive schedules show {name}", err=True)


@command.command()
@click.argument("name")
@click.option("-n", "--count", default=5, show_default=True, type=click.IntRange(1, 1_000), help="How many executions.")
@click.option("--all", "every", is_flag=True, help="Show all attempts of long executions.")
@region_option
@endpoint_option
@output_option
def show(name: str, count: int, every: bool, region: str, endpoint_url: str, output: str) -> None:
    """Show the latest executions of NAME with their attempts: when, what came of it, when it is tried again."""
    schedule = _overview(endpoint_url, name, region, 1)["schedule"]
    runs = Surface(endpoint_url).list_runs(source=schedule["arn"], limit=count)["runs"]
    if output == "json":
        click.echo(json.dumps({"schedule": schedule, "runs": runs}))
        return
    _warn(schedule)
    if not runs:
        upcoming = schedule["next"]
        when = f"fires next at {upcoming['local']}" if upcoming else "has not fired, and will not"
        click.echo(f"{schedule['name']} {when}.  Fire it now with: redrive schedules trigger {name}", err=True)
        return
    for run in runs:
        Console().print(_timeline(run, every=every))
    click.echo(f"  See all that happened to one of them with: redrive runs show {runs[0]['execution_id']}", err=True)


def _timeline(run: Run, *, every: bool) -> Table:
    """One execution: a row for each attempt."""
    title = f"{run['scheduled_time'] or ''} {run['execution_id'] or run['id']}: {run['state']}"
    columns = (Column("#", no_wrap=True), Column("at", no_wrap=True), _folded("error"), _folded("then"))
    table = Table(*columns, title=title.strip(), title_justify="left")
    for attempt in run["attempts"] if every else _ends(run["attempts"]):
        table.add_row(*_cells(attempt))
    return table


def _folded(heading: str) -> Column:
    """A column that wraps long words, so that nothing is cut off."""
    return Column(heading, overflow="fold")


def _ends(attempts: list[Attempt]) -> list[Attempt | None]:
    """The first and the last attempts, with None in place of the omitted ones."""
    head, tail = ATTEMPTS_AT_ENDS
    if len(attempts) <= head + tail + 1:
        return [*attempts]
    return [*attempts[:head], None, *attempts[-tail:]]


def _cells(attempt: Attempt | None) -> list[str]:
    if attempt is None:
        return ["…", "…", "(--all shows all)", ""]
    error = attempt["error"] or ""
    if attempt["message"]:
        error = f"{error}: {attempt['message']}"
    then = f"retry at {attempt['next']}" if attempt["next"] else attempt["verdict"]
    return [str(attempt["attempt"] or "–"), attempt["at"], error, then]


def _overview(endpoint_url: str, name: str, region: str, count: int) -> GetOccurrencesAnswer:
    return Surface(endpoint_url).get_occurrences(schedule=name, count=count, region=region)


def _schedules(server: Surface, region: str) -> list[Schedule]:
    """All schedules of a region."""
    page = server.list_schedules(region=region, limit=PAGE)
    found = page["schedules"]
    while page["after"] is not None:
        page = server.list_schedules(region=region, limit=PAGE, after=page["after"])
        found += page["schedules"]
    return found


def _missed(server: Surface, region: str, name: str | None) -> list[Missed]:
    """All missed occurrences of one schedule, or of a region."""
    page = server.list_missed_occurrences(schedule=name, region=region, limit=PAGE)
    found = page["missed"]
    while page["after"] is not None:
        page = server.list_missed_occurrences(schedule=name, region=region, limit=PAGE, after=page["after"])
        found += page["missed"]
    return found


def _warn(schedule: Schedule) -> None:
    for warning in schedule["warnings"]:
        click.echo(f"{schedule['name']}: {warning}", err=True)
