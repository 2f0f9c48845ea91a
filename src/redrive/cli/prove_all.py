"""Several functions proved one after the other: what is said meanwhile, and the table at the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redrive.cli.paragraphs import print_paragraph
from redrive.prove.project.packages import together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redrive.prove.whole import Row

_MARKS = {
    "counterexample": "[red]✗[/red]", "no counterexample": "[green]✓[/green]", "not finished": "[yellow]…[/yellow]",
    "changes nothing": "[dim]-[/dim]", "not proved": "[yellow]?[/yellow]", "not Python": "[dim]-[/dim]",
}  # fmt: skip
_SHORT_VERDICTS = frozenset({"counterexample", "no counterexample", "not finished"})
WIDTH_MIN = 100
"""Where the output is no terminal, the table is so wide."""


def tell_row(row: Row, number: int, count: int) -> None:
    """One line on stderr, as soon as a function is done."""
    click.echo(f"[{number}/{count}] {row.target.label}: {row.outcome.value} ({row.seconds:.1f} s)", err=True)


def print_json(rows: Sequence[Row]) -> None:
    """All rows, with the whole proof of each."""
    click.echo(json.dumps([row.document() for row in rows], indent=2, ensure_ascii=False))


def print_table(rows: Sequence[Row], page: Console | None = None) -> None:
    """The table, what was found in each function, and what to add where one could not be proved."""
    console = page or Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_MIN)
    table = Table(box=None, pad_edge=False, header_style="bold")
    what = "entrance" if any(row.target.entrance for row in rows) else "function"
    for name in ("", what, "trigger", "verdict"):
        table.add_column(name, overflow="fold")
    table.add_column("time", justify="right")
    for row in rows:
        told = row.sentence if row.outcome.value in _SHORT_VERDICTS else row.outcome.value
        table.add_row(
            _MARKS[row.outcome.value], escape(row.target.label), escape(row.trigger), escape(told),
            f"{row.seconds:.1f} s",
        )  # fmt: skip
    console.print(table)
    for row in rows:
        unmet = () if row.verdict is None else row.verdict.unmet
        for one in unmet:
            print_paragraph(
                console, f"{one}: remove it from the baseline", first=f"{row.target.label}: no longer occurs: "
            )
    for row in rows:
        if row.add or row.outcome.value not in _SHORT_VERDICTS:
            console.print(f"\n[bold]{escape(row.target.label)}[/bold]")
            _print_row(console, row)
    install = together(row.add for row in rows)
    if install:
        console.print(f"\nWhat they import, all at once: {escape(install)}", soft_wrap=True)


def _print_row(console: Console, row: Row) -> None:
    found = None if row.verdict is None else row.verdict.counterexample
    print_paragraph(console, row.sentence if found is None else found.violation.sentence, first="  ")
    if row.add:
        print_paragraph(console, row.add, first="  → ")
