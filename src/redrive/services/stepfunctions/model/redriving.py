"""Redriving executions: what is kept, and what runs again.

States whose exit is in the history are kept, with the results of branches and iterations that have ended. Each thread
goes on at its state: a task is scheduled again, a wait waits again, a choice chooses again.
Source: https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html
"""

from __future__ import annotations

from redrive.languages.states.definition import Map, Parallel
from redrive.languages.states.errors import DATA_LIMIT_EXCEEDED
from redrive.services.stepfunctions.model.composites import finish_again
from redrive.services.stepfunctions.model.position import Frame, Mode
from redrive.services.stepfunctions.model.progress import RUNNING, Progress


def resume(progress: Progress) -> None:
    """Go on with an execution that has ended without success. Retries are counted anew."""
    position = progress.position
    position.redrives += 1
    position.redriven_at = progress.now
    position.error = position.cause = None
    progress.status = RUNNING
    progress.queue.clear()
    number = progress.add("ExecutionRedriven", position.ended_by, {"redriveCount": position.redrives})
    _resume(progress, progress.root(), number)


def _resume(progress: Progress, frame: Frame, cause: int) -> None:
    """Go on with a frame, or with those of its children that have not ended."""
    was, error = frame.mode, frame.error
    frame.rest()
    frame.retries, frame.tries, frame.task, frame.is_submitted = {}, 0, 0, False
    frame.error = frame.cause = None
    frame.previous = cause
    state = progress.state(frame)
    if was is Mode.ENTER or (was is Mode.ABORTED and not frame.entered):
        frame.mode = Mode.ENTER
        progress.queue.append(frame)
        return
    has_children = bool(frame.results) and isinstance(state, Parallel | Map)
    if has_children and error == DATA_LIMIT_EXCEEDED and frame.done == len(frame.results):
        progress.position.drop_below(frame)
        frame.results, frame.items, frame.done, frame.begun = [], None, 0, 0
        has_children = False
    if not has_children:
        frame.mode = Mode.BEGIN
        progress.queue.append(frame)
        return
    for child in list(frame.children):
        _resume(progress, progress.position.frames[child], cause)
    finish_again(progress, frame)
