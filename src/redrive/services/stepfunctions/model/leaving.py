"""How a thread leaves a state: with an output to the next state, or to the end of its branch; or with a failure."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.languages.states.data_flow import Flow, caught_output, error_output
from redrive.languages.states.errors import (
    HEARTBEAT_TIMEOUT,
    QUERY_EVALUATION_ERROR,
    RUNTIME,
    TIMEOUT,
    StatesError,
)
from redrive.languages.states.retries import Caught, Failed, RetryAfter, decide
from redrive.services.stepfunctions.limits import EVENTS_MAX
from redrive.services.stepfunctions.model.position import Frame, Mode
from redrive.services.stepfunctions.model.progress import (
    FAILED,
    NOT_TRUNCATED,
    SUCCEEDED,
    Progress,
)


def leave(progress: Progress, frame: Frame, flow: Flow, next: str | None, *, previous: int | None = None) -> None:
    """Leave a state with its output. `previous` is the cause of the exit, where that is not the thread's last event.

    Errors: StatesError (the output is too large).
    """
    text = progress.checked(flow.output, frame.state)
    details: Document = {"name": frame.state, "output": text, "outputDetails": NOT_TRUNCATED}
    if flow.variables:
        details["assignedVariables"] = {name: progress.text(value) for name, value in flow.variables.items()}
        details["assignedVariablesDetails"] = NOT_TRUNCATED
        frame.variables = {**frame.variables, **flow.variables}
    cause = frame.previous if previous is None else previous
    frame.previous = progress.add(f"{progress.state(frame).type}StateExited", cause, details)
    if next is None:
        end(progress, frame, flow.output)
    else:
        enter_next(progress, frame, next, flow.output)


def enter_next(progress: Progress, frame: Frame, next: str, value: object) -> None:
    """Go to another state of the same branch."""
    frame.rest()
    frame.state, frame.input, frame.mode = next, value, Mode.ENTER
    frame.retries, frame.tries, frame.task = {}, 0, 0
    progress.queue.append(frame)


def end(progress: Progress, frame: Frame, output: object) -> None:
    """End a thread: a branch hands its output to the state around it, the machine has succeeded."""
    frame.rest()
    frame.output = output
    if frame.up is not None:
        frame.mode = Mode.ENDED
        progress.queue.append(frame)
        return
    text = progress.text(output)
    position = progress.position
    position.output, position.deadline = text, None
    position.ended_by = progress.add(
        "ExecutionSucceeded", frame.previous, {"output": text, "outputDetails": NOT_TRUNCATED}
    )
    position.frames = {}
    progress.status = SUCCEEDED


def fail(progress: Progress, frame: Frame, error: StatesError) -> None:
    """React to an error of the expressions of a frame's state."""
    cause = error.cause_in(frame.state, frame.entered)
    if error.error == QUERY_EVALUATION_ERROR:
        state = progress.state(frame)
        details: Document = {"state": frame.state, "error": error.error, "cause": cause}
        if error.location:
            details["location"] = error.location
        before = frame.previous if state.type == "Wait" else frame.entered_previous
        frame.previous = progress.add("EvaluationFailed", before, details)
    react(progress, frame, error.error, cause)


def react(progress: Progress, frame: Frame, error: str | None, cause: str | None) -> None:
    """Do what Retry and Catch of a frame's state say about an error; without them, the frame has failed."""
    frame.rest()
    frame.task = 0
    state = progress.state(frame)
    counts = {int(index): count for index, count in frame.retries.items()}
    reaction = decide(state, error, counts, progress.entropy)
    shown = TIMEOUT if error == HEARTBEAT_TIMEOUT else error
    if isinstance(reaction, RetryAfter):
        _forget_children(progress, frame)
        index = str(reaction.retrier_index)
        frame.retries = {**frame.retries, index: frame.retries.get(index, 0) + 1}
        frame.tries += 1
        frame.mode, frame.wake_at = Mode.RETRY, progress.now + round(reaction.seconds * 1000)
    elif isinstance(reaction, Caught):
        _tell_failed_children(progress, frame)
        _forget_children(progress, frame)
        try:
            bindings = progress.bindings(frame)
            flow = caught_output(state, reaction.catcher, frame.input, error_output(shown, cause), bindings)
            leave(progress, frame, flow, reaction.catcher.next)
        except StatesError as inner:
            _give_up(progress, frame, inner.error, inner.cause_in(frame.state, frame.entered))
    else:
        assert isinstance(reaction, Failed), "an error is retried, caught, or neither"
        _give_up(progress, frame, shown, cause)


def fail_execution(progress: Progress, previous: int, error: str | None, cause: str | None) -> None:
    """End the execution with an error that nobody has caught. Its frames stay: a redrive goes on with them."""
    details = _error_details(error, cause)
    position = progress.position
    position.error, position.cause, position.deadline = error, cause, None
    position.ended_by = progress.add("ExecutionFailed", previous, details)
    progress.status = FAILED
    progress.queue.clear()
    progress.wishes.clear()


def fail_for_history(progress: Progress) -> None:
    """End an execution whose history has no room. What the step told beyond the limit is left out."""
    while progress.last >= EVENTS_MAX and progress.events:
        progress.events.pop()
        progress.last -= 1
    cause = f"The execution reached the maximum number of history events ({EVENTS_MAX})."
    fail_execution(progress, progress.last, RUNTIME, cause)


def _give_up(progress: Progress, frame: Frame, error: str | None, cause: str | None) -> None:
    frame.mode, frame.error, frame.cause = Mode.FAILED, error, cause
    _tell_failed_children(progress, frame)
    if frame.up is None:
        fail_execution(progress, frame.previous, error, cause)
    else:
        progress.queue.append(frame)


def _tell_failed_children(progress: Progress, frame: Frame) -> None:
    """Tell that a Parallel or a Map whose children have failed has failed itself."""
    if frame.children or frame.map_run:
        progress.tell(frame, f"{progress.state(frame).type}StateFailed")


def _forget_children(progress: Progress, frame: Frame) -> None:
    progress.position.drop_below(frame)
    frame.results, frame.items, frame.done, frame.begun, frame.map_run = [], None, 0, 0, ""


def _error_details(error: str | None, cause: str | None) -> Document:
    details: Document = {}
    if error is not None:
        details["error"] = error
    if cause is not None:
        details["cause"] = cause
    return details
