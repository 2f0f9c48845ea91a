"""The operations on executions."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.entropy import new_row_id, new_uuid
from redrive.core.errors import ServiceError
from redrive.core.pages import encode_token
from redrive.core.scope import Caller
from redrive.delivery.operation import Wait, operation
from redrive.services.stepfunctions.calling import PRINCIPAL
from redrive.services.stepfunctions.definitions import shown_references
from redrive.services.stepfunctions.ending import ended
from redrive.services.stepfunctions.executions import live_of, load, store
from redrive.services.stepfunctions.limits import EXPRESS_MS_MAX, PAGE_DEFAULT, SYNC_MARGIN_MS
from redrive.services.stepfunctions.machines import Chosen, check_active, choose, read_machine_arn, the_machine
from redrive.services.stepfunctions.model.arns import EXECUTION, MAP_RUN, execution_arn, express_arn, read_arn
from redrive.services.stepfunctions.model.execution import (
    MachineExecution,
    listed_execution,
    read_execution,
    shown_execution,
    shown_sync_execution,
)
from redrive.services.stepfunctions.model.machine import MachineType
from redrive.services.stepfunctions.model.position import read_position
from redrive.services.stepfunctions.model.progress import ABORTED, RUNNING
from redrive.services.stepfunctions.model.requests import (
    check_name,
    invalid,
    no_execution,
    read_input,
    read_page,
    unsupported_type,
)
from redrive.services.stepfunctions.model.transitions import abort
from redrive.services.stepfunctions.redriving import redrive
from redrive.services.stepfunctions.running import start
from redrive.store.api import Transaction
from redrive.store.tables.executions import ExecutionRow


@operation("StartExecution")
def start_execution(
    tx: Transaction, caller: Caller, *, state_machine_arn: str, name: str | None = None, input: str | None = None,
    trace_header: str | None = None,
) -> Document:  # fmt: skip
    """Start an execution. A second start with the name and the input of one that runs answers as the first.

    Errors: InvalidArn; StateMachineDoesNotExist; StateMachineDeleting; InvalidName; InvalidExecutionInput;
    ExecutionAlreadyExists.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
    """
    arn = read_machine_arn(state_machine_arn)
    tx.services.authorize(tx, caller, "states:StartExecution", arn.machine_arn)
    if name is not None:
        check_name(name)
    chosen = choose(tx, state_machine_arn)
    check_active(chosen.machine, arn.scope)
    value = read_input(input)
    execution = new_execution(tx, caller, chosen, name, "{}" if input is None else input, trace_header)
    if start(tx, execution, value, is_deferred=caller.invoked_by == PRINCIPAL) is None:
        return _started_again(tx, execution)
    return {"executionArn": execution.arn, "startDate": execution.started_at}


@operation("StartSyncExecution")
def start_sync_execution(
    tx: Transaction, caller: Caller, *, state_machine_arn: str, name: str | None = None, input: str | None = None,
    trace_header: str | None = None, included_data: str = "ALL_DATA",
) -> Document | Wait:  # fmt: skip
    """Start an execution of an express machine, and answer at its end, also if it has failed.

    Errors: InvalidArn; StateMachineDoesNotExist; StateMachineDeleting; StateMachineTypeNotSupported; InvalidName;
    InvalidExecutionInput.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartSyncExecution.html
    """
    arn = read_machine_arn(state_machine_arn)
    tx.services.authorize(tx, caller, "states:StartSyncExecution", arn.machine_arn)
    if name is not None:
        check_name(name)
    # A request has one id, however often it is run again while it waits.
    known = express_arn(arn.scope, arn.name, name or caller.request_id, caller.request_id)
    row = tx.executions.get(known)
    with_data = included_data == "ALL_DATA"
    if row is None:
        chosen = choose(tx, state_machine_arn)
        check_active(chosen.machine, arn.scope)
        if chosen.machine.type is not MachineType.EXPRESS:
            raise unsupported_type()
        value = read_input(input)
        made = new_execution(tx, caller, chosen, name, "{}" if input is None else input, trace_header)
        execution = made._replace(arn=known, name=name or caller.request_id, is_sync=True)
        live = start(tx, execution, value, is_deferred=caller.invoked_by == PRINCIPAL)
        assert live is not None, "an execution that nobody knew has begun"
        assert live.row is not None, "an execution that has begun is stored"
        row = live.row
    if row.stopped_at is None:
        until = row.started_at + EXPRESS_MS_MAX + SYNC_MARGIN_MS
        return Wait({"executionArn": known}, (known,), until, is_under_way=True, is_of_caller=True)
    tx.executions.delete(row.arn, row.id)
    return shown_sync_execution(row, read_execution(row), read_position(row.position), with_data=with_data)


@operation("StopExecution")
def stop_execution(
    tx: Transaction, caller: Caller, *, execution_arn: str, error: str | None = None, cause: str | None = None
) -> Document:
    """Stop an execution. One that has ended stays as it is, and its end is answered.

    Errors: InvalidArn; ExecutionDoesNotExist.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StopExecution.html
    """
    tx.services.authorize(tx, caller, "states:StopExecution", execution_arn)
    row = the_row(tx, execution_arn)
    if row.stopped_at is not None:
        return {"stopDate": row.stopped_at}
    live = load(tx, row.arn)
    assert live is not None, "the row was read in this transaction"
    abort(live.progress, ABORTED, error, cause)
    store(tx, live)
    ended(tx, live)
    return {"stopDate": tx.now}


@operation("DescribeExecution")
def describe_execution(
    tx: Transaction, caller: Caller, *, execution_arn: str, included_data: str = "ALL_DATA"
) -> Document:
    """Show an execution.

    Errors: InvalidArn; ExecutionDoesNotExist.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
    """
    tx.services.authorize(tx, caller, "states:DescribeExecution", execution_arn)
    row = the_row(tx, execution_arn)
    execution, position = read_execution(row), read_position(row.position)
    return shown_execution(row, execution, position, tx.now, with_data=included_data == "ALL_DATA")


@operation("DescribeStateMachineForExecution")
def describe_state_machine_for_execution(
    tx: Transaction, caller: Caller, *, execution_arn: str, included_data: str = "ALL_DATA"
) -> Document:
    """Show the revision of the machine with which an execution runs.

    Errors: InvalidArn; ExecutionDoesNotExist.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachineForExecution.html
    """
    tx.services.authorize(tx, caller, "states:DescribeStateMachineForExecution", execution_arn)
    live = live_of(tx, the_row(tx, execution_arn))
    execution, revision = live.execution, live.revision
    shown: Document = {
        "stateMachineArn": execution.machine, "name": execution.machine_name, "definition": revision.definition,
        "roleArn": execution.role_arn, "updateDate": revision.updated_at,
        "loggingConfiguration": {"level": "OFF", "includeExecutionData": False, **revision.logging},
        "tracingConfiguration": revision.tracing or {"enabled": False}, "revisionId": revision.id,
    }  # fmt: skip
    if execution.map_run:
        shown |= {"mapRunArn": execution.map_run, "label": execution.machine_name.partition("/")[2]}
    if revision.encryption:
        shown["encryptionConfiguration"] = revision.encryption
    if included_data != "ALL_DATA":
        return {**shown, "definition": ""}
    return shown | shown_references(revision.definition)


@operation("ListExecutions")
def list_executions(
    tx: Transaction, caller: Caller, *, state_machine_arn: str | None = None, status_filter: str | None = None,
    max_results: int | None = None, next_token: str | None = None, map_run_arn: str | None = None,
    redrive_filter: str | None = None,
) -> Document:  # fmt: skip
    """List the executions of a machine, a version, an alias, or a map run, the newest first.

    Errors: InvalidArn; InvalidToken; StateMachineDoesNotExist; StateMachineTypeNotSupported; ValidationException.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html
    """
    owner, qualified = _listed(tx, caller, state_machine_arn, map_run_arn)
    asked = ("ListExecutions", owner, qualified, status_filter, redrive_filter)
    token, limit = read_page(next_token, *asked), max_results or PAGE_DEFAULT
    before = None
    if token:
        at, _, arn = token.partition(" ")
        before = (int(at), arn)
    found: list[Document] = []
    rest = ""
    while len(found) < limit:
        rows = (
            tx.executions.page(owner, limit=limit + 1, status=status_filter)
            if before is None
            else tx.executions.page(owner, limit=limit + 1, status=status_filter, before=before)
        )
        for row in rows:
            if len(found) == limit:
                rest = f"{before[0]} {before[1]}" if before else ""
                break
            before = (row.started_at, row.arn)
            shown = listed_execution(row, read_execution(row), read_position(row.position))
            if _is_wanted(shown, qualified, redrive_filter):
                found.append(shown)
        if rest or len(rows) <= limit:
            break
    answer: Document = {"executions": found}
    if rest:
        answer["nextToken"] = encode_token(rest, *asked)
    return answer


@operation("RedriveExecution")
def redrive_execution(
    tx: Transaction, caller: Caller, *, execution_arn: str, client_token: str | None = None
) -> Document:
    """Go on with an execution that has failed, was stopped, or has timed out, at the states that have not succeeded.

    Errors: InvalidArn; ExecutionDoesNotExist; ExecutionNotRedrivable.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_RedriveExecution.html
    """
    tx.services.authorize(tx, caller, "states:RedriveExecution", execution_arn)
    tx.executions.reserve(execution_arn)
    return {"redriveDate": redrive(tx, the_row(tx, execution_arn), client_token)}


def new_execution(
    tx: Transaction, caller: Caller, chosen: Chosen, name: str | None, input: str, trace: str | None,
) -> MachineExecution:  # fmt: skip
    """An execution that is about to start."""
    machine = chosen.machine
    given = name or new_uuid(tx.entropy)
    if machine.type is MachineType.EXPRESS:
        arn = express_arn(chosen.scope, machine.name, given, new_uuid(tx.entropy))
    else:
        arn = execution_arn(chosen.scope, machine.name, given)
    origin, cause = (tx.cause.execution_id, tx.cause.delivery_id) if tx.cause is not None else ("", "")
    return MachineExecution(
        arn, new_row_id(tx.entropy, tx.now), given, chosen.scope, machine.arn(chosen.scope),
        machine.type, chosen.revision.name, chosen.revision.role_arn, input, tx.now,
        chosen.version_arn, chosen.alias_arn, trace=trace or caller.trace_header, origin=origin, cause=cause,
    )  # fmt: skip


def the_row(tx: Transaction, text: str) -> ExecutionRow:
    """The execution with this ARN. Errors: InvalidArn; ExecutionDoesNotExist."""
    read_arn(text, EXECUTION)
    row = tx.executions.get(text)
    if row is None:
        raise no_execution(text)
    return row


def _started_again(tx: Transaction, execution: MachineExecution) -> Document:
    """Answer a start whose name is taken. Errors: ExecutionAlreadyExists (it has ended, or has another input)."""
    row = tx.executions.get(execution.arn)
    if row is None or row.status != RUNNING or row.document["input"] != execution.input:
        raise ServiceError("ExecutionAlreadyExists", f"Execution Already Exists: '{execution.arn}'")
    return {"executionArn": execution.arn, "startDate": row.started_at}


def _listed(tx: Transaction, caller: Caller, machine: str | None, map_run: str | None) -> tuple[str, str]:
    """Under which ARN executions are listed, and the version or alias that they must have."""
    if (machine is None) == (map_run is None):
        raise invalid("Exactly one of stateMachineArn and mapRunArn must be specified.")
    if map_run is not None:
        read_arn(map_run, MAP_RUN)
        tx.services.authorize(tx, caller, "states:ListExecutions", map_run)
        return map_run, ""
    arn = read_machine_arn(machine or "")
    tx.services.authorize(tx, caller, "states:ListExecutions", arn.machine_arn)
    if the_machine(tx, arn).type is MachineType.EXPRESS:
        raise unsupported_type()
    return arn.machine_arn, machine if arn.qualifier and machine else ""


def _is_wanted(shown: Document, qualified: str, redriven: str | None) -> bool:
    if qualified and qualified not in (shown.get("stateMachineVersionArn"), shown.get("stateMachineAliasArn")):
        return False
    return redriven is None or (redriven == "REDRIVEN") == bool(shown["redriveCount"])
