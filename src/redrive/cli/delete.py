"""`redrive delete STACK`: delete a stack, and print what is left of it. The same on a server and on AWS."""

from __future__ import annotations

import difflib
import threading
from typing import Any

import click
from botocore.exceptions import ClientError

from redrive.cli.clients import Place, place_options
from redrive.cli.consent import require_consent
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.core.errors import UserError

LOOK_EVERY_S = 2.0
"""How often AWS is polled. A server holds its answer until something has changed."""

DELETED = "DELETE_COMPLETE"
KEPT = "its DeletionPolicy, or --retain, keeps it"
NOT_REACHED = "a resource that needs it remained"


@click.command()
@click.argument("stack")
@click.option(
    "--retain", multiple=True, metavar="ID", help="Keep this resource, which could not be deleted; repeatable."
)
@click.option(
    "--role-arn", help="The role with whose rights the stack is deleted; otherwise the stack's own, or yours."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask, where AWS itself is meant.")
@json_option
@place_options
def command(stack: str, retain: tuple[str, ...], role_arn: str | None, yes: bool, as_json: bool, place: Place) -> None:
    """Delete a stack and wait for its end.

    Prints what happens to each resource, then what remained and why. Exit code 1 if the stack could not be deleted.
    """
    client = place.client("cloudformation")
    found = _find(client, stack, place)
    if place.is_aws and not yes:
        require_consent(f"delete {found['StackId']} from AWS", f"redrive delete {stack}{place.options} --yes")
    seen = {event["EventId"] for event in _events(client, found["StackId"])}
    settings: dict[str, Any] = {"RetainResources": list(retain)} if retain else {}
    if role_arn is not None:
        settings["RoleARN"] = role_arn
    client.delete_stack(StackName=found["StackId"], **settings)
    status, reason, events = _follow(client, found["StackId"], seen, pause_s=LOOK_EVERY_S if place.is_aws else 0)
    remained = _remained(client, found["StackId"], status, events)
    if wants_json(as_json):
        print_json({"stack": found["StackName"], "id": found["StackId"], "status": status, "remained": remained})
    else:
        _tell(found["StackName"], status, remained)
    if status != DELETED:
        raise UserError(
            f"The stack {found['StackName']} ended as {status}. {reason}".strip(),
            next_step=_next_step(found["StackName"], remained, place), exit_code=1,
        )  # fmt: skip


def _find(client: Any, name: str, place: Place) -> Any:
    """The stack. Errors: UserError if there is none, with the names of the existing stacks."""
    try:
        return client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        pages = client.get_paginator("describe_stacks").paginate()
        names = [one["StackName"] for page in pages for one in page["Stacks"]]
        near = difflib.get_close_matches(name, names)
        step = f"Did you mean {near[0]}?" if near else f"There is: {', '.join(names)}." if names else "There is none."
        raise UserError(f"There is no stack {name} in {place.region_shown}.", next_step=step, exit_code=2) from error


def _follow(client: Any, stack_id: str, seen: set[str], *, pause_s: float) -> tuple[str, str, list[Any]]:
    """Print events until the operation has ended; returns the stack's status, the reason, and the new events."""
    events: list[Any] = []
    while True:
        stack = client.describe_stacks(StackName=stack_id)["Stacks"][0]
        for event in reversed(_events(client, stack_id)):
            if event["EventId"] not in seen:
                seen.add(event["EventId"])
                events.append(event)
                reason = event.get("ResourceStatusReason", "")
                click.echo(f"{event['ResourceStatus']:<20} {event['LogicalResourceId']}  {reason}".rstrip(), err=True)
        if not stack["StackStatus"].endswith("_IN_PROGRESS"):
            return stack["StackStatus"], stack.get("StackStatusReason", ""), events
        # A server answers after a change; AWS answers at once.
        threading.Event().wait(pause_s)


def _events(client: Any, stack_id: str) -> list[Any]:
    """The stack's events, newest first."""
    pages = client.get_paginator("describe_stack_events").paginate(StackName=stack_id)
    return [event for page in pages for event in page["StackEvents"]]


def _remained(client: Any, stack_id: str, status: str, events: list[Any]) -> list[dict[str, str]]:
    """The remaining resources of the stack, each with the reason."""
    latest = {event["LogicalResourceId"]: event for event in events if event.get("PhysicalResourceId") != stack_id}
    left = [_remnant(event, event.get("ResourceStatusReason", "")) for event in latest.values() if _is_left(event)]
    if status == DELETED:
        return left
    named = {one["resource"] for one in left}
    pages = client.get_paginator("list_stack_resources").paginate(StackName=stack_id)
    others = [one for page in pages for one in page["StackResourceSummaries"] if one["LogicalResourceId"] not in named]
    return left + [_remnant(one, NOT_REACHED) for one in others if one["ResourceStatus"] != DELETED]


def _is_left(event: Any) -> bool:
    return str(event["ResourceStatus"]) in ("DELETE_SKIPPED", "DELETE_FAILED")


def _remnant(resource: Any, reason: str) -> dict[str, str]:
    status = resource["ResourceStatus"]
    return {
        "resource": resource["LogicalResourceId"],
        "type": resource["ResourceType"],
        "id": resource.get("PhysicalResourceId", ""),
        "status": status,
        "why": reason or (KEPT if status == "DELETE_SKIPPED" else ""),
    }


def _tell(name: str, status: str, remained: list[dict[str, str]]) -> None:
    if status == DELETED:
        what = f"{len(remained)} of its resources remained:" if remained else "nothing of it remained."
        click.echo(f"The stack {name} is deleted; {what}")
    if remained:
        rows = [(one["resource"], f"{one['type']}\n{one['id']}", one["why"]) for one in remained]
        print_table(("resource", "type and id", "why it remained"), rows)


def _next_step(name: str, remained: list[dict[str, str]], place: Place) -> str:
    failed = [one["resource"] for one in remained if one["status"] == "DELETE_FAILED"]
    if not failed:
        return f"Try again: redrive delete {name}{place.options}"
    retained = " ".join(f"--retain {resource}" for resource in failed)
    return f"Mend the reason and delete it again, or leave them: redrive delete {name}{place.options} {retained}"
