"""The operations by which workers answer tasks: those of activities, and those that wait for a token."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.stepfunctions.executions import store
from redrive.services.stepfunctions.model import tasks
from redrive.services.stepfunctions.model.requests import read_output
from redrive.services.stepfunctions.model.tokens import read_token
from redrive.services.stepfunctions.running import find_task, go_on
from redrive.store.api import Transaction


@operation("SendTaskSuccess")
def send_task_success(tx: Transaction, caller: Caller, *, task_token: str, output: str) -> Document:
    """End a task with its output.

    Errors: InvalidToken; InvalidOutput (no JSON); TaskTimedOut (the task has ended).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html
    """
    _authorize(tx, caller, "states:SendTaskSuccess", task_token)
    value = read_output(output)
    live, frame = find_task(tx, task_token)
    tasks.succeeded(live.progress, frame, value)
    go_on(tx, live)
    return {}


@operation("SendTaskFailure")
def send_task_failure(
    tx: Transaction, caller: Caller, *, task_token: str, error: str | None = None, cause: str | None = None
) -> Document:
    """End a task with an error.

    Errors: InvalidToken; TaskTimedOut (the task has ended).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskFailure.html
    """
    _authorize(tx, caller, "states:SendTaskFailure", task_token)
    live, frame = find_task(tx, task_token)
    tasks.failed(live.progress, frame, error, cause)
    go_on(tx, live)
    return {}


@operation("SendTaskHeartbeat")
def send_task_heartbeat(tx: Transaction, caller: Caller, *, task_token: str) -> Document:
    """Say that a task is still worked on. The next heartbeat is awaited for HeartbeatSeconds from now.

    Errors: InvalidToken; TaskTimedOut (the task has ended).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskHeartbeat.html
    """
    _authorize(tx, caller, "states:SendTaskHeartbeat", task_token)
    live, frame = find_task(tx, task_token)
    tasks.beat(live.progress, frame)
    store(tx, live)
    return {}


def _authorize(tx: Transaction, caller: Caller, action: str, token: str) -> None:
    """Errors: InvalidToken; AccessDeniedException."""
    read_token(token)
    tx.services.authorize(tx, caller, action, "*")
