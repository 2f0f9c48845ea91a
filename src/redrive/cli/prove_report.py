"""What is printed of one proof: the verdict with its bounds, what was assumed, and the counterexample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from redrive.cli.paragraphs import print_paragraph
from redrive.cli.systems import print_system
from redrive.cli.verdicts import print_change, print_steps

if TYPE_CHECKING:
    from redrive.prove.tell.verdict import Counterexample, Verdict

RECORDS_TOLD_MAX = 5
"""Of how many records the report shows what they say."""
EVENT_CHARS_MAX = 600
"""How much of the event is printed."""


def print_verdict(verdict: Verdict) -> None:
    """Print the report of one proof."""
    from redrive.prove.stage.trigger import record_text

    console = Console(highlight=False, soft_wrap=True)
    found = verdict.counterexample
    is_finished = verdict.bounds.is_finished
    first, mark = ("✗ ", "red") if found is not None else ("✓ ", "green") if is_finished else ("… ", "yellow")
    print_paragraph(console, f"{verdict.handler}: {verdict.sentence}", first=first, mark=mark)
    effects = ", ".join(f"{count} × {kind}" for kind, count in verdict.effects.items())
    print_paragraph(console, effects, first="  effects of a clean run: ")
    if verdict.system:
        print_system(console, verdict.system)
    print_paragraph(console, verdict.ledger or "none was recognised", first="  ledger: ")
    if verdict.randomness:
        print_paragraph(console, verdict.randomness, first="  randomness: ")
    for one in verdict.accepted:
        print_paragraph(console, str(one), first="  accepted: ")
    for one in verdict.unmet:
        print_paragraph(console, f"{one}: remove it from the baseline", first="  no longer occurs: ")
    for name, guess in verdict.assumptions.items():
        is_note = name.startswith(("misspelt ", "FunctionResponseTypes"))
        way = " (declare it with --template)" if name.startswith(("table ", "queue ", "mapping")) else ""
        print_paragraph(console, f"{name}: {guess}{way}", first=f"  {'note' if is_note else 'assumed'}: ")
    if verdict.trigger.is_direct or verdict.trigger.is_awaited:
        console.print(f"  event: {escape(_cut(verdict.bodies[0]))}")
    if verdict.trigger.is_stream:
        for number, body in enumerate(verdict.bodies[:RECORDS_TOLD_MAX], 1):
            console.print(f"  record {number}: {escape(_cut(record_text(body)))}")
    if found is not None:
        _print_story(console, found)


def _cut(text: str) -> str:
    return text if len(text) <= EVENT_CHARS_MAX else f"{text[:EVENT_CHARS_MAX]}… (--save-event FILE writes all of it)"


def _print_story(console: Console, found: Counterexample) -> None:
    console.print()
    print_paragraph(console, found.violation.sentence, style="bold")
    console.print()
    print_steps(console, found)
    console.print()
    print_paragraph(console, found.advice)
    if found.change is not None:
        print_change(console, found.change)
        print_paragraph(console, f"{found.tried} {found.change.note}".strip())
    console.print()
    print_paragraph(
        console, "This history was played again through the whole wire: signed requests, HTTP bytes, boto3's retries."
    )
