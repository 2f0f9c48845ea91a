"""`redrive demo`: the main story on the terminal."""

from __future__ import annotations

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from redrive.core.clock import SystemClock
from redrive.core.log import LineLog
from redrive.demo.story import HOURS, Day, Story
from redrive.gateway.server import Options, running

WIDE = 140
"""From so many columns on, a row holds everything; output that goes to no terminal is that wide."""


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
        terminal = Console()
        _print(day, terminal if terminal.is_terminal else Console(width=WIDE))
    if day.problems:
        raise SystemExit(1)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def _print(day: Day, console: Console) -> None:
    """The day as a table. Where it is too narrow for all of it, what happened stands below."""
    is_wide = console.width >= WIDE
    table = Table(box=box.SIMPLE_HEAD, title="What became of a day of hourly executions", title_justify="left")
    table.add_column("execution id", no_wrap=True)
    table.add_column("scheduled (UTC)", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for heading in ("tries", "msgs", "effects"):
        table.add_column(heading, justify="right", no_wrap=True)
    if is_wide:
        table.add_column("what happened")
    for one in day.executions:
        scheduled = one.scheduled_time if is_wide else one.scheduled_time[11:16]
        cells = [one.execution_id, scheduled, one.status, str(one.attempts), str(one.messages), str(one.effects)]
        table.add_row(*cells, *([one.story] if is_wide else []), style="bold" if one.story else "")
    console.print(table)
    if not is_wide:
        for one in day.executions:
            if one.story:
                console.print(f"  {one.scheduled_time[11:16]}  {one.story}")
    _print_sums(day, console)


def _print_sums(day: Day, console: Console) -> None:
    for problem in day.problems:
        console.print(f"[red]✗[/red] {problem}")
    if not day.problems:
        count = len(day.executions)
        console.print(f"[green]✓[/green] Every execution has exactly one effect: {count} of {count}.")
        console.print(
            f"[green]✓[/green] Nothing is lost: {len(day.expected)} were due, {count} were run, "
            f"{day.queued + day.dead} messages are left in the queues."
        )
