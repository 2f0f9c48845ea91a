"""The test of one state, without an execution: its definition among stand-ins, and what came of it.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/test-state-isolation.html
"""

from __future__ import annotations

from dataclasses import dataclass, field

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import ServiceError
from redrive.languages.states.computed import root_for
from redrive.languages.states.data_flow import effective_input
from redrive.languages.states.definition import Map, Parallel, State, Task
from redrive.languages.states.errors import StatesError
from redrive.services.stepfunctions.model import composites, tasks
from redrive.services.stepfunctions.model.history import KeptEvent
from redrive.services.stepfunctions.model.leaving import react
from redrive.services.stepfunctions.model.position import ROOT, Frame, Mode
from redrive.services.stepfunctions.model.progress import CallWish, Progress
from redrive.services.stepfunctions.model.requests import invalid
from redrive.services.stepfunctions.model.transitions import advance, look_at_clock

TESTED = "Tested"
"""The name of a state that is given without one."""

_INSPECTED = ("DEBUG", "TRACE")


@dataclass(frozen=True, slots=True)
class Mock:
    """What a state's work gives in place of the work itself: a result, or an error."""

    result: object = None
    error: str | None = None
    cause: str | None = None
    is_error: bool = False


@dataclass(slots=True)
class StateTest:
    """A state under test. `inspected` collects what the levels DEBUG and TRACE show."""

    progress: Progress
    level: str
    inspected: Document = field(default_factory=dict)

    @property
    def frame(self) -> Frame:
        """The frame of the state."""
        return self.progress.position.frames[ROOT]


def isolated(definition: str, state_name: str | None) -> tuple[str, str]:
    """A machine in which a state stands alone, beside stand-ins of those it leads to; and the state's name.

    Errors: InvalidDefinition; ValidationException (the machine has no such state).
    """
    try:
        document = load_json(definition)
    except ValueError as error:
        message = f"Invalid State Machine Definition: 'INVALID_JSON_DESCRIPTION: {error}'"
        raise ServiceError("InvalidDefinition", message) from error
    language: Document = {}
    if state_name is not None or (isinstance(document, dict) and "States" in document):
        if isinstance(document, dict) and "QueryLanguage" in document:
            language = {"QueryLanguage": document["QueryLanguage"]}
        name = state_name or str(document.get("StartAt", ""))
        document = _found(document, name)
        if document is None:
            raise invalid("State not found in definition")
    else:
        name = TESTED
    states: Document = {name: document}
    for target in _targets(document):
        states.setdefault(target, {"Type": "Succeed"})
    return dump_json({"StartAt": name, "States": states, **language}), name


def read_mock(given: Document | None, state: State) -> Mock | None:
    """The mock of a request. Errors: ValidationException."""
    if given is None:
        return None
    if ("result" in given) == ("errorOutput" in given):
        raise invalid("A test mock should have only one of the following fields: [result, errorOutput].")
    if not isinstance(state, Task | Map | Parallel):
        raise invalid(f"State type '{state.type}' is not supported when a mock is specified")
    if "errorOutput" in given:
        failed = given["errorOutput"]
        return Mock(error=failed.get("error"), cause=failed.get("cause"), is_error=True)
    try:
        result = load_json(given["result"])
    except ValueError as error:
        raise invalid("Mocked result must be valid JSON") from error
    if isinstance(state, Map | Parallel) and not isinstance(result, list):
        raise invalid("Mocked result must be an array.")
    if isinstance(state, Parallel) and len(result) != len(state.branches):
        raise invalid("Mocked result must contain the same number of items as number of Parallel branches.")
    return Mock(result)


def run_state(test: StateTest, value: object, mock: Mock | None) -> CallWish | None:
    """Run the state as far as it can run; returns the call that it still needs."""
    progress = test.progress
    frame = progress.position.add(progress.compiled.machine.start_at)
    frame.input = value
    state = progress.state(frame)
    _inspect_input(test, frame, state)
    if mock is not None and isinstance(state, Map | Parallel):
        _take_mocked_children(progress, frame, state, mock)
        return None
    progress.queue.append(frame)
    advance(progress, limit=1)
    if frame.mode is Mode.WAIT and frame.wake_at is not None:
        progress.now = frame.wake_at
        look_at_clock(progress)
    if not progress.wishes:
        return None
    wish = progress.wishes.popleft()
    assert isinstance(wish, CallWish), "a distributed Map is refused without a mock"
    test.inspected["afterArguments" if state.is_jsonata else "afterParameters"] = wish.text
    if mock is None:
        return wish
    tasks.scheduled(progress, frame, wish)
    if mock.is_error:
        tasks.failed(progress, frame, mock.error, mock.cause)
    else:
        test.inspected["result"] = dump_json(mock.result)
        tasks.succeeded(progress, frame, mock.result)
    return None


