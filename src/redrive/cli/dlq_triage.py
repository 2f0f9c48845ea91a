"""`redrive dlq triage`: the letters of a queue by cause, with the class of each cause and what to do."""

from __future__ import annotations

import click
from rich.console import Console

from redrive.cli.clients import Place, place_options
from redrive.cli.letter_logs import logs_option, triaged
from redrive.cli.output import json_option, print_json, print_table, span, wants_json
from redrive.cli.paragraphs import print_paragraph
from redrive.cli.reading_letters import error_shown, name_of, queue_argument
from redrive.core.clock import format_instant
from redrive.core.documents import Document
from redrive.deadletters.triage import Group

MESSAGE_CHARS_MAX = 70


@click.command()
@queue_argument
@click.option("-n", "--count", type=click.IntRange(min=1), help="At most so many letters.  [default: all]")
@logs_option
@json_option
@place_options
def triage(queue: str, count: int | None, with_logs: bool, as_json: bool, place: Place) -> None:
    """Group the letters of a queue by cause, and say of each cause what it is and what to do.

    Letters of one source have the same cause if code, message and the place in the code agree; ids, numbers, times and
    addresses in messages are left out of the comparison.
    """
    found = triaged(place, queue, with_logs=with_logs, count=count)
    groups = found.groups
    if wants_json(as_json):
        print_json({"letters": found.count, "groups": [_told(group) for group in groups]})
        return
    if not groups:
        click.echo(f"No letter of {queue} can be read.", err=True)
        return
    now = place.now()
    rows = [(str(number), *_row(group, now)) for number, group in enumerate(groups, 1)]
    print_table(("", "letters", "of", "error", "class", "oldest"), rows, right=("", "letters"))
    console = Console(highlight=False)
    for number, group in enumerate(groups, 1):
        print_paragraph(console, f"{group.judgement.remedy.value}: {group.judgement.advice}", first=f"{number:>2}. ")
    click.echo(f"  A letter whole: redrive dlq show {queue} {groups[0].samples[0]}{place.options}", err=True)


def _row(group: Group, now: int) -> tuple[str, ...]:
    cause = group.cause
    error = error_shown(cause, MESSAGE_CHARS_MAX)
    oldest = "" if group.first_at is None else span(now - group.first_at)
    source = f"{cause.origin.value} {name_of(cause.source_arn)}"
    return str(group.count), source, error, group.judgement.kind.value, oldest


def _told(group: Group) -> Document:
    cause, judged = group.cause, group.judgement
    return {
        "letters": group.count,
        "origin": cause.origin.value,
        "source": cause.source_arn or None,
        "code": cause.code or None,
        "cause": cause.message or None,
        "place": cause.place or None,
        "class": judged.kind.value,
        "evidence": judged.evidence,
        "remedy": judged.remedy.value,
        "advice": judged.advice,
        "first_at": None if group.first_at is None else format_instant(group.first_at),
        "last_at": None if group.last_at is None else format_instant(group.last_at),
        "attempts_max": group.attempts_max,
        "cut": group.cut,
        "samples": group.samples,
    }
