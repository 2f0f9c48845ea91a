"""Prints a counterexample on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from redrive.cli.paragraphs import print_line, print_paragraph

if TYPE_CHECKING:
    from rich.console import Console

    from redrive.prove.tell.advice.changes.changes import Change
    from redrive.prove.tell.verdict import Counterexample


_STYLES = {"+": "green", "-": "red", "@": "dim"}


def print_steps(console: Console, found: Counterexample) -> None:
    """Print the numbered steps of its history, faults in red, each with the handler's line that it concerns."""
    width = max(len(step.at) for step in found.steps)
    for number, step in enumerate(found.steps, 1):
        begin = f"{number:>3}. {step.at:<{width}}  "
        print_paragraph(console, step.text, first=begin, style="red" if step.is_fault else "")
        if step.place is not None:
            print_line(console, step.place.told, first=" " * len(begin), style="dim")


def print_change(console: Console, change: Change) -> None:
    """Print a change of the source as a unified diff, between empty lines."""
    console.print()
    for line in change.diff.splitlines():
        style = _STYLES.get(line[:1], "") if not line.startswith(("+++", "---")) else "bold"
        console.print(Text(line, style=style), soft_wrap=True)
    console.print()
