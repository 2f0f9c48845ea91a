"""A runbook of a queue's letters in Markdown: for each cause what it is, what to do, and the commands for that.

It is for a colleague who has not seen the queue before: a ticket, a chat, a page of a wiki.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redrive.core.clock import Instant, format_instant
from redrive.deadletters.causes import Cause, Remedy
from redrive.deadletters.letter import name_of
from redrive.deadletters.triage import Group, Triage

GROUPS_MAX = 50
"""How many causes a runbook tells, the largest first."""


def runbook(queue: str, triage: Triage, now: Instant, *, logs: bool = False, options: str = "") -> str:
    """The runbook of a queue, by its name.

    `logs` says that the triage has asked logs: the commands do so, too. `options` are further options of all commands,
    with a space before each.
    """
    return "\n".join(_lines(queue, triage, now, f"{' --logs' if logs else ''}{options}")) + "\n"


def _lines(queue: str, triage: Triage, now: Instant, options: str) -> Iterator[str]:
    groups = triage.groups
    yield f"# Dead letters in {queue}"
    yield ""
    letters = f"{triage.count} letter{'' if triage.count == 1 else 's'}"
    causes = f"{len(groups)} cause{'' if len(groups) == 1 else 's'}"
    yield f"At {format_instant(now)}: {letters} of {causes}."
    if not groups:
        return
    yield ""
    yield "| Group | Letters | Of | Error | Class | Oldest |"
    yield "|---:|---:|---|---|---|---|"
    for number, group in enumerate(groups[:GROUPS_MAX], 1):
        oldest = "" if group.first_at is None else format_instant(group.first_at)
        texts = (_of(group.cause), _error(group.cause), group.judgement.kind.value, oldest)
        yield f"| {number} | {group.count} | {' | '.join(map(_cell, texts))} |"
    if len(groups) > GROUPS_MAX:
        yield ""
        yield f"{len(groups) - GROUPS_MAX} smaller groups are not told."
    for number, group in enumerate(groups[:GROUPS_MAX], 1):
        yield from _group(queue, number, group, options)
    yield from _end(queue, groups, options)


def _group(queue: str, number: int, group: Group, options: str) -> Iterator[str]:
    judged = group.judgement
    yield ""
    yield f"## {number}. {_of(group.cause)}: {_code(group.cause)}"
    yield ""
    yield f"{judged.remedy.value.capitalize()}. {judged.advice}"
    if group.cause.place:
        yield f"It failed at `{group.cause.place}`."
    if group.cut:
        yield f"{group.cut} of these letters have lost the end of their work, and cannot be run again as they are."
    yield ""
    yield "```sh"
    yield f"redrive dlq show {queue} {group.samples[0]}{options}"
    if judged.remedy is Remedy.EXAMINE:
        yield f'redrive dlq discard {queue} --group {number} --reason "WHY"{options}   # if nobody needs them'
    yield "```"


def _end(queue: str, groups: Sequence[Group], options: str) -> Iterator[str]:
    mended = "".join(
        f" --redrive {number}" for number, group in enumerate(groups, 1) if group.judgement.remedy is Remedy.FIX
    )
    place = options.replace(" --logs", "")
    yield ""
    yield "## Bring them back"
    yield ""
    if mended:
        yield "When what has to be fixed is fixed; leave out the `--redrive` of a group that is not."
        yield ""
    yield "```sh"
    yield f"redrive dlq check {queue}{options}                  # is it safe now? add --ledger TABLE of the functions"
    yield f"redrive dlq plan {queue} --to-file plan.json{mended}{options}"
    yield f"redrive dlq redrive plan.json{place}                # the first letter of each cause goes alone"
    yield f"redrive dlq undo plan.json{place}                   # says what can be taken back"
    yield "```"


def _of(cause: Cause) -> str:
    return f"{cause.origin.value} {name_of(cause.source_arn)}".strip()


def _code(cause: Cause) -> str:
    return cause.code or cause.message or "no error"


def _error(cause: Cause) -> str:
    return " ".join(": ".join(filter(None, (cause.code, cause.message))).split()) or "no error"


def _cell(text: str) -> str:
    """A text in a table: a bar would end the cell, and `<`, `*` or `_` would be markup."""
    for mark in "\\|*_<>`[]":
        text = text.replace(mark, f"\\{mark}")
    return text
