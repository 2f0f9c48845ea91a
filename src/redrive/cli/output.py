"""Prints the results of commands: a table on a terminal, JSON for a pipe or with `--json`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence

import click
from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from redrive.core.clock import SECOND_MS

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, as to a pipe.")


def wants_json(as_json: bool) -> bool:
    """Whether to print JSON: `--json` is set, or stdout is not a terminal."""
    return as_json or not sys.stdout.isatty()


def print_json(document: object) -> None:
    """Print a document."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


COLUMN_GAP = 3
"""How many characters of a table stand between two columns."""


def table_width() -> int:
    """How many characters a line of a table may have."""
    return Console().width


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    widths: Mapping[str, int] | None = None,
) -> None:
    """Print a table that wraps long words, so that nothing is cut off; the columns `right` are numbers.

    Columns with one of the `widths` have exactly that.
    """
    given = widths or {}
    columns = [
        Column(
            name, overflow="fold", justify="right" if name in right else "left", width=given.get(name),
            no_wrap=name in right and name not in given,
        )
        for name in headings
    ]  # fmt: skip
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(highlight=False).print(table)


def printable(text: str) -> str:
    """A text that somebody else has written, without characters that would command the terminal."""
    return _COMMANDS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters, but for the tab and the end of a line."""


def span(milliseconds: int) -> str:
    """A duration in its two largest units: 45s, 12m, 3h 5m, 2d 4h."""
    seconds = max(milliseconds, 0) // SECOND_MS
    for unit, size, below, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            return f"{whole}{unit} {rest // part}{below}" if rest // part else f"{whole}{unit}"
    return f"{seconds}s"
