"""Tasks: what is scheduled, and what becomes of its answer, its failure, its timeout.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-task.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.languages.states.computed import heartbeat_s_of, role_of, timeout_s_of
from redrive.languages.states.data_flow import effective_input, output_of
from redrive.languages.states.definition import Task
from redrive.languages.states.errors import HEARTBEAT_TIMEOUT, TIMEOUT, StatesError, runtime_error
from redrive.services.stepfunctions.model.leaving import fail, leave, react
from redrive.services.stepfunctions.model.position import Frame, Mode
from redrive.services.stepfunctions.model.progress import NOT_TRUNCATED, CallWish, Progress
from redrive.services.stepfunctions.model.resources import Kind, Pattern, TaskResource, read_resource


def schedule(progress: Progress, frame: Frame, state: Task) -> None:
    """Wish for the call of a task. Who grants the wish checks it, and says that the task is `scheduled`.

    Errors: StatesError.
    """
    resource = read_resource(state.resource)
    if resource is None:
        raise runtime_error(f"The resource {state.resource} is not supported.")
    number = progress.position.tasks = progress.position.tasks + 1
    is_callback = resource.pattern is Pattern.CALLBACK
    token = progress.token_of(frame.id, number) if is_callback or resource.kind is Kind.ACTIVITY else ""
    bindings = progress.bindings(frame, token=token if is_callback else "")
    value = effective_input(state, frame.input, bindings)
    text = progress.checked(value, frame.state)
    timeout_s = None if state.timeout is None else timeout_s_of(state, frame.input, bindings)
    beat_s = heartbeat_s_of(state, frame.input, bindings)
    role_arn = role_of(state, frame.input, bindings) or ""
    frame.mode, frame.task, frame.is_submitted = Mode.TASK, number, False
    frame.timeout_at = None if timeout_s is None else progress.now + timeout_s * 1000
    frame.beat_ms = 0 if beat_s is None else beat_s * 1000
    frame.beat_at = progress.now + frame.beat_ms if frame.beat_ms else None
    progress.wishes.append(
        CallWish(frame.id, number, resource, value, text, token, role_arn, timeout_s, beat_s)
    )  # fmt: skip


def scheduled(progress: Progress, frame: Frame, wish: CallWish) -> None:
    """Tell that a task is scheduled; that of an activity starts when a worker takes it, others start at once."""
    resource = wish.resource
    details: Document = {}
    if wish.timeout_s is not None:
        details["timeoutInSeconds"] = wish.timeout_s
    if wish.beat_s is not None and resource.kind is not Kind.FUNCTION:
        details["heartbeatInSeconds"] = wish.beat_s
    if wish.role_arn and resource.kind is not Kind.ACTIVITY:
        details["taskCredentials"] = {"roleArn": wish.role_arn}
    if resource.kind in (Kind.FUNCTION, Kind.ACTIVITY):
        given = {"resource": resource.arn, "input": wish.text, "inputDetails": NOT_TRUNCATED}
        _tell(progress, frame, resource, "Scheduled", {**given, **details})
        if resource.kind is Kind.FUNCTION:
            _tell(progress, frame, resource, "Started", {})
        return
    given = {"region": progress.region, "parameters": wish.text}
    _tell(progress, frame, resource, "Scheduled", {**given, **details})
    _tell(progress, frame, resource, "Started", {})


def succeeded(progress: Progress, frame: Frame, value: object) -> None:
    """Take the result of a frame's task."""
    state, resource = _task(progress, frame)
    frame.rest()
    try:
        name = _blamed(frame, resource)
        text = progress.checked(value, name)
    except StatesError as error:
        failed(progress, frame, error.error, error.cause)
        return
    _tell(progress, frame, resource, "Succeeded", {"output": text, "outputDetails": NOT_TRUNCATED})
    frame.task = 0
    try:
        leave(progress, frame, output_of(state, frame.input, value, progress.bindings(frame)), state.next)
    except StatesError as error:
        fail(progress, frame, error)


def submitted(progress: Progress, frame: Frame, answer: object) -> None:
    """Note that the call of a task was accepted whose end is awaited."""
    _, resource = _task(progress, frame)
    frame.is_submitted = True
    output = {"output": progress.text(answer), "outputDetails": NOT_TRUNCATED}
    _tell(progress, frame, resource, "Submitted", output)


def started(progress: Progress, frame: Frame, worker: str | None) -> None:
    """Note that a worker has taken the task of an activity; the heartbeat counts from now on."""
    _, resource = _task(progress, frame)
    frame.is_submitted = True
    beat(progress, frame)
    _tell(progress, frame, resource, "Started", {"workerName": worker} if worker else {})


def beat(progress: Progress, frame: Frame) -> None:
    """Take a heartbeat."""
    if frame.beat_ms:
        frame.beat_at = progress.now + frame.beat_ms


def failed(progress: Progress, frame: Frame, error: str | None, cause: str | None) -> None:
    """Take the failure of a frame's task."""
    _, resource = _task(progress, frame)
    details: Document = {}
    if error is not None:
        details["error"] = error
    if cause is not None:
        details["cause"] = cause
    _tell(progress, frame, resource, "Failed", details)
    react(progress, frame, error, cause)


def timed_out(progress: Progress, frame: Frame) -> None:
    """End a task whose time is over, or whose worker gave no heartbeat."""
    _, resource = _task(progress, frame)
    is_beat = frame.beat_at is not None and frame.beat_at <= progress.now
    _tell(progress, frame, resource, "TimedOut", {"error": TIMEOUT})
    if is_beat:
        progress.measured[resource.arn, "HeartbeatTimedOut", 1] += 1
    react(progress, frame, HEARTBEAT_TIMEOUT if is_beat else TIMEOUT, "")


def resource_of(progress: Progress, frame: Frame) -> TaskResource:
    """The resource of the task in which a frame is."""
    return _task(progress, frame)[1]


def _task(progress: Progress, frame: Frame) -> tuple[Task, TaskResource]:
    state = progress.state(frame)
    assert isinstance(state, Task), f"{frame.state} is no Task"
    resource = read_resource(state.resource)
    assert resource is not None, "a task that was scheduled has a resource"
    return state, resource


def _blamed(frame: Frame, resource: TaskResource) -> str:
    """What an answer that is too large is the answer of, in AWS's words."""
    if resource.kind is Kind.FUNCTION:
        return resource.arn
    return "lambda" if resource.type == "lambda" else frame.state


def _tell(progress: Progress, frame: Frame, resource: TaskResource, what: str, details: Document) -> None:
    """Add an event of a task, under the name that its kind of task has, and count it."""
    _measure(progress, frame, resource.arn, what)
    match resource.kind:
        case Kind.FUNCTION:
            progress.tell(frame, f"LambdaFunction{what}", details)
        case Kind.ACTIVITY:
            progress.tell(frame, f"Activity{what}", details)
        case _:
            called = {"resourceType": resource.type, "resource": resource.name}
            progress.tell(frame, f"Task{what}", {**called, **details})


def _measure(progress: Progress, frame: Frame, resource: str, what: str) -> None:
    """Count an event of a task, and the times that end with it."""
    now, measured = progress.now, progress.measured
    match what:
        case "Submitted":
            return
        case "Scheduled":
            frame.asked_at = frame.begun_at = now
        case "Started":
            frame.begun_at = now
            measured[resource, "ScheduleTime", now - frame.asked_at] += 1
        case _:
            measured[resource, "RunTime", now - frame.begun_at] += 1
            measured[resource, "Time", now - frame.asked_at] += 1
            frame.asked_at = frame.begun_at = 0
    measured[resource, what, 1] += 1
