"""Executions: what is fixed at their start, and how answers show them."""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.stepfunctions.limits import (
    BILLED_MEMORY_MB,
    BILLED_STEP_MS,
    EXECUTION_MS_MAX,
    REDRIVABLE_EVENTS_MAX,
    REDRIVABLE_MS,
    REDRIVES_LAUNCHED_AT,
)
from redrive.services.stepfunctions.model.machine import MachineType
from redrive.services.stepfunctions.model.position import Position
from redrive.services.stepfunctions.model.progress import RUNNING, SUCCEEDED, exact_instant
from redrive.store.tables.executions import ExecutionRow

REDRIVABLE = "REDRIVABLE"
NOT_REDRIVABLE = "NOT_REDRIVABLE"
REDRIVABLE_BY_MAP_RUN = "REDRIVABLE_BY_MAP_RUN"


class MachineExecution(NamedTuple):
    """What never changes about an execution. `revision` is the stored name of the machine's revision.

    `state` is the name of the Map whose items a child of a map run processes; empty for all other executions.
    `origin` is the execution, in the sense of redrive's history, that has caused this one, and `cause` its delivery.
    """

    arn: str
    id: str
    name: str
    scope: Scope
    machine: str
    type: MachineType
    revision: str
    role_arn: str
    input: str
    started_at: Instant
    version_arn: str = ""
    alias_arn: str = ""
    map_run: str = ""
    state: str = ""
    place: int = 0
    is_sync: bool = False
    trace: str = ""
    origin: str = ""
    cause: str = ""

    @property
    def is_express(self) -> bool:
        return self.type is MachineType.EXPRESS

    @property
    def machine_name(self) -> str:
        """The machine's name, with the label of a map run."""
        return self.machine.split(":", 6)[6]

    def document(self) -> Document:
        """What the row stores."""
        rest = self._asdict()
        for known in ("arn", "id", "started_at"):
            del rest[known]
        rest["scope"], rest["type"] = list(self.scope_parts), self.type.value
        return {name: value for name, value in rest.items() if value}

    @property
    def scope_parts(self) -> tuple[str, str]:
        """Account and Region."""
        return self.scope.account, self.scope.region


def read_execution(row: ExecutionRow) -> MachineExecution:
    """The execution of a row."""
    found = dict(row.document)
    found["scope"], found["type"] = Scope(*found["scope"]), MachineType(found["type"])
    return MachineExecution(arn=row.arn, id=row.id, started_at=row.started_at, **found)


def context_of(execution: MachineExecution, position: Position, value: object) -> Document:
    """The context object of an execution, without its states. `value` is the input.

    Source: https://docs.aws.amazon.com/step-functions/latest/dg/input-output-contextobject.html
    """
    found: Document = {
        "Id": execution.arn, "Input": value, "StartTime": exact_instant(execution.started_at),
        "Name": execution.name, "RoleArn": execution.role_arn,
    }  # fmt: skip
    if not execution.is_express:
        found["RedriveCount"] = position.redrives
        if position.redriven_at is not None:
            found["RedriveTime"] = exact_instant(position.redriven_at)
    return {"Execution": found, "StateMachine": {"Id": execution.machine, "Name": execution.machine_name}}


def shown_execution(
    row: ExecutionRow, execution: MachineExecution, position: Position, now: Instant, *, with_data: bool
) -> Document:
    """An execution as DescribeExecution answers it."""
    shown: Document = {
        **listed_execution(row, execution, position), "redriveCount": position.redrives,
        "inputDetails": {"included": with_data}, "outputDetails": {"included": with_data},
    }  # fmt: skip
    if with_data:
        shown["input"] = execution.input
    if with_data and position.output is not None:
        shown["output"] = position.output
    if row.status not in (RUNNING, SUCCEEDED):
        shown |= {
            name: text for name, text in (("error", position.error), ("cause", position.cause)) if text is not None
        }
    if row.status != SUCCEEDED:
        del shown["outputDetails"]
    if execution.trace:
        shown["traceHeader"] = execution.trace
    status, reason = redrive_status(row, execution, now)
    shown["redriveStatus"] = status
    if reason:
        shown["redriveStatusReason"] = reason
    return shown


def shown_sync_execution(
    row: ExecutionRow, execution: MachineExecution, position: Position, *, with_data: bool
) -> Document:
    """An express execution that has ended, as StartSyncExecution answers it."""
    assert row.stopped_at is not None, "what is answered has ended"
    billed_ms = -(-(row.stopped_at - row.started_at) // BILLED_STEP_MS) * BILLED_STEP_MS
    shown: Document = {
        "executionArn": row.arn, "stateMachineArn": execution.machine, "name": execution.name,
        "startDate": row.started_at, "stopDate": row.stopped_at, "status": row.status,
        "inputDetails": {"included": with_data}, "outputDetails": {"included": with_data},
        "billingDetails": {
            "billedDurationInMilliseconds": max(billed_ms, BILLED_STEP_MS), "billedMemoryUsedInMB": BILLED_MEMORY_MB,
        },
    }  # fmt: skip
    data = {"input": execution.input, "output": position.output} if with_data else {}
    failure = {"error": position.error, "cause": position.cause}
    given = {**data, **failure, "traceHeader": execution.trace or None}
    return {**shown, **{name: text for name, text in given.items() if text is not None}}


def listed_execution(row: ExecutionRow, execution: MachineExecution, position: Position) -> Document:
    """An execution as ListExecutions answers it."""
    shown: Document = {
        "executionArn": row.arn, "stateMachineArn": execution.machine, "name": execution.name, "status": row.status,
        "startDate": row.started_at,
    }  # fmt: skip
    if row.stopped_at is not None:
        shown["stopDate"] = row.stopped_at
    optional = {
        "mapRunArn": execution.map_run, "stateMachineVersionArn": execution.version_arn,
        "stateMachineAliasArn": execution.alias_arn,
    }  # fmt: skip
    shown |= {name: arn for name, arn in optional.items() if arn}
    shown["redriveCount"] = position.redrives
    if position.redriven_at is not None:
        shown["redriveDate"] = position.redriven_at
    return shown


def redrive_status(
    row: ExecutionRow, execution: MachineExecution, now: Instant, *, is_deleting: bool = False
) -> tuple[str, str]:
    """Whether an execution can be redriven, and AWS's reason why not.

    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
    """
    if row.status in (RUNNING, SUCCEEDED):
        return NOT_REDRIVABLE, f"Execution is {row.status} and cannot be redriven"
    assert row.stopped_at is not None, "an execution that does not run has ended"
    reasons = (
        (is_deleting, "State machine is in DELETING status"),
        (row.started_at < REDRIVES_LAUNCHED_AT, "Execution was started before the launch of RedriveExecution"),
        (row.events >= REDRIVABLE_EVENTS_MAX, "Execution history event limit exceeded"),
        (now - row.started_at > EXECUTION_MS_MAX, "Execution has exceeded the max execution time"),
        (now - row.stopped_at > REDRIVABLE_MS, "Execution redrivable period exceeded"),
    )
    for holds, reason in reasons:
        if holds:
            return NOT_REDRIVABLE, reason
    return (REDRIVABLE_BY_MAP_RUN if execution.map_run else REDRIVABLE), ""
