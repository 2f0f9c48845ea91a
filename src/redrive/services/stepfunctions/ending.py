"""What follows from the end of an execution: metrics, an event, and the task of another execution that awaits it."""

from __future__ import annotations

from redrive.core.documents import Document, dump_json, load_json
from redrive.services.stepfunctions.executions import Live, load, row_of, store
from redrive.services.stepfunctions.machines import delete_machine, has_running
from redrive.services.stepfunctions.map_runs import MAP_RUN_TIMER, child_ended
from redrive.services.stepfunctions.model import metrics, tasks
from redrive.services.stepfunctions.model.arns import MACHINE, read_arn
from redrive.services.stepfunctions.model.execution import shown_execution, shown_sync_execution
from redrive.services.stepfunctions.model.machine import StateMachine
from redrive.services.stepfunctions.model.position import SYNC_CALL, Mode, Parent
from redrive.services.stepfunctions.model.progress import SUCCEEDED
from redrive.services.stepfunctions.telling import tell_status
from redrive.store.api import Transaction


def ended(tx: Transaction, live: Live) -> None:
    """Do what follows from the end of an execution that was stored."""
    execution, status = live.execution, live.progress.status
    for name, value in ((metrics.OF_STATUS[status], 1.0), (metrics.TIME, float(tx.now - execution.started_at))):
        tx.metrics.count(metrics.series_of(execution.scope, execution.machine, name), tx.now, value)
    tell_status(tx, live)
    tx.notify(execution.arn)
    for frame in live.progress.position.frames.values():
        if frame.map_run:
            tx.timers.set(MAP_RUN_TIMER, frame.map_run, tx.now)
            tx.notify("due")
    parent = live.progress.position.parent
    if parent is not None:
        _answer_parent(tx, live, parent)
    if execution.map_run:
        child_ended(tx, execution, status)
    elif execution.is_express and not execution.is_sync:
        tx.executions.delete(execution.arn, execution.id)
    _finish_deletion(tx, live)


def _finish_deletion(tx: Transaction, live: Live) -> None:
    """Delete the machine if somebody wants that, and this was its last execution."""
    arn = read_arn(live.execution.machine, MACHINE)
    machine = tx.resources.get(StateMachine, arn.scope, arn.name)
    if machine is not None and machine.is_deleting and not has_running(tx, arn.scope, machine):
        delete_machine(tx, arn.scope, machine)


def answer_of_child(tx: Transaction, live: Live, *, is_parsed: bool) -> Document:
    """What a task gets that awaits the end of another execution: the answer of DescribeExecution in the SDK's names."""
    assert live.row is not None, "an execution that has ended is stored"
    shown = shown_execution(live.row, live.execution, live.progress.position, tx.now, with_data=True)
    found = {name[:1].upper() + name[1:]: value for name, value in shown.items()}
    for name in ("Input", "Output") if is_parsed else ():
        if name in found:
            found[name] = load_json(found[name])
    return found


def _answer_parent(tx: Transaction, live: Live, parent: Parent) -> None:
    """Hand the end of an execution to the task that awaits it; the parent goes on in the next transaction."""
    waiting = load(tx, parent.arn)
    if waiting is None:
        return
    frame = waiting.progress.position.frames.get(parent.frame)
    if frame is None or frame.mode is not Mode.TASK or frame.task != parent.task:
        return
    if parent.pattern == SYNC_CALL:
        shown = shown_sync_execution(row_of(live, tx.now), live.execution, live.progress.position, with_data=True)
        tasks.succeeded(waiting.progress, frame, tx.services.shown("stepfunctions", "StartSyncExecution", shown))
        tx.executions.delete(live.arn, live.execution.id)
        store(tx, waiting)
        return
    answer = answer_of_child(tx, live, is_parsed=parent.pattern == ".sync:2")
    if live.progress.status == SUCCEEDED:
        tasks.succeeded(waiting.progress, frame, answer)
    else:
        tasks.failed(waiting.progress, frame, "States.TaskFailed", dump_json(answer))
    store(tx, waiting)
