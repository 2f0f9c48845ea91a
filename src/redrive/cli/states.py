"""`redrive states list|show|lint|redrive`: shows what executions did, and what definitions should do better."""

from __future__ import annotations

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.executions import PAGE, find_machine, list_machines, short_name
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.cli.states_lint import lint
from redrive.cli.states_redrive import redrive
from redrive.cli.states_show import show

STATUSES = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")


@click.group()
def command() -> None:
    """Show state machines and what their executions did, check definitions, and run again what failed."""


@command.command("list")
@click.argument("machine", required=False)
@click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only executions in this status.")
@click.option("-n", "--count", default=20, show_default=True, type=click.IntRange(1, PAGE), help="How many executions.")
@json_option
@place_options
def list_all(machine: str | None, status: str | None, count: int, as_json: bool, place: Place) -> None:
    """List the state machines of the region, or the executions of MACHINE (its name or ARN), the latest first."""
    if machine is None:
        _list_machines(place, as_json=as_json)
        return
    wanted = {"stateMachineArn": find_machine(place, machine), "maxResults": count}
    if status:
        wanted["statusFilter"] = status.upper()
    found = place.client("stepfunctions").list_executions(**wanted)["executions"]
    if wants_json(as_json):
        print_json({"executions": [_shown(one) for one in found]})
        return
    if not found:
        click.echo(f"{machine} has no such executions.", err=True)
        return
    rows = [
        (
            one["name"],
            one["status"],
            f"{one['startDate']:%Y-%m-%d %H:%M:%S}",
            _time(one),
            str(one.get("redriveCount", 0)),
        )
        for one in found
    ]
    print_table(("execution", "status", "began", "ended", "redrives"), rows, right=("redrives",))
    click.echo(f"  See all of one: redrive states show {short_name(found[0]['executionArn'])}{place.options}", err=True)


def _list_machines(place: Place, *, as_json: bool) -> None:
    found = list_machines(place)
    latest = {one["stateMachineArn"]: _latest(place, one) for one in found}
    if wants_json(as_json):
        told = [
            {
                "machine": one["name"], "arn": one["stateMachineArn"], "type": one["type"],
                "latest": latest[one["stateMachineArn"]] and _shown(latest[one["stateMachineArn"]]),
            }
            for one in found
        ]  # fmt: skip
        print_json({"machines": told})
        return
    if not found:
        click.echo(f"There are no state machines in {place.region_shown}.", err=True)
        return
    rows: list[tuple[str, ...]] = []
    for one in found:
        last = latest[one["stateMachineArn"]]
        rows.append((one["name"], one["type"], str(last.get("name", "–")), str(last.get("status", "–"))))
    print_table(("machine", "type", "latest execution", "its status"), rows)


def _latest(place: Place, machine: dict[str, object]) -> dict[str, object]:
    """The latest execution of a machine; empty if it has none. AWS keeps no list of express executions."""
    if machine["type"] == "EXPRESS":
        return {}
    client = place.client("stepfunctions")
    found = client.list_executions(stateMachineArn=machine["stateMachineArn"], maxResults=1)["executions"]
    return dict(found[0]) if found else {}


def _shown(execution: dict[str, object]) -> dict[str, object]:
    """An execution of a list, for programs."""
    stopped = execution.get("stopDate")
    return {
        "execution": execution["executionArn"], "name": execution["name"], "status": execution["status"],
        "began": _iso(execution["startDate"]), "ended": None if stopped is None else _iso(stopped),
        "redrives": execution.get("redriveCount", 0),
    }  # fmt: skip


def _iso(instant: object) -> str:
    return str(getattr(instant, "isoformat", lambda: instant)())


def _time(execution: dict[str, object]) -> str:
    stopped = execution.get("stopDate")
    return "–" if stopped is None else f"{stopped:%Y-%m-%d %H:%M:%S}"


command.add_command(show)
command.add_command(lint)
command.add_command(redrive)
