"""Prints text: wrapped on a terminal, and unwrapped if a program reads it."""

from __future__ import annotations

import textwrap

from rich.console import Console
from rich.text import Text

COLUMNS_MAX = 80
"""Longer lines are hard to read, however wide a terminal is."""


def print_paragraph(console: Console, text: str, *, first: str = "", style: str = "") -> None:
    """Print a text with a hanging indent as wide as `first`."""
    told = first + text
    width = min(console.width, COLUMNS_MAX)
    if console.is_terminal and len(told) > width:
        told = textwrap.fill(
            text, width, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
        )  # fmt: skip
    console.print(Text(told, style=style), soft_wrap=True)
