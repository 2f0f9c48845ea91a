"""`redrive demo`: the main story on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from redrive.cli.examples import example_folder
from redrive.cli.paragraphs import print_paragraph
from redrive.cli.place import place_of
from redrive.cli.prove_all import print_table
from redrive.cli.verdicts import print_steps
from redrive.core.clock import SECOND_MS, SystemClock, monotonic_ms
from redrive.core.log import LineLog
from redrive.demo.mending import MENDED, PROJECT, Changes, Mending, changes_between, proofs_of
from redrive.demo.outcome import DemoResult
from redrive.demo.story import HOURS, Day, Story
from redrive.gateway.server import Options, running
from redrive.prove.whole import Provable, Row
from redrive.store.place import Place
from redrive.store.postgres.url import EXAMPLE

WIDE = 140
"""From this width on, a row fits into one line; output to a file or pipe has this width."""

CHANGE_STYLES = {"-": "red", "+": "green", " ": "dim"}
"""Colours by the first character of a line."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for scripts.")
@click.option("--store", metavar="URL", help=f"Run the day on an empty store: sqlite:DIR or {EXAMPLE}.")
def command(as_json: bool, store: str | None) -> None:
    """Find the bugs in a project, mend them, and run a day of scheduled work with everything that goes wrong in it.

    `redrive prove` finds histories in which two functions repeat their work, and none once they are mended. Then a
    server in virtual time runs an hourly schedule into a queue and a function for 24 hours: some executions fail, one
    crashes, one is delivered twice, one ends in the dead-letter queue. Exit code 1 if a bug is not found, if
    a mended function has one, or if the day loses anything or does it twice.
    """
    place = place_of(store)
    terminal = Console(quiet=as_json, highlight=False)
    page = terminal if terminal.is_terminal else Console(quiet=as_json, highlight=False, width=WIDE)
    aside = Console(stderr=True)
    mending = _mend(page, aside)
    _print_heading(page, "4. A day of scheduled work")
    outcome = DemoResult(mending, _live(aside, place))
    _print_day(outcome.day, page)
    page.print("\nNow yours: in the folder of your project, [bold]redrive prove[/bold]")
    if as_json:
        click.echo(outcome.as_json())
    if not outcome.is_ok:
        raise SystemExit(1)


def _mend(page: Console, aside: Console) -> Mending:
    """Print the bugs, the fix, and the proof of the fix, each as soon as it is known."""
    project = example_folder(PROJECT)
    _print_heading(page, "1. A project, and one command")
    print_paragraph(
        page,
        "A small shop, in SAM, as its template and its code were written: a function charges the orders of a queue, "
        "another one adds what suppliers put into a bucket to the stock, a third one is behind an API. In its folder:",
    )
    page.print("\n  [bold]redrive prove[/bold]\n")
    before = _proved(project, page, aside)
    found = next((row for row in before if row.verdict is not None and row.verdict.counterexample is not None), None)
    if found is not None and found.verdict is not None and found.verdict.counterexample is not None:
        page.print(f"\nThe history of {found.target.label}, with [bold]--function {found.target.function}[/bold]:\n")
        print_steps(page, found.verdict.counterexample)
        _print_heading(page, "2. What mends it")
        print_paragraph(page, found.verdict.counterexample.advice)
    changed = changes_between(project, project / MENDED)
    _print_changes(changed, page)
    _print_heading(page, "3. The same command, once it is mended")
    mending = Mending(before, changed, _proved(project / MENDED, page, aside))
    page.print()
    print_paragraph(
        page,
        "Searched were crashes before and after each call, lost answers, throttling, outages, duplicates at once and "
        "days later, and redrives at once and days later, one in a history: redrive prove searches up to three.",
    )
    _print_problems(mending.problems, page)
    return mending


def _proved(project: Path, page: Console, aside: Console) -> list[Row]:
    """Prove a project, and print its table."""
    with _progress(aside) as progress:
        bar = progress.add_task("", total=None)

        def follow(target: Provable) -> Callable[[int, int, int, str], None]:
            progress.update(bar, total=None, description=target.label)
            return lambda _, histories, waiting, __: progress.update(
                bar, completed=histories, total=histories + waiting
            )

        rows = proofs_of(project, follow)
    print_table(rows, page)
    return rows


def _print_changes(changed: Changes, page: Console) -> None:
    for file, lines in changed.items():
        page.print(f"\n  [bold]{escape(file)}[/bold]")
        for line in lines:
            if line:
                code = line[1:].lstrip()
                first = f"  {line[0]} {line[1 : len(line) - len(code)]}"
                print_paragraph(page, code, first=first, style=CHANGE_STYLES[line[0]])
            else:
                page.print()


def _live(aside: Console, place: Place | None) -> Day:
    """Run the day on a new server, whose store is empty."""
    with (
        running(Options(port=0, virtual=True, data=place), LineLog(SystemClock())) as server,
        _progress(aside) as progress,
    ):
        bar = progress.add_task("deploying", total=HOURS)
        story = Story(server.endpoint_url, server.advance, lambda text: print_paragraph(aside, text, first="  "))
        day = story.tell(lambda hour: progress.update(bar, completed=hour, description=f"hour {hour}"))
    aside.print()
    return day


def _progress(console: Console) -> Progress:
    """A progress bar that is erased at the end. Its clock is real: a proof sets the other clocks to virtual time."""
    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal,
        get_time=lambda: monotonic_ms() / SECOND_MS,
    )  # fmt: skip


def _print_problems(problems: Sequence[str], page: Console) -> None:
    for problem in problems:
        page.print(f"{_mark(False)} {escape(problem)}")


def _print_heading(page: Console, text: str) -> None:
    page.print(f"\n[bold]{text}[/bold]\n")


def _mark(is_good: bool) -> str:
    return "[green]✓[/green]" if is_good else "[red]✗[/red]"


def _print_day(day: Day, console: Console) -> None:
    """The day as a table. If the terminal is too narrow, the events are printed below the table."""
    is_wide = console.width >= WIDE
    table = Table(box=box.SIMPLE_HEAD, title="What became of a day of hourly executions", title_justify="left")
    table.collapse_padding = not is_wide
    for heading in ("execution id", "scheduled (UTC)" if is_wide else "UTC", "status"):
        table.add_column(heading, no_wrap=True)
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
        console.print()
    _print_sums(day, console)


def _print_sums(day: Day, console: Console) -> None:
    _print_problems(day.problems, console)
    if not day.problems:
        count = len(day.executions)
        console.print(f"{_mark(True)} Every execution has exactly one effect: {count} of {count}.")
        console.print(
            f"{_mark(True)} Nothing is lost: {len(day.expected)} were due, {count} were run, "
            f"{day.queued + day.dead} messages are left in the queues."
        )
