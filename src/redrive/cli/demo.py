"""`redrive demo`: the main story on the terminal."""

from __future__ import annotations

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from redrive.core.clock import SystemClock
from redrive.core.log import LineLog
from redrive.demo.story import HOURS, Day, Story
from redrive.gateway.server import Options, running


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for scripts.")
def command(as_json: bool) -> None:
    """Run a day of scheduled work, with everything that goes wrong in it.

    A server in virtual time runs an hourly schedule into a queue and a function for 24 hours: some executions fail, one
    crashes, one is delivered twice, one ends in the dead-letter queue. Exit code 1 if anything was lost or done twice.
    """
    console = Console(stderr=True)
    with running(Options(port=0, virtual=True), LineLog(SystemClock())) as server, _progress(console) as progress:
        bar = progress.add_task("deploying", total=HOURS)
        story = Story(server.endpoint_url, server.advance, lambda text: console.print(f"  {text}"))
        day = story.tell(lambda hour: progress.update(bar, completed=hour, description=f"hour {hour}"))
    if as_json:
        click.echo(day.as_json())
    else:
        _print(day, Console())
    if day.problems:
        raise SystemExit(1)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def _print(day: Day, console: Console) -> None:
    table = Table(title="What became of a day of hourly executions", title_justify="left")
    for heading, justify in (
        ("execution id", "left"), ("scheduled time", "left"), ("status", "left"), ("attempts", "right"),
        ("messages", "right"), ("effects", "right"), ("what happened", "left"),
    ):  # fmt: skip
        table.add_column(heading, justify=justify, no_wrap=heading != "what happened")  # type: ignore[arg-type]
    for one in day.executions:
        style = "bold" if one.story else ""
        counts = (str(one.attempts), str(one.messages), str(one.effects))
        table.add_row(one.execution_id, one.scheduled_time, one.status, *counts, one.story, style=style)
    console.print(table)
    if day.problems:
        for problem in day.problems:
            console.print(f"[red]✗[/red] {problem}")
        return
    console.print(
        f"[green]✓[/green] Every execution has exactly one effect: {len(day.executions)} of {len(day.executions)}."
    )
    console.print(
        f"[green]✓[/green] Nothing is lost: {len(day.expected)} occurrences were due, {len(day.executions)} were run, "
        f"{day.queued + day.dead} messages are left in the queues."
    )
