"""Finds state machines and executions by what people type: an ARN, a name, or MACHINE/NAME."""

from __future__ import annotations

from typing import Any

from redrive.cli.clients import Place
from redrive.core.errors import UserError

PAGE = 1_000
EXPRESS_RESOURCE = "express"


def find_machine(place: Place, text: str) -> str:
    """The ARN of a state machine, by its ARN or its name. Errors: UserError."""
    if text.startswith("arn:"):
        return text
    for machine in list_machines(place):
        if machine["name"] == text:
            return str(machine["stateMachineArn"])
    raise UserError(
        f"There is no state machine {text} in {place.region_shown}.",
        next_step=f"See: redrive states list{place.options}",
    )


def list_machines(place: Place) -> list[dict[str, Any]]:
    """All state machines of the Region, by name."""
    pages = place.client("stepfunctions").get_paginator("list_state_machines").paginate()
    return sorted((one for page in pages for one in page["stateMachines"]), key=lambda one: str(one["name"]))


def find_execution(place: Place, text: str) -> str:
    """The ARN of an execution: its ARN, MACHINE/NAME, or MACHINE for its latest one. Errors: UserError."""
    if text.startswith("arn:") and text.split(":")[5:6] != ["stateMachine"]:
        if text.split(":")[5:6] == [EXPRESS_RESOURCE]:
            raise UserError(
                "An express execution has no history that could be read.",
                next_step="See what its machine logs, with the level ALL: redrive logs",
            )
        return text
    if not text.startswith("arn:") and "/" in text:
        machine, _, name = text.rpartition("/")
        return f"{find_machine(place, machine).replace(':stateMachine:', ':execution:')}:{name}"
    machine = find_machine(place, text)
    latest = place.client("stepfunctions").list_executions(stateMachineArn=machine, maxResults=1)["executions"]
    if not latest:
        raise UserError(f"The state machine {text} has no executions.", next_step="Start one with StartExecution.")
    return str(latest[0]["executionArn"])


def short_name(execution_arn: str) -> str:
    """An execution as MACHINE/NAME."""
    return execution_arn.split(":", 6)[6].replace(":", "/")
