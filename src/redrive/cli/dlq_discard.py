"""`redrive dlq discard`: deletes the letters of a queue, or of one group of it, with a reason and an export."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.letter_logs import logs_option, triaged
from redrive.cli.output import json_option
from redrive.cli.reading_letters import queue_url
from redrive.cli.running_letters import run_plan
from redrive.core.errors import UserError
from redrive.deadletters.plan import Action, Plan, plan_document, proposed
from redrive.deadletters.run_files import read_plan_file
from redrive.deadletters.sorting import Wishes


@click.command()
@click.argument("queue_or_plan", metavar="QUEUE|PLAN")
@click.option("--group", type=click.IntRange(min=1), help="One group alone, by its number in triage or in the plan.")
@click.option("--reason", required=True, help="Why nobody needs these letters. The journal keeps the reason.")
@click.option(
    "--to-file", "file", type=click.Path(dir_okay=False, path_type=Path),
    help="Of a queue: the plan that is written.  [default: QUEUE.discard.json]",
)  # fmt: skip
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What was done, for a run that goes on.  [default: PLAN.journal]",
)
@logs_option
@json_option
@place_options
def discard(
    queue_or_plan: str, group: int | None, reason: str, file: Path | None, journal: Path | None,
    with_logs: bool, as_json: bool, place: Place,
) -> None:  # fmt: skip
    """Delete the letters of a queue, or of a group. Before a letter is deleted, it is written to a file.

    The file is PLAN.discarded.jsonl; `redrive dlq undo PLAN` brings the letters back. Letters that came after the
    groups were counted stay, if their cause is another one.
    """
    if not reason.strip():
        raise UserError("The reason is empty.", next_step="Say why nobody needs the letters.", exit_code=2)
    named = Path(queue_or_plan)
    if named.is_file():
        if group is None:
            raise UserError("A plan has groups.", next_step="Say which: --group N", exit_code=2)
        plan, file = _discarding(read_plan_file(named), group, reason, queue_or_plan), named
    else:
        file = file or Path(f"{queue_or_plan.rstrip('/').rsplit('/', 1)[-1].rsplit(':', 1)[-1]}.discard.json")
        plan = _plan_of_queue(place, queue_or_plan, group, reason, file, with_logs=with_logs)
    run_plan(place, plan, file, journal, Wishes(), as_json=as_json)


def _plan_of_queue(place: Place, queue: str, group: int | None, reason: str, file: Path, *, with_logs: bool) -> Plan:
    """Write a plan that discards the letters of a queue."""
    if file.exists():
        raise UserError(
            f"{file} exists.", next_step=f"Go on with it: redrive dlq redrive {file}; or name another: --to-file FILE",
            exit_code=2,
        )  # fmt: skip
    found = triaged(place, queue, with_logs=with_logs)
    made = proposed(queue_url(place.client("sqs"), queue), found.groups, place.now(), logs=with_logs)
    plan = _discarding(made, group, reason, queue)
    file.write_text(json.dumps(plan_document(plan), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return plan


def _discarding(plan: Plan, group: int | None, reason: str, where: str) -> Plan:
    """The plan that discards one group, or all, and leaves the rest."""
    if group is not None and group > len(plan.rules):
        raise UserError(f"{where} has {len(plan.rules)} groups, and no group {group}.", exit_code=2)
    rules = tuple(
        replace(rule, action=Action.DISCARD, reason=reason)
        if group in (None, number)
        else replace(rule, action=Action.LEAVE)
        for number, rule in enumerate(plan.rules, 1)
    )
    return replace(plan, rules=rules)
