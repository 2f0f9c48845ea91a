"""The transitions of executions: a table from what a frame is about to do to the function that does it.

enter   the state is entered, and its work begins      ended   the state around the branch takes its result
begin   the work begins, without a new entry           failed  the state around the branch reacts to its failure
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from redrive.core.documents import Document
from redrive.core.errors import Bug
from redrive.languages.states.choices import choose, no_choice_matched
from redrive.languages.states.computed import failure_of, wait_ends_at
from redrive.languages.states.data_flow import Flow, effective_input, output_of, result_of_pass
from redrive.languages.states.definition import (
    Choice,
    Fail,
    Map,
    Parallel,
    Pass,
    State,
    Succeed,
    Task,
    Wait,
)
from redrive.languages.states.definition import (
    Mode as MapMode,
)
from redrive.languages.states.errors import StatesError
from redrive.services.stepfunctions.model import composites, tasks
from redrive.services.stepfunctions.model.leaving import fail, fail_for_history, leave, react
from redrive.services.stepfunctions.model.map_states import begin_map_run
from redrive.services.stepfunctions.model.position import READY, Frame, Mode
from redrive.services.stepfunctions.model.progress import NOT_TRUNCATED, TIMED_OUT, Progress


def begin(progress: Progress, value: object, details: Document) -> None:
    """Begin an execution with its input. `details` are those of ExecutionStarted."""
    text = progress.text(value)
    progress.add("ExecutionStarted", 0, {"input": text, "inputDetails": NOT_TRUNCATED, **details})
    frame = progress.position.add(progress.compiled.machine.start_at)
    frame.input = value
    progress.queue.append(frame)


def load_queue(progress: Progress) -> None:
    """Find the frames that can go on now, after the position was read."""
    progress.queue.extend(frame for frame in progress.position.frames.values() if frame.mode in READY)


def advance(progress: Progress, *, limit: int) -> int:
    """Go on with all frames that wait for nothing, at most `limit` times. Returns how many times are left."""
    while progress.queue and limit > 0 and progress.is_running and not progress.wishes:
        frame = progress.queue.popleft()
        if frame.mode not in READY:
            continue  # Another branch has failed since, and this one was stopped.
        limit -= 1
        if progress.is_full():
            fail_for_history(progress)
            break
        _DOES[frame.mode](progress, frame)
    return limit


def look_at_clock(progress: Progress) -> None:
    """Do what is due: waits and retries are over, tasks have timed out, the machine has."""
    position = progress.position
    if position.deadline is not None and position.deadline <= progress.now:
        time_out(progress)
        return
    for frame in list(position.frames.values()):
        due_at = frame.due_at
        if due_at is None or due_at > progress.now or frame.id not in position.frames:
            continue
        if frame.mode is Mode.TASK:
            tasks.timed_out(progress, frame)
        elif frame.mode is Mode.RETRY:
            frame.rest()
            frame.mode = Mode.BEGIN
            progress.queue.append(frame)
        elif frame.mode is Mode.WAIT:
            frame.rest()
            _leave_wait(progress, frame)


def time_out(progress: Progress) -> None:
    """End an execution that took longer than its machine's TimeoutSeconds. No Catch sees that."""
    position = progress.position
    position.deadline = None
    position.error = "States.Timeout"
    position.ended_by = progress.add("ExecutionTimedOut", progress.last, {"error": "States.Timeout"})
    _stop(progress, TIMED_OUT)


def abort(progress: Progress, status: str, error: str | None, cause: str | None) -> None:
    """End an execution because somebody has stopped it."""
    position = progress.position
    details = {name: text for name, text in (("error", error), ("cause", cause)) if text is not None}
    position.deadline, position.error, position.cause = None, error, cause
    position.ended_by = progress.add("ExecutionAborted", 0, details)
    _stop(progress, status)


def _stop(progress: Progress, status: str) -> None:
    progress.status = status
    progress.queue.clear()
    progress.wishes.clear()


def _enter(progress: Progress, frame: Frame) -> None:
    state = progress.state(frame)
    text = progress.text(frame.input)
    frame.entered_at, frame.entered_previous = progress.now, frame.previous
    if frame.up is None and progress.last == 1:
        frame.entered_previous = 0
    details = {"name": frame.state, "input": text, "inputDetails": NOT_TRUNCATED}
    frame.entered = frame.previous = progress.add(f"{state.type}StateEntered", frame.entered_previous, details)
    _begin(progress, frame)


def _begin(progress: Progress, frame: Frame) -> None:
    state = progress.state(frame)
    try:
        _begin_work(progress, frame, state)
    except StatesError as error:
        fail(progress, frame, error)


def _begin_work(progress: Progress, frame: Frame, state: State) -> None:
    match state:
        case Pass():
            _pass(progress, frame, state)
        case Task():
            tasks.schedule(progress, frame, state)
        case Choice():
            _choice(progress, frame, state)
        case Wait():
            _wait(progress, frame, state)
        case Succeed():
            _succeed(progress, frame, state)
        case Fail():
            _fail(progress, frame, state)
        case Parallel():
            composites.begin_parallel(progress, frame, state)
        case Map(mode=MapMode.DISTRIBUTED):
            begin_map_run(progress, frame)
        case Map():
            composites.begin_map(progress, frame, state)
        case _:
            raise Bug(f"{frame.state} is of a type that nobody knows")


def _pass(progress: Progress, frame: Frame, state: Pass) -> None:
    bindings = progress.bindings(frame)
    value = effective_input(state, frame.input, bindings)
    leave(progress, frame, output_of(state, frame.input, result_of_pass(state, value), bindings), state.next)


def _succeed(progress: Progress, frame: Frame, state: Succeed) -> None:
    bindings = progress.bindings(frame)
    value = effective_input(state, frame.input, bindings)
    leave(progress, frame, output_of(state, frame.input, value, bindings), None)


def _fail(progress: Progress, frame: Frame, state: Fail) -> None:
    bindings = progress.bindings(frame)
    react(progress, frame, *failure_of(state, frame.input, bindings))


def _choice(progress: Progress, frame: Frame, state: Choice) -> None:
    chosen = choose(state, frame.input, progress.bindings(frame))
    if chosen is None:
        raise no_choice_matched()
    leave(progress, frame, Flow(chosen.output, chosen.variables), chosen.next)


def _wait(progress: Progress, frame: Frame, state: Wait) -> None:
    bindings = progress.bindings(frame)
    until = wait_ends_at(state, frame.input, bindings, progress.now)
    if until <= progress.now:
        _leave_wait(progress, frame)
    else:
        frame.mode, frame.wake_at = Mode.WAIT, until


def _leave_wait(progress: Progress, frame: Frame) -> None:
    state = progress.state(frame)
    try:
        bindings = progress.bindings(frame)
        value = effective_input(state, frame.input, bindings)
        leave(progress, frame, output_of(state, frame.input, value, bindings), state.next)
    except StatesError as error:
        fail(progress, frame, error)


_DOES: Mapping[Mode, Callable[[Progress, Frame], None]] = {
    Mode.ENTER: _enter, Mode.BEGIN: _begin, Mode.ENDED: composites.child_ended, Mode.FAILED: composites.child_failed,
}  # fmt: skip
