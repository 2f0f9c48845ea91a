"""`redrive states redrive`: runs again what has not succeeded of executions, by AWS's RedriveExecution."""

from __future__ import annotations

from typing import Any

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.executions import PAGE, find_execution, find_machine, short_name
from redrive.cli.output import json_option, print_json, wants_json
from redrive.core.errors import UserError

REFUSED = 4
UNSUCCESSFUL = ("FAILED", "TIMED_OUT", "ABORTED")


@click.command()
@click.argument("executions", nargs=-1, metavar="EXECUTION...")
@click.option("--machine", help="All executions of this machine that failed, were stopped or took too long.")
@click.option("--dry-run", is_flag=True, help="Only say which would be redriven.")
@json_option
@place_options
def redrive(executions: tuple[str, ...], machine: str | None, dry_run: bool, as_json: bool, place: Place) -> None:
    """Run again what has not succeeded of executions: states that have ended keep their results.

    EXECUTION is an ARN, MACHINE/NAME, or MACHINE for its latest execution. What AWS refuses to redrive is told with its
    reason, and the others are redriven. Exit code 4: some were refused.
    """
    if bool(executions) == bool(machine):
        raise UserError("Name executions, or a machine with --machine.", exit_code=2)
    client = place.client("stepfunctions")
    arns = (
        _of_machine(client, find_machine(place, machine))
        if machine
        else [find_execution(place, one) for one in executions]
    )
    told = [_redriven(client, arn, dry_run=dry_run) for arn in arns]
    if wants_json(as_json):
        print_json({"executions": told})
    else:
        _tell(told, dry_run=dry_run)
    if any(one["refused"] for one in told):
        raise SystemExit(REFUSED)


def _of_machine(client: Any, machine: str) -> list[str]:
    """The unsuccessful executions of a machine, the earliest first."""
    found = []
    for status in UNSUCCESSFUL:
        pages = client.get_paginator("list_executions").paginate(
            stateMachineArn=machine, statusFilter=status, PaginationConfig={"PageSize": PAGE}
        )
        found += [one for page in pages for one in page["executions"]]
    return [one["executionArn"] for one in sorted(found, key=lambda one: one["startDate"])]


def _redriven(client: Any, arn: str, *, dry_run: bool) -> dict[str, Any]:
    """Redrive one execution; what came of it.

    The token makes a request that is sent again, because its answer was lost, the same request.
    """
    shown = client.describe_execution(executionArn=arn)
    told = {"execution": arn, "was": shown["status"], "redrives": shown.get("redriveCount", 0), "refused": ""}
    if shown.get("redriveStatus") != "REDRIVABLE":
        return told | {"refused": shown.get("redriveStatusReason") or str(shown.get("redriveStatus"))}
    if not dry_run:
        token = f"{shown['name'][:40]}-{shown.get('redriveCount', 0) + 1}"
        client.redrive_execution(executionArn=arn, clientToken=token)
        told["redrives"] += 1
    return told


def _tell(told: list[dict[str, Any]], *, dry_run: bool) -> None:
    for one in told:
        name = short_name(one["execution"])
        if one["refused"]:
            click.echo(f"{name} ({one['was']}) cannot be redriven: {one['refused']}")
        else:
            click.echo(f"{name} ({one['was']}) {'would be redriven' if dry_run else 'goes on where it ended'}")
    if not told:
        click.echo("No execution has to be redriven.", err=True)
