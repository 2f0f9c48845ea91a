"""Executions in a transaction: they are loaded, go on as far as they can, and are stored with their history.

Each has one timer while it waits for an instant, and none while it waits for an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.languages.states import read_definition
from redrive.languages.states.definition import Map, StateMachine
from redrive.services.stepfunctions.limits import EVENTS_MAX
from redrive.services.stepfunctions.model.execution import Execution, context_of, read_execution
from redrive.services.stepfunctions.model.machine import Revision
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

    execution: Execution
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


def new_live(tx: Transaction, execution: Execution, value: Any, position: Position) -> Live:
    """An execution that begins."""
    return _live(tx, execution, position, value)


def store(tx: Transaction, live: Live) -> bool:
    """Store an execution with its new events, and set its timer. False if a new one's ARN exists already."""
    progress, execution = live.progress, live.execution
    is_over = not progress.is_running
    stopped_at = tx.now if is_over else None
    position = progress.position.document()
    first = progress.last - len(progress.events) + 1
    if live.row is None:
        owner = execution.map_run or execution.machine
        row = ExecutionRow(
            execution.arn, execution.id, owner, progress.status, execution.started_at, stopped_at, progress.last,
            execution.document(), position,
        )  # fmt: skip
        if not tx.executions.put(row):
            return False
        was_due = None
    else:
        was_due = live.row.position.get("due_at")
        row = live.row._replace(
            status=progress.status, stopped_at=stopped_at, events=progress.last, position=position
        )  # fmt: skip
    due_at = None if is_over else _due_at(progress, tx.now)
    if due_at is not None:
        position["due_at"] = due_at
    if live.row is not None:
        tx.executions.save(row)
    elif due_at is not None:
        tx.executions.save(row)
    if progress.events and not execution.is_express:
        tx.executions.append(execution.id, first, progress.events)
    progress.events = []
    if due_at is not None and due_at != was_due:
        tx.timers.set(EXECUTION_TIMER, execution.arn, due_at)
        if due_at <= tx.now:
            tx.notify("due")
    elif due_at is None and was_due is not None:
        tx.timers.clear(EXECUTION_TIMER, execution.arn)
    live.row = row
    return True


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


def _live(tx: Transaction, execution: Execution, position: Position, value: Any) -> Live:
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


def _token_maker(execution: Execution) -> Callable[[str, int], str]:
    return lambda frame, task: write_token(TaskToken(execution.arn, execution.id, frame, task))


def _due_at(progress: Progress, now: Instant) -> Instant | None:
    return now if progress.queue else progress.position.due_at


__all__ = ["EVENTS_MAX", "EXECUTION_TIMER", "Live", "compiled", "load", "new_live", "replace", "store"]
