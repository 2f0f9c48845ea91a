"""What tasks call: services of the engine in the execution's own transaction, functions and the like as deliveries.

A call inside the store and the transition that follows from its answer share a transaction: both happen exactly once.
What needs the outside is a delivery: it is attempted under a lease, and a late answer finds a task of another number.
"""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_row_id
from redrive.core.errors import ServiceError
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Caller, Scope
from redrive.delivery.bodies import Content
from redrive.delivery.objects import content_bytes
from redrive.delivery.operation import OutsideNeeded
from redrive.delivery.sources.roles import RoleSession
from redrive.languages.states import StatesError
from redrive.languages.states.errors import runtime_error
from redrive.languages.states.payloads import PAYLOAD_BYTES_MAX, too_large
from redrive.services.stepfunctions.executions import Live, load, store
from redrive.services.stepfunctions.limits import EXECUTION_MS_MAX
from redrive.services.stepfunctions.model import tasks
from redrive.services.stepfunctions.model.activity import Activity
from redrive.services.stepfunctions.model.arns import ACTIVITY, read_arn
from redrive.services.stepfunctions.model.http_tasks import read_request
from redrive.services.stepfunctions.model.integrations import (
    FUNCTION_ERROR,
    call_failure,
    function_failure,
    names_of,
    operation_of,
    read_payload,
    received,
    sent,
)
from redrive.services.stepfunctions.model.leaving import fail
from redrive.services.stepfunctions.model.position import SYNC_CALL, Frame, Parent
from redrive.services.stepfunctions.model.progress import CallWish
from redrive.services.stepfunctions.model.resources import Kind, Pattern, TaskResource
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import OUTSIDE, Delivery

SOURCE = "stepfunctions"
"""The `Delivery.source` of tasks that are done outside."""
PRINCIPAL = "states.amazonaws.com"

ONCE = RetryPolicy(retries_max=0, age_ms_max=EXECUTION_MS_MAX)
"""The machine's own Retry decides about failures; a delivery of a task fails for good."""


def grant(tx: Transaction, live: Live, wish: CallWish) -> None:
    """Call what a task names. What follows from the answer is done where the answer comes."""
    frame = live.progress.position.frames[wish.frame]
    try:
        match wish.resource.kind:
            case Kind.ACTIVITY:
                _offer(tx, live, frame, wish)
            case Kind.HTTP:
                read_request(
                    wish.parameters
                )  # What is wrong with them fails the execution before anything is scheduled.
                tasks.scheduled(live.progress, frame, wish)
                _promise(tx, live, wish, wish.parameters)
            case Kind.FUNCTION:
                tasks.scheduled(live.progress, frame, wish)
                _promise(tx, live, wish, {"FunctionName": wish.resource.arn, "Payload": wish.text})
            case _:
                _call(tx, live, frame, wish)
    except StatesError as error:
        fail(live.progress, frame, error)


def role_caller(tx: Transaction, live: Live, role_arn: str = "") -> Caller:
    """The caller that acts for an execution: the machine's role, or that of a task's Credentials.

    Errors: ServiceError AccessDenied.
    """
    role = role_arn or live.execution.role_arn
    session = RoleSession(role, PRINCIPAL, live.execution.id.replace("-", ""), live.execution.machine)
    return session.caller(tx, live.execution.scope.region)


def answered(
    tx: Transaction, live: Live, frame: Frame, resource: TaskResource, answer: Document, request_id: str
) -> None:
    """Take the answer of a task's call, in AWS's own spelling."""
    progress = live.progress
    names = names_of(resource)
    if names.service == "lambda" and resource.action == "invoke" and FUNCTION_ERROR in answer:
        tasks.failed(progress, frame, *function_failure(answer.get("Payload")))
        return
    if resource.kind is Kind.FUNCTION:
        tasks.succeeded(progress, frame, read_payload(answer.get("Payload")))
        return
    body = answer.get("Body")
    if isinstance(body, Content):
        if body.size > PAYLOAD_BYTES_MAX:
            error = too_large(frame.state)
            tasks.failed(progress, frame, error.error, error.cause)
            return
        answer = {**answer, "Body": content_bytes(tx, body)}
    shown = tx.services.shown(names.service, operation_of(resource), answer)
    value = received(resource, shown, request_id)
    if resource.action == "putEvents" and resource.kind is Kind.OPTIMIZED and shown.get("FailedEntryCount"):
        tasks.failed(progress, frame, "EventBridge.FailedEntry", dump_json(shown))
    elif resource.pattern is Pattern.RESPONSE:
        tasks.succeeded(progress, frame, value)
    else:
        tasks.submitted(progress, frame, value)


def refused(tx: Transaction, live: Live, frame: Frame, error: ServiceError, request_id: str) -> None:
    """Take the refusal of a task's call."""
    resource = tasks.resource_of(live.progress, frame)
    is_declared = tx.services.declares(names_of(resource).service, operation_of(resource), error.code)
    tasks.failed(live.progress, frame, *call_failure(resource, error, request_id, is_declared=is_declared))


