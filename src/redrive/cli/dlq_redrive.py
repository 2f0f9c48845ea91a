"""`redrive dlq redrive`: runs a plan, and tells what became of the letters."""

from __future__ import annotations

from pathlib import Path

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.letter_gates import WantedGates, gate_options
from redrive.cli.output import json_option
from redrive.cli.running_letters import run_plan
from redrive.deadletters.run_files import read_plan_file
from redrive.deadletters.sorting import Wishes


@click.command()
@click.argument("plan_file", metavar="PLAN", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What was done, for a run that goes on.  [default: PLAN.journal]",
)
@click.option(
    "--override", metavar="REASON", default="", help="Send what a gate refuses; the journal keeps the reason."
)
@click.option("--resend-doubtful", is_flag=True, help="Send letters again that may have been accepted already.")
@click.option(
    "--discard-done", is_flag=True, help="Discard letters whose work the ledger knows to be done; an export keeps them."
)
@click.option("--remediate", is_flag=True, help="Do the repairs of the plan first; `redrive dlq undo` undoes them.")
@gate_options
@json_option
@place_options
def redrive(
    plan_file: Path, journal: Path | None, override: str, resend_doubtful: bool, discard_done: bool,
    remediate: bool,
    wanted: WantedGates, as_json: bool, place: Place,
) -> None:  # fmt: skip
    """Run a plan: send letters back, and delete each after it was accepted. A run that was killed goes on.

    The gates of `redrive dlq check` are asked for each letter; what they refuse, have wait or know to be done stays.
    The first letters of each group go alone, and the others follow if they do not come back. Exit code 1: the run was
    stopped, or letters need your eye; 4: a gate refused letters, which stay.
    """
    wishes = Wishes(override=override, resend_doubtful=resend_doubtful, discard_done=discard_done, remediate=remediate)
    run_plan(place, read_plan_file(plan_file), plan_file, journal, wishes, wanted, as_json=as_json)
