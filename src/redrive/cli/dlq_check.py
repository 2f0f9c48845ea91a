"""`redrive dlq check`: whether it is safe to run the letters of a queue again now, with a reason for each answer."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.durations import Duration
from redrive.cli.letter_logs import Evidences, logs_option, sources_of
from redrive.cli.output import json_option, print_json, print_table, span, wants_json
from redrive.cli.reading_letters import clock_of, counted, look_at, name_of, queue_argument, queue_url
from redrive.core.clock import SECOND_MS, Instant, format_instant
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.deadletters.causes import Cause
from redrive.deadletters.execution_keys import KeySource
from redrive.deadletters.findings import Answer, Row, Tally
from redrive.deadletters.letter import Letter
from redrive.deadletters.memories import POWERTOOLS_MEMORY_MS, EffectMemory, LedgerMemory, Memory, PowertoolsMemory
from redrive.deadletters.preflight import LETTERS_OF_BATCH, Gates, Preflight
from redrive.deadletters.proofs import FILE, read_proofs
from redrive.deadletters.streams import Streams
from redrive.deadletters.triage import Group, Triage
from redrive.handler.ledger import KEEP_S_DEFAULT

REFUSED = 4
"""The exit code if a gate refuses a letter."""

ERROR_CHARS_MAX = 40


@click.command()
@queue_argument
@click.option("-n", "--count", type=click.IntRange(min=1), help="At most so many letters.  [default: all]")
@click.option("--ledger", metavar="TABLE", help="The DynamoDB table of the handler's ledger.")
@click.option("--powertools", metavar="TABLE", help="The table of Powertools' idempotency; with --name.")
@click.option("--name", metavar="TEXT", help="How Powertools' ids begin: FUNCTION.MODULE.HANDLER, or the key prefix.")
@click.option("--key", metavar="JMESPATH", help="Where the key is in the work, as event_key_jmespath of Powertools.")
@click.option("--prefix", default="", metavar="TEXT", help="What the handler puts before each key in the ledger.")
@click.option("--keep", type=Duration(), help="How long rows are kept.  [default: 30d; of Powertools 1h]")
@click.option(
    "--key-memory", multiple=True, metavar="EFFECT=TIME",
    help="How long the downstream of an effect knows its keys, such as charge=24h; 24h alone: of all.",
)  # fmt: skip
@click.option("--parse", metavar="MODULE:FUNCTION", help="The handler's own parser: it gets the text of each work.")
@logs_option
@json_option
@place_options
def check(
    queue: str, count: int | None, ledger: str | None, powertools: str | None, name: str | None, key: str | None,
    prefix: str, keep: float | None, key_memory: tuple[str, ...], parse: str | None, with_logs: bool, as_json: bool,
    place: Place,
) -> None:  # fmt: skip
    """Say of the letters of a queue whether it is safe to run them again now, and why not.

    Each gate answers go, caution, skip (the work is done), wait or refuse. The exit code is 4 if a letter has to wait
    or is refused. Nothing is sent.
    """
    now = clock_of(place)
    keys = KeySource(key, prefix)
    memory = _memory(place, keys, now, ledger, powertools, name, keep, _effects(key_memory))
    gates = Gates(
        memory, None if parse is None else _parser(parse), Streams(place.client, now).finding, sources_of(place, queue),
        proofs=read_proofs(FILE), retention_ms=_retention_ms(place, queue),
    )  # fmt: skip
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
    if any(answer.refuses for tally in tallies.values() for answer in tally.answers):
        raise click.exceptions.Exit(REFUSED)


def _memory(
    place: Place, keys: KeySource, now: Callable[[], Instant], ledger: str | None, powertools: str | None,
    name: str | None, keep: float | None, effects: EffectMemory,
) -> Memory | None:  # fmt: skip
    """The ledger that the options name. Errors: UserError if they do not fit together."""
    if ledger and powertools:
        raise UserError("--ledger and --powertools are two ledgers.", next_step="Name one of them.", exit_code=2)
    if powertools:
        if not name:
            raise UserError(
                "--powertools needs --name: how its ids begin.",
                next_step="Look at an id of the table, before its #: --name FUNCTION.MODULE.HANDLER", exit_code=2,
            )  # fmt: skip
        horizon_ms = POWERTOOLS_MEMORY_MS if keep is None else round(keep * SECOND_MS)
        return PowertoolsMemory(place.client("dynamodb"), powertools, name, keys, now, horizon_ms=horizon_ms)
    if ledger:
        horizon_ms = round((KEEP_S_DEFAULT if keep is None else keep) * SECOND_MS)
        return LedgerMemory(place.client("dynamodb"), ledger, keys, now, horizon_ms=horizon_ms, effects=effects)
    if keys.is_given:
        raise UserError("--key needs a ledger.", next_step="Name its table: --ledger TABLE", exit_code=2)
    return None


def _effects(options: tuple[str, ...]) -> EffectMemory:
    """`charge=24h` for an effect, `24h` for all others."""
    by_name, usual_ms = {}, None
    for option in options:
        effect, _, text = option.rpartition("=")
        told_ms = round(Duration().convert(text, None, None) * SECOND_MS)
        if effect:
            by_name[effect] = told_ms
        else:
            usual_ms = told_ms
    return EffectMemory(by_name, usual_ms)


def _parser(place: str) -> Callable[[str], Any]:
    """The function `module:name.name`. Errors: UserError."""
    module, _, names = place.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise UserError(
            f"There is no parser {place} ({type(error).__name__}: {error}).",
            next_step="Write module:function, such as app:parse or app:Order.model_validate_json", exit_code=2,
        ) from error  # fmt: skip
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise UserError(f"{place} is no function.", next_step="Name a function of one text.", exit_code=2)
    parser: Callable[[str], Any] = found
    return parser


def _retention_ms(place: Place, queue: str) -> int:
    sqs = place.client("sqs")
    names = ["MessageRetentionPeriod"]
    told = sqs.get_queue_attributes(QueueUrl=queue_url(sqs, queue), AttributeNames=names)["Attributes"]
    return int(told[names[0]]) * SECOND_MS


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
    error = " ".join(": ".join(filter(None, (cause.code, cause.message))).split())
    short = error if len(error) <= ERROR_CHARS_MAX else f"{error[: ERROR_CHARS_MAX - 1]}…"
    return f"{cause.origin.value} {name_of(cause.source_arn)}", short


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
