"""Executions in a transaction: they are loaded, go on as far as they can, and are stored with their history.

Each has one timer while it waits for an instant, and none while it waits for an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.languages.states import read_definition
from redrive.languages.states.definition import Map, StateMachine
from redrive.services.stepfunctions.log_events import write_events
from redrive.services.stepfunctions.model.execution import MachineExecution, context_of, read_execution
from redrive.services.stepfunctions.model.machine import Revision
from redrive.services.stepfunctions.model.metrics import series_of_task
from redrive.services.stepfunctions.model.position import Position, read_position
from redrive.services.stepfunctions.model.progress import Compiled, Progress, compile_definition
from redrive.services.stepfunctions.model.tokens import TaskToken, write_token
from redrive.services.stepfunctions.model.transitions import load_queue
from redrive.store.api import Transaction
from redrive.store.tables.executions import ExecutionRow

EXECUTION_TIMER = "stepfunctions.execution"
"""The kind of the timers of executions. A timer's name is the execution's ARN."""

DEFINITIONS_KEPT = 256
"""The size of the cache of compiled definitions."""


@dataclass(slots=True)
class Live:
    """An execution that a step works on. `row` is None until a new execution is stored."""

    execution: MachineExecution
    revision: Revision
    progress: Progress
    row: ExecutionRow | None

    @property
    def arn(self) -> str:
        """The execution's ARN."""
        return self.execution.arn


def load(tx: Transaction, arn: str) -> Live | None:
    """The execution with this ARN, for a step that changes it; None if there is none, or it has ended."""
    tx.executions.reserve(arn)
    row = tx.executions.get(arn)
    if row is None or row.stopped_at is not None:
        return None
    return live_of(tx, row)


def live_of(tx: Transaction, row: ExecutionRow) -> Live:
    """The execution of a row, for a step that changes it."""
    execution = read_execution(row)
    position = read_position(row.position)
    live = _live(tx, execution, position, load_json(execution.input))
    live.row = row
    live.progress.last, live.progress.status = row.events, row.status
    load_queue(live.progress)
    return live


def new_live(tx: Transaction, execution: MachineExecution, value: object, position: Position) -> Live:
    """An execution that begins."""
    return _live(tx, execution, position, value)


def exists(tx: Transaction, arn: str) -> bool:
    """Whether an execution has this ARN. No other step can create one until the transaction ends."""
    tx.executions.reserve(arn)
    return tx.executions.get(arn) is not None


def store(tx: Transaction, live: Live) -> None:
    """Store an execution with its new events, and set its timer."""
    progress, execution = live.progress, live.execution
    position = progress.position
    was_due, is_new = position.timer_at, live.row is None
    position.timer_at = _due_at(progress, tx.now) if progress.is_running else None
    live.row = row_of(live, tx.now)
    if not is_new:
        tx.executions.save(live.row)
    elif not tx.executions.put(live.row):
        raise Bug(f"{live.arn} was created twice")
    if progress.events and not execution.is_express:
        tx.executions.append(execution.id, progress.last - len(progress.events) + 1, progress.events)
    if progress.events:
        write_events(tx, execution, live.revision, progress.events, position.redrives)
    progress.events = []
    _count(tx, live)
    if position.timer_at == was_due:
        return
    if position.timer_at is None:
        tx.timers.clear(EXECUTION_TIMER, execution.arn)
    else:
        tx.timers.set(EXECUTION_TIMER, execution.arn, position.timer_at)
        tx.notify("due")


def _count(tx: Transaction, live: Live) -> None:
    """Count what the step's tasks did."""
    for (resource, name, value), times in live.progress.measured.items():
        tx.metrics.count(series_of_task(live.execution.scope, resource, name), tx.now, value, times=times)
    live.progress.measured.clear()


def row_of(live: Live, now: Instant) -> ExecutionRow:
    """The row of an execution as it is now."""
    progress, execution = live.progress, live.execution
    stopped_at = None if progress.is_running else now
    position = progress.position.document()
    if live.row is not None:
        return live.row._replace(
            status=progress.status, stopped_at=stopped_at, events=progress.last, position=position
        )  # fmt: skip
    owner = execution.map_run or execution.machine
    return ExecutionRow(
        execution.arn, execution.id, owner, progress.status, execution.started_at, stopped_at, progress.last,
        execution.document(), position,
    )  # fmt: skip


def the_revision_of(tx: Transaction, scope: Scope, name: str) -> Revision:
    """The revision of an execution. Errors: Bug if it is gone."""
    found = tx.resources.get(Revision, scope, name)
    if found is None:
        raise Bug(f"revision {name} is gone, and has an execution")
    return found


@lru_cache(maxsize=DEFINITIONS_KEPT)
def compiled(definition: str) -> Compiled:
    """A definition that was checked when its machine was created."""
    return compile_definition(read_definition(definition))


@lru_cache(maxsize=DEFINITIONS_KEPT)
def compiled_processor(definition: str, state: str) -> Compiled:
    """The definition of the children of a map run: the processor of a Map."""
    whole = compiled(definition)
    found = whole.states[state]
    assert isinstance(found, Map), "map runs process the items of a Map"
    machine = StateMachine(found.processor.start_at, found.processor.states, found.processor.comment)
    return compile_definition(machine)


def _live(tx: Transaction, execution: MachineExecution, position: Position, value: object) -> Live:
    revision = the_revision_of(tx, execution.scope, execution.revision)
    definition = revision.definition
    found = compiled_processor(definition, execution.state) if execution.state else compiled(definition)
    context = context_of(execution, position, value)
    token_of = _token_maker(execution)
    progress = Progress(
        found, position, tx.now, tx.entropy, context, token_of, execution.scope.region,
        is_express=execution.is_express,
    )  # fmt: skip
    return Live(execution, revision, progress, None)


def _token_maker(execution: MachineExecution) -> Callable[[str, int], str]:
    return lambda frame, task: write_token(TaskToken(execution.arn, execution.id, frame, task))


def _due_at(progress: Progress, now: Instant) -> Instant | None:
    return now if progress.queue else progress.position.due_at
