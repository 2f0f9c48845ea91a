"""Going on with executions: as many transitions as may share a transaction, and what follows from an end."""

from __future__ import annotations

from collections.abc import Callable

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.stepfunctions.calling import grant
from redrive.services.stepfunctions.ending import ended
from redrive.services.stepfunctions.executions import Live, exists, load, new_live, store
from redrive.services.stepfunctions.limits import EXECUTION_MS_MAX, EXPRESS_MS_MAX, TRANSITIONS_PER_STEP
from redrive.services.stepfunctions.map_runs import begin_map_run
from redrive.services.stepfunctions.model import metrics, tasks
from redrive.services.stepfunctions.model.arns import read_arn
from redrive.services.stepfunctions.model.execution import MachineExecution
from redrive.services.stepfunctions.model.leaving import fail_for_history
from redrive.services.stepfunctions.model.machine import StateMachine
from redrive.services.stepfunctions.model.position import Frame, Mode, Position
from redrive.services.stepfunctions.model.progress import ABORTED, CallWish
from redrive.services.stepfunctions.model.tokens import TaskToken, read_token
from redrive.services.stepfunctions.model.transitions import abort, advance, begin
from redrive.services.stepfunctions.telling import tell_status
from redrive.store.api import Cause, Transaction


def start(tx: Transaction, execution: MachineExecution, value: object, *, is_deferred: bool) -> Live | None:
    """Begin an execution with its input, and go on with it at once; None if its ARN exists already.

    A deferred execution goes on in another transaction: that of its caller is one of a task.
    """
    live = new_live(tx, execution, value, Position())
    limit_ms = EXPRESS_MS_MAX if execution.is_express else EXECUTION_MS_MAX
    asked_s = live.progress.compiled.machine.timeout_s
    live.progress.position.deadline = tx.now + (limit_ms if asked_s is None else min(limit_ms, asked_s * SECOND_MS))
    details: Document = {"roleArn": execution.role_arn}
    if execution.version_arn:
        details["stateMachineVersionArn"] = execution.version_arn
    if execution.alias_arn:
        details["stateMachineAliasArn"] = execution.alias_arn
    if exists(tx, execution.arn):
        return None
    begin(live.progress, value, details)
    tx.metrics.count(metrics.series_of(execution.scope, execution.machine, metrics.STARTED), tx.now)
    tell_status(tx, live)
    if is_deferred:
        store(tx, live)
    else:
        go_on(tx, live)
    return live


def go_on(tx: Transaction, live: Live) -> None:
    """Go on with an execution as far as it can, or as one transaction may, and store it."""
    before, tx.cause = tx.cause, Cause(live.execution.origin or live.execution.id, "")
    try:
        _go_on(tx, live)
    finally:
        tx.cause = before


def feed(tx: Transaction, arn: str, take: Callable[[Live], None]) -> None:
    """Let an execution take something, and leave what follows to the next transaction."""
    live = load(tx, arn)
    if live is not None:
        take(live)
        store(tx, live)


def find_task(tx: Transaction, token: str) -> tuple[Live, Frame]:
    """The execution and the frame that await the return of a token.

    Errors: InvalidToken; TaskTimedOut (the task has ended, or its execution).
    """
    named = read_token(token)
    found = awaiting(tx, named)
    if found is None:
        raise task_gone()
    return found


def awaiting(tx: Transaction, named: TaskToken) -> tuple[Live, Frame] | None:
    """The execution and the frame whose task a token names; None if nobody awaits it."""
    live = load(tx, named.arn)
    if live is None or live.execution.id != named.id:
        return None
    frame = live.progress.position.frames.get(named.frame)
    if frame is None or frame.mode is not Mode.TASK or frame.task != named.task:
        return None
    return live, frame


def task_gone() -> ServiceError:
    """The error for a token that nobody awaits."""
    return ServiceError("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")


def take_activity_task(tx: Transaction, activity: str, worker: str | None) -> Document | None:
    """Take the first task of an activity that an execution still awaits; None if there is none."""
    while (offered := tx.executions.take(activity)) is not None:
        found = awaiting(tx, read_token(offered["token"]))
        if found is None:
            continue
        live, frame = found
        tasks.started(live.progress, frame, worker)
        store(tx, live)
        return {"taskToken": offered["token"], "input": offered["input"]}
    return None


def _go_on(tx: Transaction, live: Live) -> None:
    progress = live.progress
    if _is_abandoned(tx, live):
        abort(progress, ABORTED, None, None)
    left = TRANSITIONS_PER_STEP
    while progress.is_running:
        left = advance(progress, limit=left)
        if progress.wishes:
            wish = progress.wishes.popleft()
            if isinstance(wish, CallWish):
                grant(tx, live, wish)
            else:
                begin_map_run(tx, live, wish)
        elif not progress.queue or left <= 0:
            break
    if progress.is_running and progress.is_full():
        fail_for_history(progress)
    store(tx, live)
    if not progress.is_running:
        ended(tx, live)


def _is_abandoned(tx: Transaction, live: Live) -> bool:
    """Whether the machine was deleted: its executions end at their next transition."""
    arn = read_arn(live.execution.machine, "stateMachine")
    machine = tx.resources.get(StateMachine, arn.scope, arn.name)
    return machine is None or machine.is_deleting or machine.id != live.execution.revision.partition("/")[0]
