"""`redrive dlq check`: whether it is safe to run the letters of a queue again now, with a reason for each answer."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.letter_gates import WantedGates, gate_options
from redrive.cli.letter_logs import Evidences, logs_option
from redrive.cli.output import json_option, print_json, print_table, span, wants_json
from redrive.cli.reading_letters import clock_of, counted, error_shown, look_at, name_of, queue_argument
from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document
from redrive.deadletters.causes import Cause
from redrive.deadletters.findings import Answer, Row, Tally
from redrive.deadletters.letter import Letter
from redrive.deadletters.preflight import LETTERS_OF_BATCH, Preflight
from redrive.deadletters.triage import Group, Triage
from redrive.packaging.own_files import FOLDER

REFUSED = 4
"""The exit code if a gate refuses a letter."""

OVERRIDES = FOLDER / "overrides.jsonl"
"""Where the reasons stand for which a check passed although a gate refused."""

ERROR_CHARS_MAX = 40


@click.command()
@queue_argument
@click.option("-n", "--count", type=click.IntRange(min=1), help="At most so many letters.  [default: all]")
@click.option(
    "--override", metavar="REASON", default="", help=f"Pass although a gate refuses; {OVERRIDES} keeps the reason."
)
@gate_options
@logs_option
@json_option
@place_options
def check(
    queue: str, count: int | None, override: str, wanted: WantedGates, with_logs: bool, as_json: bool, place: Place
) -> None:  # fmt: skip
    """Say of the letters of a queue whether it is safe to run them again now, and why not.

    Each gate answers go, caution, skip (the work is done), wait or refuse. The exit code is 4 if a letter has to wait
    or is refused, unless --override says why that is well. Nothing is sent.
    """
    now = clock_of(place)
    gates = wanted.gates(place, queue, now)
    triage = Triage()
    tallies: dict[Cause, Tally] = {}
    evidences = Evidences(place, queue) if with_logs else None
    preflight = Preflight(place.client, now, gates)
    with look_at(place, queue, count) as (look, depth):
        length = depth.visible if count is None else min(count, depth.visible)
        letters = counted(look.letters(count), length, "checking")
        for batch in _batches(letters if evidences is None else evidences.refined(letters)):
            for letter, findings in zip(batch, preflight.examine(batch), strict=True):
                group = triage.add(letter)
                tallies.setdefault(group.cause, Tally()).add(letter.message_id, findings)
    if evidences is not None:
        evidences.tell()
    _print(queue, triage, tallies, as_json=as_json, place=place, now=now())
    refused = [row for tally in tallies.values() for row in tally.ordered if row.answer.refuses]
    if refused and not override.strip():
        raise click.exceptions.Exit(REFUSED)
    if refused:
        _record(queue, override, refused, now())


def _record(queue: str, reason: str, refused: list[Row], now: Instant) -> None:
    """Keep who was overridden, and why, beside the verdicts of the project."""
    gates: Counter[str] = Counter()
    for row in refused:
        gates[f"{row.gate}: {row.reason}"] += row.count
    OVERRIDES.parent.mkdir(parents=True, exist_ok=True)
    with OVERRIDES.open("a", encoding="utf-8") as out:
        told = {"at": format_instant(now), "queue": queue, "reason": reason, "letters_by_gate": gates}
        out.write(json.dumps(told, ensure_ascii=False) + "\n")
    click.echo(f"  Overridden, and recorded in {OVERRIDES}: {reason}", err=True)


def _batches(letters: Iterator[Letter]) -> Iterator[list[Letter]]:
    while batch := list(itertools.islice(letters, LETTERS_OF_BATCH)):
        yield batch


def _print(
    queue: str, triage: Triage, tallies: dict[Cause, Tally], *, as_json: bool, place: Place, now: Instant
) -> None:
    groups = triage.groups
    if wants_json(as_json):
        print_json({"letters": triage.count, "groups": [_told(group, tallies[group.cause]) for group in groups]})
        return
    if not groups:
        click.echo(f"No letter of {queue} can be read.", err=True)
        return
    answers = [answer for answer in Answer if any(answer in tally.answers for tally in tallies.values())]
    headings = ("", "letters", "of", "error", *(_word(answer) for answer in answers))
    rows = [
        (str(number), str(group.count), *_named(group), *_numbers(tallies[group.cause], answers))
        for number, group in enumerate(groups, 1)
    ]
    print_table(headings, rows, right=("", "letters", *(_word(answer) for answer in answers)))
    reasons = [
        (str(number), str(row.count), row.gate, _word(row.answer), _reason(row, now))
        for number, group in enumerate(groups, 1)
        for row in tallies[group.cause].ordered
    ]
    click.echo()
    print_table(("", "letters", "gate", "answer", "reason"), reasons, right=("", "letters"))
    click.echo(f"  With the first letters of each: redrive dlq check {queue} --json{place.options}", err=True)


def _named(group: Group) -> tuple[str, str]:
    cause = group.cause
    return f"{cause.origin.value} {name_of(cause.source_arn)}", error_shown(cause, ERROR_CHARS_MAX)


def _numbers(tally: Tally, answers: list[Answer]) -> list[str]:
    return [str(tally.answers.get(answer) or "") for answer in answers]


def _reason(row: Row, now: Instant) -> str:
    if row.until_first is None or row.until_first <= now:
        return row.reason
    return f"{row.reason} (for {span(row.until_first - now)})"


def _word(answer: Answer) -> str:
    return answer.name.lower()


def _told(group: Group, tally: Tally) -> Document:
    cause = group.cause
    return {
        "origin": cause.origin.value,
        "source": cause.source_arn or None,
        "code": cause.code or None,
        "cause": cause.message or None,
        "letters": group.count,
        "answers": {_word(answer): number for answer, number in sorted(tally.answers.items())},
        "findings": [
            {
                "gate": row.gate, "answer": _word(row.answer), "reason": row.reason, "letters": row.count,
                "until": None if row.until_first is None else format_instant(row.until_first),
                "until_last": None if row.until_last is None else format_instant(row.until_last),
                "samples": row.samples,
            }
            for row in tally.ordered
        ],
    }  # fmt: skip