def called(tx: Transaction, live: Live, wish: CallWish) -> Document:
    """Make a task's call now, under its role. Errors: ServiceError; OutsideNeeded; StatesError."""
    resource = wish.resource
    if resource.kind is Kind.ACTIVITY:
        raise ServiceError("ValidationException", "A task of an activity is done by its workers.")
    if resource.kind is Kind.HTTP:
        raise ServiceError("ValidationException", "redrive tests an HTTP Task with a mock only.")
    caller = role_caller(tx, live, wish.role_arn)
    if resource.kind is Kind.FUNCTION:
        params: Mapping[str, object] = {"FunctionName": resource.arn, "Payload": wish.text.encode()}
        return tx.services.call(tx, caller, "lambda", "Invoke", params)
    service, operation = names_of(resource).service, operation_of(resource)
    params = _read(tx, service, operation, sent(resource, wish.parameters), wish.text)
    return tx.services.call(tx, caller, service, operation, params)


def _offer(tx: Transaction, live: Live, frame: Frame, wish: CallWish) -> None:
    """Offer a task to the workers of an activity. Errors: StatesError (the activity is gone)."""
    arn = read_arn(wish.resource.arn, ACTIVITY)
    if tx.resources.get(Activity, arn.scope, arn.name) is None:
        raise runtime_error("The activity ARN does not exist.")
    tasks.scheduled(live.progress, frame, wish)
    tx.executions.offer(wish.resource.arn, new_row_id(tx.entropy, tx.now), {"token": wish.token, "input": wish.text})
    tx.notify(wish.resource.arn)


def _call(tx: Transaction, live: Live, frame: Frame, wish: CallWish) -> None:
    """Call an operation now, or promise the call if it needs the outside. Errors: StatesError."""
    service, operation = names_of(wish.resource).service, operation_of(wish.resource)
    params = _read(tx, service, operation, sent(wish.resource, wish.parameters), wish.text)
    tasks.scheduled(live.progress, frame, wish)
    if (service, operation) == ("lambda", "Invoke"):
        _promise(tx, live, wish, sent(wish.resource, wish.parameters))
        return
    request_id = ""
    try:
        caller = role_caller(tx, live, wish.role_arn)
        request_id = caller.request_id
        answer = tx.services.call(tx, caller, service, operation, params)
    except OutsideNeeded:
        _promise(tx, live, wish, sent(wish.resource, wish.parameters))
    except ServiceError as error:
        refused(tx, live, frame, error, request_id or new_row_id(tx.entropy, tx.now))
    else:
        if operation == "StartSyncExecution":
            _await_end(tx, live, wish, str(answer["executionArn"]), SYNC_CALL)
            return
        answered(tx, live, frame, wish.resource, answer, request_id)
        if wish.resource.pattern in (Pattern.SYNC, Pattern.SYNC_2) and "executionArn" in answer:
            _await_end(tx, live, wish, str(answer["executionArn"]), wish.resource.pattern.value)


def _await_end(tx: Transaction, live: Live, wish: CallWish, child: str, pattern: str) -> None:
    """Let the execution that a task has started answer the task at its end."""
    started = load(tx, child)
    assert started is not None, "an execution that a task starts goes on in a later transaction"
    started.progress.position.parent = Parent(live.arn, wish.frame, wish.task, pattern)
    store(tx, started)


def _read(tx: Transaction, service: str, operation: str, document: Document, text: str) -> Mapping[str, object]:
    """The parameters of a call. Errors: StatesError (a field that the operation does not have, or of a wrong type)."""
    try:
        return tx.services.read(service, operation, document)
    except ServiceError as error:
        message = f"The Parameters '{text}' could not be used to start the Task: [{error.message}]"
        raise runtime_error(message) from error


def _promise(tx: Transaction, live: Live, wish: CallWish, params: object) -> None:
    """Promise a call that is made outside."""
    execution = live.execution
    document: Document = {"execution": execution.arn, "frame": wish.frame, "task": wish.task, "params": params}
    if execution.origin:
        document["origin"] = [execution.origin, execution.cause]
    if wish.role_arn:
        document["role"] = wish.role_arn
    function = str(params.get("FunctionName", "")) if isinstance(params, dict) else ""
    target = function if function.startswith("arn:") else wish.resource.arn
    tx.deliveries.put(
        Delivery(
            id=f"{execution.id}/{wish.task}", scope=Scope(*execution.scope_parts), source=SOURCE,
            source_arn=execution.arn, target_arn=target, document=document, policy=ONCE, place=OUTSIDE,
            due_at=tx.now, first_at=tx.now, function=":".join(function.split(":")[:7]),
        )
    )  # fmt: skip
    tx.notify("due")
