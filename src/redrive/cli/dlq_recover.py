"""`redrive dlq recover`: brings letters of passing causes back in stages, and says which need a person."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.letter_gates import WantedGates, gate_options
from redrive.cli.letter_logs import logs_option, triaged
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.cli.passing_time import time_of
from redrive.cli.reading_letters import error_shown, name_of, queue_argument, queue_url
from redrive.cli.running_letters import account_of, arn_of
from redrive.core.documents import Document
from redrive.deadletters.account import Account
from redrive.deadletters.plan import Plan, proposed, repairing
from redrive.deadletters.recovery import STAGES_S, PlanFiles, Steps
from redrive.deadletters.recovery import recover as recover_in_stages
from redrive.deadletters.repairs import find_repairs
from redrive.deadletters.sorting import Wishes
from redrive.deadletters.triage import Triage

ERROR_CHARS_MAX = 40
ESCALATED = 1


@click.command()
@queue_argument
@click.option(
    "--into", type=click.Path(file_okay=False, path_type=Path),
    help="Where the plans and the journal are written.  [default: QUEUE.recovery]",
)  # fmt: skip
@click.option("--remediate", is_flag=True, help="Do what can be repaired by itself, and be undone, before each stage.")
@gate_options
@logs_option
@json_option
@place_options
def recover(
    queue: str, into: Path | None, remediate: bool, wanted: WantedGates, with_logs: bool, as_json: bool, place: Place
) -> None:  # fmt: skip
    """Bring letters back whose causes pass by themselves, in three stages, after 60, 300 and 900 seconds.

    Each stage groups the letters anew, and sends again what is transient or throttled then, also if it has failed in an
    earlier stage. What is left is for a person: exit code 1. A recovery that was killed goes on with its last stage.
    """
    folder = into or Path(f"{name_of(queue)}.recovery")
    plans = PlanFiles(folder)

    def run(plan: Plan, number: int) -> Account:
        wishes = Wishes(stage=number, remediate=remediate)
        return account_of(place, plan, plans.file(number), plans.journal, wishes, wanted)

    steps = Steps(
        plan=lambda: _planned(place, queue, with_logs=with_logs, remediate=remediate), run=run, wait=time_of(place)[1]
    )
    if plans.has_ended(len(STAGES_S)):
        click.echo(f"The recovery in {folder} has ended; for another one name another folder: --into", err=True)
    stages = recover_in_stages(plans, steps)
    left = triaged(place, queue, with_logs=with_logs)
    _print(queue, stages, left, as_json=as_json)
    if left.count:
        sys.exit(ESCALATED)


def _planned(place: Place, queue: str, *, with_logs: bool, remediate: bool) -> Plan:
    groups = triaged(place, queue, with_logs=with_logs).groups
    plan = proposed(queue_url(place.client("sqs"), queue), groups, place.now(), logs=with_logs)
    return repairing(plan, find_repairs(place.client, arn_of(place, plan.queue), groups)) if remediate else plan


def _print(queue: str, stages: list[Document], left: Triage, *, as_json: bool) -> None:
    if wants_json(as_json):
        groups = [
            {
                "letters": group.count, "source": group.cause.source_arn, "code": group.cause.code,
                "class": group.judgement.kind.value, "advice": group.judgement.advice,
            }
            for group in left.groups
        ]  # fmt: skip
        print_json({"stages": stages, "escalated": groups})
        return
    rows = [
        (str(one["stage"]), f"{one['after_s']} s", str(one["sent"]), str(one["gated"]), one["stopped"] or "")
        for one in stages
    ]
    if rows:
        print_table(("stage", "after", "sent", "gated", "stopped"), rows, right=("stage", "after", "sent", "gated"))
    if not left.count:
        click.echo(f"No letter is left in {queue}.")
        return
    click.echo(f"\n{left.count} letters need a person:")
    causes = [
        (str(group.count), f"{group.cause.origin.value} {name_of(group.cause.source_arn)}",
         error_shown(group.cause, ERROR_CHARS_MAX), group.judgement.remedy.value)
        for group in left.groups
    ]  # fmt: skip
    print_table(("letters", "of", "error", "what to do"), causes, right=("letters",))
    click.echo(f"  What to do about each: redrive dlq runbook {queue}", err=True)
