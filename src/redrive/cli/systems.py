"""Prints what took part in the proof of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from redrive.cli.paragraphs import print_paragraph

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from rich.console import Console

OTHERS_MAX = 8
"""How many other entrances are named."""


def print_system(console: Console, system: Mapping[str, Any]) -> None:
    """Print where the event comes in, what each function does with it, and the functions that are left out."""
    console.print(f"  the event comes in by {escape(str(system['comes_in_by']))}")
    idle = [name for name, one in system["functions"].items() if not one["runs"]]
    for name, one in system["functions"].items():
        if name in idle:
            continue
        effects = ", ".join(f"{count} × {call}" for call, count in one["effects"].items())
        runs = "1 run" if one["runs"] == 1 else f"{one['runs']} runs"
        print_paragraph(console, f"{name}: {runs}, {effects or 'no effects of its own'}", first="  function ")
    if idle:
        print_paragraph(console, ", ".join(idle), first="  did not run: ")
    for name, why in system["left_out"].items():
        print_paragraph(console, f"{name}: {why}", first="  left out: ")
    others = [one["name"] for one in system["entrances"] if one["name"] != system["entrance"]]
    if others:
        more = f" and {len(others) - OTHERS_MAX} more" if len(others) > OTHERS_MAX else ""
        print_paragraph(
            console, f"{', '.join(others[:OTHERS_MAX])}{more} (--entrance NAME)", first="  other entrances: "
        )
