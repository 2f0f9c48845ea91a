"""Deploys one stack: creates or updates it, follows the operation to its end, and prints the result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.table import Table

from redrive.core.errors import UserError
from redrive.languages.template.places import line_of

_RESOURCE_NAMED = re.compile(r"Resource with id \[(?P<id>\w+)\]")


@dataclass(frozen=True, slots=True)
class Failure:
    """The first failure: of a resource, or of the stack itself before any resource."""

    logical_id: str
    reason: str


def deploy_stack(client: Any, template: Path, text: str, settings: Mapping[str, Any], output: str) -> None:
    """Deploy one stack and print its outputs; `text` is the template as its author wrote it.

    Errors: UserError if the stack was not deployed, with the file and line of the resource that failed first.
    """
    name = settings["StackName"]
    try:
        status = _deploy(client, name, settings)
    except (ClientError, BotoCoreError) as error:
        message = error.response["Error"]["Message"] if isinstance(error, ClientError) else str(error)
        what = f"{template} was not deployed: {message}{_place(template, text, message)}"
        raise UserError(what, exit_code=1) from error
    made = client.describe_stacks(StackName=name)["Stacks"][0]
    if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        raise _failed(client, made, template, text)
    print_stack(made, output)


def _deploy(client: Any, name: str, settings: Mapping[str, object]) -> str:
    """Create or update the stack and follow it to its end; returns its status."""
    seen = {event["EventId"] for event in _events(client, name)}
    try:
        if seen:
            client.update_stack(**settings)
        else:
            client.create_stack(**settings)
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            click.echo(f"The stack {name} is up to date.", err=True)
            return "UPDATE_COMPLETE"
        raise
    while True:
        # While the operation runs, the server holds this answer until something changes.
        status: str = client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
        for event in reversed(_events(client, name)):
            if event["EventId"] not in seen:
                seen.add(event["EventId"])
                reason = event.get("ResourceStatusReason", "")
                click.echo(f"{event['ResourceStatus']:<20} {event['LogicalResourceId']}  {reason}".rstrip(), err=True)
        if not status.endswith("_IN_PROGRESS"):
            return status


def _events(client: Any, name: str) -> list[Any]:
    """The stack's events, newest first; none if there is no such stack."""
    try:
        pages = client.get_paginator("describe_stack_events").paginate(StackName=name)
        return [event for page in pages for event in page["StackEvents"]]
    except ClientError:
        return []


def _failed(client: Any, stack: Any, template: Path, text: str) -> UserError:
    """The first failure and its reason; then the stack's final status."""
    name, status = stack["StackName"], stack["StackStatus"]
    failure = first_failure(_events(client, name), name)
    if failure is None:
        what = f"The stack {name} ended as {status}."
    else:
        subject = "The template" if failure.logical_id == name else failure.logical_id
        place = _place(template, text, failure.reason, failure.logical_id)
        what = f"{subject} failed: {failure.reason}{place}\n  The stack {name} ended as {status}."
    is_gone = status in ("ROLLBACK_COMPLETE", "CREATE_FAILED", "ROLLBACK_FAILED")
    delete = f"Delete it before you deploy anew: redrive delete {name}"
    return UserError(what, next_step=delete if is_gone else "", exit_code=1)


def first_failure(events: list[Any], name: str) -> Failure | None:
    """The first failure in the latest operation, from a stack's events, the newest first."""
    begun = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS")
    last = []
    for event in events:
        last.append(event)
        if event["LogicalResourceId"] == name and event["ResourceStatus"] in begun:
            break
    for event in reversed(last):
        status, reason = event["ResourceStatus"], event.get("ResourceStatusReason", "")
        turned = event["LogicalResourceId"] == name and "ROLLBACK_IN_PROGRESS" in status
        if (status.endswith("_FAILED") or turned) and reason:
            return Failure(event["LogicalResourceId"], reason)
    return None


def _place(template: Path, text: str, message: str, logical_id: str = "") -> str:
    """The file and line of the resource that a message names; empty if it names none."""
    named = _RESOURCE_NAMED.search(message)
    line = line_of(text, "Resources", named["id"] if named else logical_id)
    return "" if line is None else f" ({template}, line {line})"


def print_stack(stack: Any, output: str) -> None:
    """Print a stack and its outputs: a table on a terminal, full values in a pipe, or JSON."""
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}
    title = f"{stack['StackName']}: {stack['StackStatus']}"
    if output == "json":
        click.echo(
            json.dumps({"stack": stack["StackName"], "status": stack["StackStatus"], "outputs": outputs}, indent=2)
        )
        return
    console = Console()
    if not console.is_terminal:
        # A pipe has no width: each value is printed in full on its line.
        width = max(map(len, outputs), default=0)
        click.echo("\n".join([title, *(f"{key:<{width}}  {value}" for key, value in outputs.items())]))
        return
    if not outputs:
        console.print(title)
        return
    table = Table(title=title, title_justify="left")
    table.add_column("output")
    table.add_column("value", overflow="fold")
    for key, value in outputs.items():
        table.add_row(key, value)
    console.print(table)
