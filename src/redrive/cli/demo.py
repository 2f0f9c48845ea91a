"""`redrive demo`: the main story on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from redrive.cli.paragraphs import print_paragraph
from redrive.cli.place import place_of
from redrive.cli.verdicts import print_steps
from redrive.core.clock import SECOND_MS, SystemClock, monotonic_ms
from redrive.core.log import LineLog
from redrive.demo.mending import BROKEN, FAULTS, MENDED, Mending, changes, proof_of
from redrive.demo.outcome import DemoResult
from redrive.demo.story import HOURS, Day, Story
from redrive.gateway.server import Options, running
from redrive.prove.tell.verdict import Verdict
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
    """Find the bug in a handler, mend it, and run a day of scheduled work with everything that goes wrong in it.

    `redrive prove` finds a history in which a handler loses its work, and none once the handler is mended. Then a
    server in virtual time runs an hourly schedule into a queue and a function for 24 hours: some executions fail, one
    crashes, one is delivered twice, one ends in the dead-letter queue. Exit code 1 if the bug is not found, if
    the mended handler has one, or if the day loses anything or does it twice.
    """
    place = place_of(store)
    terminal = Console(quiet=as_json, highlight=False)
    page = terminal if terminal.is_terminal else Console(quiet=as_json, highlight=False, width=WIDE)
    aside = Console(stderr=True)
    mending = _mend(page, aside)
    _print_heading(page, "4. A day of scheduled work")
    outcome = DemoResult(mending, _live(aside, place))
    _print_day(outcome.day, page)
    page.print("\nNow yours: [bold]redrive prove MODULE:HANDLER[/bold]")
    if as_json:
        click.echo(outcome.as_json())
    if not outcome.is_ok:
        raise SystemExit(1)


def _mend(page: Console, aside: Console) -> Mending:
    """Print the bug, the fix, and the proof of the fix, each as soon as it is known."""
    _print_heading(page, "1. A handler, and its bug")
    print_paragraph(
        page,
        f"{BROKEN}.py works on the messages of a schedule. It claims each execution with a conditional write, does the "
        "work, and lets go of a message whose execution is claimed already: nothing is done twice. Is anything lost?",
    )
    page.print()
    before = _proved(BROKEN, page, aside)
    found = before.counterexample
    if found is not None:
        page.print()
        print_steps(page, found)
        page.print(f"\n[bold]{escape(found.violation.sentence)}[/bold]")
    _print_heading(page, "2. What mends it")
    if found is not None:
        print_paragraph(page, found.advice)
        page.print()
    changed = changes()
    _print_changes(changed, page)
    _print_heading(page, "3. The same search, once it is mended")
    print_paragraph(
        page,
        f"Histories with up to {FAULTS} faults: crashes before and after its calls, lost answers, throttling, "
        "duplicates at once and days later, redrives at once and days later.",
    )
    page.print()
    mending = Mending(before, changed, _proved(MENDED, page, aside))
    _print_problems(mending.problems, page)
    return mending


def _proved(name: str, page: Console, aside: Console) -> Verdict:
    """Prove one of the handlers, and print the result in a line."""
    begun_ms = monotonic_ms()
    with _progress(aside) as progress:
        bar = progress.add_task("a run in which nothing goes wrong", total=None)

        def follow(faults: int, histories: int, waiting: int, _: str) -> None:
            progress.update(bar, completed=histories, total=histories + waiting, description=f"faults: {faults}")

        verdict = proof_of(name, follow)
    took_s = (monotonic_ms() - begun_ms) / SECOND_MS
    page.print(f"{_mark(verdict.counterexample is None)} {escape(verdict.sentence)} [dim]({took_s:.1f} s)[/dim]")
    return verdict


def _print_changes(changed: Sequence[str], page: Console) -> None:
    for line in changed:
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