def shown_test(test: StateTest) -> Document:
    """The answer of TestState."""
    progress = test.progress
    shown: Document = {"status": _status(test)}
    exited = next((event for event in reversed(progress.events) if _kind(event).endswith("StateExited")), None)
    frame = progress.position.frames.get(ROOT)
    if exited is not None:
        shown["output"] = _details(exited)["output"]
        test.inspected.setdefault("afterResultPath", _details(exited)["output"])
    if frame is not None and frame.mode is Mode.ENTER and exited is not None:
        shown["nextState"] = frame.state
    failure = _failure(progress.events)
    if shown["status"] in ("FAILED", "RETRIABLE", "CAUGHT_ERROR"):
        shown |= {name: text for name, text in failure.items() if text is not None}
    if test.level in _INSPECTED:
        shown["inspectionData"] = test.inspected
    return shown


def _status(test: StateTest) -> str:
    progress = test.progress
    frame = progress.position.frames.get(ROOT)
    if progress.status == "FAILED":
        return "FAILED"
    if frame is not None and frame.mode is Mode.RETRY:
        return "RETRIABLE"
    failed = any(_kind(event).endswith(("Failed", "TimedOut")) for event in progress.events)
    return "CAUGHT_ERROR" if failed else "SUCCEEDED"


def _failure(events: list[KeptEvent]) -> Document:
    for event in reversed(events):
        details = _details(event)
        if _kind(event).endswith(("Failed", "TimedOut")) and details:
            return {"error": details.get("error"), "cause": details.get("cause")}
    return {}


def _take_mocked_children(progress: Progress, frame: Frame, state: Map | Parallel, mock: Mock) -> None:
    frame.entered = frame.previous = progress.add(f"{state.type}StateEntered", 0, {"name": frame.state})
    frame.mode = Mode.CHILDREN
    if mock.is_error:
        progress.add(f"{state.type}StateFailed", frame.previous, {"error": mock.error, "cause": mock.cause})
        react(progress, frame, mock.error, mock.cause)
        return
    assert isinstance(mock.result, list), "the result of children is an array"
    frame.results, frame.done = list(mock.result), len(mock.result)
    composites.finish_again(progress, frame)


def _inspect_input(test: StateTest, frame: Frame, state: State) -> None:
    test.inspected["input"] = dump_json(frame.input)
    bindings = test.progress.bindings(frame)
    try:
        if not state.is_jsonata:
            root = root_for(state, frame.input)
            after = root if state.input_path is None else state.input_path.value(root, bindings)
            test.inspected["afterInputPath"] = dump_json(after)
            if not isinstance(state, Task):
                test.inspected["afterParameters"] = dump_json(effective_input(state, frame.input, bindings))
    except StatesError:
        return  # The state itself tells of it.


def _details(event: KeptEvent) -> Document:
    details = event[4]
    assert isinstance(details, dict), "an event has details, which may be empty"
    return details


def _kind(event: KeptEvent) -> str:
    return str(event[3])


def _found(document: object, name: str) -> Document | None:
    """A state in a machine, or in its branches."""
    if not isinstance(document, dict) or not isinstance(document.get("States"), dict):
        return None
    states: Document = document["States"]
    if name in states:
        found = states[name]
        return found if isinstance(found, dict) else None
    for state in states.values():
        inner = [*state.get("Branches", []), state.get("ItemProcessor"), state.get("Iterator")]
        for branch in inner:
            found = _found(branch, name)
            if found is not None:
                return found
    return None


def _targets(state: object) -> list[str]:
    """The states to which a state leads."""
    if not isinstance(state, dict):
        return []
    choices, catchers = state.get("Choices") or [], state.get("Catch") or []
    rules = [one for one in [*choices, *catchers, state] if isinstance(one, dict)]
    names = [rule.get(key) for rule in rules for key in ("Next", "Default")]
    return [name for name in names if isinstance(name, str)]
