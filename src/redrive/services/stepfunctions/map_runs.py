"""Map runs in a transaction: they begin, start children as many as may run at once, and end.

A child tells its end to the map run in its own transaction. The map run does what follows in the next: it has a timer,
which is due when there is something to do.
"""

from __future__ import annotations

from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.documents import Document, load_json
from redrive.core.entropy import new_row_id, new_uuid
from redrive.core.scope import Scope
from redrive.languages.states import StatesError
from redrive.languages.states.definition import Map
from redrive.languages.states.mapping import concurrency_of, tolerance_of
from redrive.services.stepfunctions.executions import Live
from redrive.services.stepfunctions.map_items import child_inputs
from redrive.services.stepfunctions.model.arns import MACHINE, execution_arn, express_arn, map_run_arn, read_arn
from redrive.services.stepfunctions.model.execution import MachineExecution
from redrive.services.stepfunctions.model.leaving import fail
from redrive.services.stepfunctions.model.machine import MachineType
from redrive.services.stepfunctions.model.map_run import INPUTS_PER_CHUNK, MapInputs, MapRun, chunk_name
from redrive.services.stepfunctions.model.map_states import map_run_redriven, map_run_started
from redrive.services.stepfunctions.model.progress import MapRunWish
from redrive.store.api import Transaction
from redrive.store.tables.executions import ExecutionRow

MAP_RUN_TIMER = "stepfunctions.map_run"
"""The kind of the timers of map runs. A timer's name is the map run's ARN."""

EXCEEDED = "The specified tolerated failure threshold was exceeded"


def begin_map_run(tx: Transaction, live: Live, wish: MapRunWish) -> None:
    """Begin the map run of a distributed Map, or go on with the one that it has."""
    progress = live.progress
    frame, state = progress.position.frames[wish.frame], progress.compiled.states[wish.state]
    assert isinstance(state, Map), f"{wish.state} is no Map"
    if frame.map_run:
        known = the_map_run(tx, frame.map_run)
        assert known is not None, "a map run lives as long as its execution"
        run = known.redriven(tx.now, wish.task)
        map_run_redriven(progress, frame, run.name, run.redrives)
        _look(tx, run)
        return
    try:
        inputs = child_inputs(tx, live, frame, state)
        bindings = progress.bindings(frame)
        concurrency = concurrency_of(state, frame.input, bindings)
        tolerance = tolerance_of(state, frame.input, bindings)
    except StatesError as error:
        fail(progress, frame, error)
        return
    machine = read_arn(live.execution.machine, MACHINE)
    label = state.label or tx.entropy.hex(12)
    arn = map_run_arn(live.execution.scope, machine.name, label, new_uuid(tx.entropy))
    items = sum(size for _, size in inputs)
    run = MapRun(
        arn, live.arn, frame.id, wish.task, wish.state, label, tx.now, len(inputs), items, concurrency,
        state.execution_type == MachineType.EXPRESS.value, tolerance.count, tolerance.percentage,
    )  # fmt: skip
    for chunk, at in enumerate(range(0, len(inputs), INPUTS_PER_CHUNK)):
        piece = inputs[at : at + INPUTS_PER_CHUNK]
        texts, sizes = tuple(text for text, _ in piece), tuple(size for _, size in piece)
        tx.resources.put(live.execution.scope, MapInputs(chunk_name(arn, chunk), texts, sizes))
    map_run_started(progress, frame, arn, 0 if state.item_reader is not None else items)
    _look(tx, run)


def the_map_run(tx: Transaction, arn: str) -> MapRun | None:
    """The map run with this ARN, or None."""
    return tx.resources.get(MapRun, scope_of(arn), arn)


def scope_of(arn: str) -> Scope:
    """The scope of an ARN."""
    parsed = Arn.parse(arn)
    return Scope(parsed.account, parsed.region)


def child_of(tx: Transaction, parent: MachineExecution, run: MapRun, place: int) -> tuple[MachineExecution, object]:
    """The execution that processes some items of a map run, and its input."""
    text, _ = input_of(tx, run, place)
    machine = f"{read_arn(parent.machine, MACHINE).name}/{run.label}"
    name = new_uuid(tx.entropy)
    scope = parent.scope
    if run.is_express:
        arn = express_arn(scope, machine, name, new_uuid(tx.entropy))
    else:
        arn = execution_arn(scope, machine, name)
    child = MachineExecution(
        arn, new_row_id(tx.entropy, tx.now), name, scope, f"{parent.machine}/{run.label}",
        MachineType.EXPRESS if run.is_express else MachineType.STANDARD, parent.revision, parent.role_arn, text, tx.now,
        map_run=run.name, state=run.state, place=place, origin=parent.origin or parent.id,
    )  # fmt: skip
    return child, load_json(text)


def input_of(tx: Transaction, run: MapRun, place: int) -> tuple[str, int]:
    """The input of a child, as JSON, and how many items it has."""
    chunk = tx.resources.get(MapInputs, scope_of(run.name), chunk_name(run.name, place // INPUTS_PER_CHUNK))
    assert chunk is not None, "the inputs of a map run live as long as the map run"
    index = place % INPUTS_PER_CHUNK
    return chunk.inputs[index], chunk.sizes[index]


def child_ended(tx: Transaction, child: MachineExecution, status: str) -> None:
    """Count the end of a child."""
    run = the_map_run(tx, child.map_run)
    if run is None or run.stopped_at is not None:
        return
    _, size = input_of(tx, run, child.place)
    run = run.with_ended(status, size)
    if run.is_over or run.is_failing or run.begun < run.children:
        _look(tx, run)
    else:
        tx.resources.put(scope_of(run.name), run)


def end_run(tx: Transaction, run: MapRun, status: str) -> None:
    """Store the end of a map run."""
    tx.timers.clear(MAP_RUN_TIMER, run.name)
    tx.resources.put(scope_of(run.name), replace(run, status=status, stopped_at=tx.now))


def rows_of(tx: Transaction, run: MapRun) -> list[ExecutionRow]:
    """All children of a map run that were started, by their place."""
    rows = tx.executions.page(run.name, limit=run.children + 1)
    return sorted(rows, key=lambda row: int(row.document.get("place", 0)))


def result_of(row: ExecutionRow) -> Document:
    """A child as the files of a ResultWriter have it."""
    shown: Document = {
        "ExecutionArn": row.arn, "Input": row.document["input"], "Name": row.document["name"], "Status": row.status,
        "StartDate": row.started_at, "StopDate": row.stopped_at, "StateMachineArn": row.document["machine"],
    }  # fmt: skip
    given = {"Output": "output", "Error": "error", "Cause": "cause"}
    return {**shown, **{name: row.position[key] for name, key in given.items() if key in row.position}}


def _look(tx: Transaction, run: MapRun) -> None:
    """Store a map run that has something to do."""
    tx.resources.put(scope_of(run.name), run)
    tx.timers.set(MAP_RUN_TIMER, run.name, tx.now)
    tx.notify("due")
