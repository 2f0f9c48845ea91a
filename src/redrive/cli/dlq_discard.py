"""`redrive dlq discard`: deletes the letters of one group of a plan, with a reason and an export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.output import json_option
from redrive.cli.running_letters import read_plan_file, run_plan
from redrive.core.errors import UserError
from redrive.deadletters.plan import Action
from redrive.deadletters.sorting import Wishes


@click.command()
@click.argument("plan_file", metavar="PLAN", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--group", type=click.IntRange(min=1), required=True, help="The group, by its place in the plan.")
@click.option("--reason", required=True, help="Why nobody needs these letters. The journal keeps the reason.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What was done, for a run that goes on.  [default: PLAN.journal]",
)
@json_option
@place_options
def discard(plan_file: Path, group: int, reason: str, journal: Path | None, as_json: bool, place: Place) -> None:
    """Delete the letters of one group of a plan. Before a letter is deleted, it is written to PLAN.discarded.jsonl."""
    plan = read_plan_file(plan_file)
    if group > len(plan.rules):
        raise UserError(f"{plan_file} has {len(plan.rules)} groups, and no group {group}.", exit_code=2)
    if not reason.strip():
        raise UserError("The reason is empty.", next_step="Say why nobody needs the letters.", exit_code=2)
    rules = tuple(
        replace(rule, action=Action.DISCARD, reason=reason) if number == group else replace(rule, action=Action.LEAVE)
        for number, rule in enumerate(plan.rules, 1)
    )
    run_plan(place, replace(plan, rules=rules), plan_file, journal, Wishes(), as_json=as_json)
