"""`redrive dlq show`: letters of a queue, or one of them whole."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.markup import escape

from redrive.cli.clients import Place, place_options
from redrive.cli.letter_logs import Evidences, logs_option, told_evidence
from redrive.cli.output import json_option, print_json, print_table, printable, span, wants_json
from redrive.cli.reading_letters import look_at, name_of, queue_argument, shown
from redrive.core.errors import UserError
from redrive.deadletters.letter import Letter

TEXT_CHARS_MAX = 60
INDENT = 14
"""Where the texts of a letter begin that is shown whole."""

ID_CHARS = 12
"""How much of the end of a message's id tells letters apart. Here its beginning is the time."""


@click.command()
@queue_argument
@click.argument("message_id", required=False)
@click.option("-n", "--count", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@logs_option
@json_option
@place_options
def show(queue: str, message_id: str | None, count: int, with_logs: bool, as_json: bool, place: Place) -> None:
    """Show letters of a queue: who has written them, the error, and the work that was not done.

    With MESSAGE_ID, or a part of it, one letter is shown whole.
    """
    if message_id is not None:
        _show_one(place, queue, message_id, Evidences(place, queue) if with_logs else None, as_json)
        return
    with look_at(place, queue, count) as (look, depth):
        found = look.letters(count)
        letters = list(found if not with_logs else Evidences(place, queue).refined(found))
    if wants_json(as_json):
        print_json({"letters": [shown(letter) for letter in letters], "visible": depth.visible})
        return
    if not letters:
        click.echo(f"No letter of {queue} can be read.", err=True)
        return
    now = place.now()
    print_table(("letter", "age", "of", "error", "work"), [_row(letter, now) for letter in letters])
    if depth.visible > len(letters):
        click.echo(f"{depth.visible - len(letters)} more are there: -n {depth.visible}", err=True)
    click.echo(
        f"  One of them whole: redrive dlq show {queue} {letters[0].message_id[-ID_CHARS:]}{place.options}", err=True
    )


def _show_one(place: Place, queue: str, message_id: str, evidences: Evidences | None, as_json: bool) -> None:
    with look_at(place, queue) as (look, _):
        letter = next((one for one in look.letters() if message_id in one.message_id), None)
    if letter is None:
        raise UserError(
            f"{queue} has no letter {message_id} that can be read.",
            next_step=f"See them: redrive dlq show {queue}{place.options}", exit_code=2,
        )  # fmt: skip
    letter, evidence = (letter, None) if evidences is None else evidences.of(letter)
    if wants_json(as_json):
        print_json(shown(letter) | ({} if evidence is None else {"evidence": told_evidence(evidence)}))
        return
    console = Console(highlight=False)
    console.print(f"[bold]letter {escape(letter.message_id)}[/bold]")
    for name, told in _lines(letter):
        text = printable(told).replace("\n", "\n" + " " * INDENT)
        console.print(f"  {name:<12}{escape(text)}", soft_wrap=True)
    if evidence is not None:
        told = f"{evidence.log_group}, request {evidence.request_id}: {evidence.certainty.value}"
        console.print(f"  {'error from':<12}{escape(told)}", soft_wrap=True)
    if not place.is_aws:
        click.echo(
            f"  All that happened to it: redrive runs show {letter.message_id}{place.endpoint_options}", err=True
        )


def _lines(letter: Letter) -> list[tuple[str, str]]:
    """What is known of a letter, for people."""
    told, failure, work = shown(letter), letter.failure, letter.work
    batch = told["work"].get("batch")
    lines = [
        ("of", f"{letter.origin.value} {letter.source_arn}"),
        ("inside", ", in ".join(told["wraps"])),
        ("sent", told["sent_at"] or ""),
        ("received", f"{letter.received} time{'' if letter.received == 1 else 's'}"),
        ("error", ": ".join(filter(None, (failure.code, failure.message)))),
        ("ended by", failure.condition),
        ("attempts", str(failure.attempts or "")),
        *[("", line.strip()) for line in failure.trace],
        ("work", f"{work.form.value}{f', id {work.id}' if work.id else ''}"),
        ("target", work.target_arn),
        ("due", told["work"]["due_at"] or ""),
        ("records", f"{batch['count']} of {batch['shard']} from {batch['first']}" if batch else ""),
        ("cut", "its end is missing: it cannot be run again as it is" if work.is_cut else ""),
        ("", _pretty(work.text)),
    ]
    return [(name, text) for name, text in lines if text]


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _row(letter: Letter, now: int) -> tuple[str, ...]:
    age = "" if letter.sent_at is None else span(now - letter.sent_at)
    failure = letter.failure
    error = ": ".join(filter(None, (failure.code or failure.condition, failure.message)))
    work = letter.work.text if letter.work.batch is None else f"{letter.work.batch.count} records"
    return (
        letter.message_id[-ID_CHARS:],
        age,
        f"{letter.origin.value} {name_of(letter.source_arn)}",
        _cut(error),
        _cut(work),
    )


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS_MAX else f"{line[: TEXT_CHARS_MAX - 1]}…"
