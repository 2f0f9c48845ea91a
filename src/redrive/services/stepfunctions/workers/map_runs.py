"""The worker of map runs: starts children, lets unsuccessful ones go on, and ends runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.core.errors import Bug, Conflict, UserError
from redrive.core.log import Log
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.languages.states import StatesError
from redrive.languages.states.definition import Map
from redrive.languages.states.errors import EXCEED_TOLERATED_FAILURE_THRESHOLD
from redrive.services.stepfunctions.executions import Live, live_of, load, store
from redrive.services.stepfunctions.limits import CHILDREN_PER_CLAIM
from redrive.services.stepfunctions.map_items import write_results
from redrive.services.stepfunctions.map_runs import (
    EXCEEDED,
    MAP_RUN_TIMER,
    child_of,
    end_run,
    result_of,
    rows_of,
    scope_of,
    the_map_run,
)
from redrive.services.stepfunctions.model.map_run import MapRun
from redrive.services.stepfunctions.model.map_states import map_run_failed, map_run_succeeded
from redrive.services.stepfunctions.model.position import Frame, Mode
from redrive.services.stepfunctions.model.progress import ABORTED, FAILED, RUNNING, SUCCEEDED
from redrive.services.stepfunctions.model.redriving import resume
from redrive.services.stepfunctions.model.transitions import abort
from redrive.services.stepfunctions.running import go_on, start
from redrive.services.stepfunctions.workers.executions import PUT_OFF_MS
from redrive.store.api import Transaction


class MapRunWorker:
    """Goes on with map runs that have something to do."""

    name = timer = MAP_RUN_TIMER
    upkeep = False

    def __init__(self, log: Log) -> None:
        self._log = log

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(MAP_RUN_TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for arn, _ in tx.timers.due(MAP_RUN_TIMER, tx.now, 1):
            run = the_map_run(tx, arn)
            if run is None or run.stopped_at is not None:
                tx.timers.clear(MAP_RUN_TIMER, arn)
                continue
            try:
                with tx.savepoint():
                    _work(tx, run)
            except (Conflict, UserError):
                raise
            except Exception as defect:  # noqa: BLE001 - Our defect: this map run waits, the others go on.
                self._log.error("map run put off", map_run=arn, defect=repr(defect))
                tx.timers.set(MAP_RUN_TIMER, arn, tx.now + PUT_OFF_MS)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("map runs make no attempts")


def _work(tx: Transaction, run: MapRun) -> None:
    parent = load(tx, run.execution)
    frame = None if parent is None else parent.progress.position.frames.get(run.frame)
    if parent is None or frame is None or frame.task != run.task or frame.mode is not Mode.CHILDREN:
        _abort_children(tx, run)
        end_run(tx, run, ABORTED)
    elif run.is_expecting_redrive:
        _redrive_children(tx, parent, run)
    elif run.is_failing:
        _abort_children(tx, run)
        end_run(tx, _again(tx, run), FAILED)
        map_run_failed(parent.progress, frame, EXCEED_TOLERATED_FAILURE_THRESHOLD, EXCEEDED)
        store(tx, parent)
    elif run.is_over:
        _succeed(tx, parent, frame, run)
    else:
        _start_children(tx, parent, run)


def _start_children(tx: Transaction, parent: Live, run: MapRun) -> None:
    """Start as many children as may run, and as one transaction may start."""
    for _ in range(CHILDREN_PER_CLAIM):
        if run.begun >= run.children or run.running >= run.concurrency or run.is_failing:
            break
        child, value = child_of(tx, parent.execution, run, run.begun)
        tx.resources.put(scope_of(run.name), replace(run, begun=run.begun + 1))
        if start(tx, child, value, is_deferred=False) is None:
            raise Bug(f"{child.arn} was started twice")
        run = _again(tx, run)
    if run.is_over or run.is_failing or (run.begun < run.children and run.running < run.concurrency):
        tx.timers.set(MAP_RUN_TIMER, run.name, tx.now)
    else:
        tx.timers.clear(MAP_RUN_TIMER, run.name)


def _redrive_children(tx: Transaction, parent: Live, run: MapRun) -> None:
    """Let the children go on that have not succeeded: standard ones where they stood, express ones from the start."""
    tx.resources.put(scope_of(run.name), replace(run, is_expecting_redrive=False))
    for row in rows_of(tx, run):
        if row.status in (RUNNING, SUCCEEDED):
            continue
        if run.is_express:
            tx.executions.delete(row.arn, row.id)
            child, value = child_of(tx, parent.execution, run, int(row.document.get("place", 0)))
            start(tx, child, value, is_deferred=True)
            continue
        live = live_of(tx, row)
        resume(live.progress)
        go_on(tx, live)
    tx.timers.set(MAP_RUN_TIMER, run.name, tx.now)


def _succeed(tx: Transaction, parent: Live, frame: Frame, run: MapRun) -> None:
    """Hand the results to the Map: the outputs of the children that have succeeded, or where they were written."""
    state = parent.progress.compiled.states[run.state]
    assert isinstance(state, Map), f"{run.state} is no Map"
    rows = rows_of(tx, run)
    try:
        if state.result_writer is not None and state.result_writer.resource is not None:
            result: object = write_results(tx, parent, frame, state, run.name, map(result_of, rows))
        else:
            result = [load_json(row.position["output"]) for row in rows if row.status == SUCCEEDED]
    except StatesError as error:
        end_run(tx, run, FAILED)
        map_run_failed(parent.progress, frame, error.error, error.cause)
    else:
        end_run(tx, run, SUCCEEDED)
        map_run_succeeded(parent.progress, frame, result)
    go_on(tx, parent)


def _abort_children(tx: Transaction, run: MapRun) -> None:
    """Stop the children that run."""
    for row in rows_of(tx, run):
        if row.status == RUNNING:
            live = live_of(tx, row)
            abort(live.progress, ABORTED, None, None)
            go_on(tx, live)


def _again(tx: Transaction, run: MapRun) -> MapRun:
    """The run as its children have left it."""
    found = the_map_run(tx, run.name)
    assert found is not None, "a map run lives as long as its execution"
    return found
