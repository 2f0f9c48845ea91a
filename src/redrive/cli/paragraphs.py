"""Prints text: wrapped on a terminal, and unwrapped if a program reads it."""

from __future__ import annotations

import textwrap

from rich.console import Console
from rich.text import Text

from redrive.cli.output import printable

COLUMNS_MAX = 80
"""Longer lines are hard to read, however wide a terminal is."""


def print_paragraph(console: Console, text: str, *, first: str = "", style: str = "", mark: str = "") -> None:
    """Print a text with a hanging indent as wide as `first`, which has the style `mark`."""
    told = first + printable(text)
    width = min(console.width, COLUMNS_MAX)
    if console.is_terminal and len(told) > width:
        told = textwrap.fill(
            printable(text), width, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
        )  # fmt: skip
    told_text = Text(told, style=style)
    told_text.stylize(mark, 0, len(first) if mark else 0)
    console.print(told_text, soft_wrap=True)


def print_line(console: Console, text: str, *, first: str = "", style: str = "") -> None:
    """Print a text in one line: on a terminal it is cut where the line ends."""
    width = min(console.width, COLUMNS_MAX)
    told = first + text
    if console.is_terminal and len(told) > width:
        told = told[: width - 1] + "…"
    console.print(Text(told, style=style), soft_wrap=True)
