"""An execution while a step goes on with it: its position, the events that the step adds, and what the step has to do.

No transaction is in here: what an execution wishes of the world is a value (`wishes`), and the world answers by the
functions of `tasks.py`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from redrive.core.clock import INSTANTS_KEPT, Instant
from redrive.core.documents import Document, dump_json
from redrive.core.entropy import Entropy
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.definition import Branch, Map, Parallel, State, StateMachine, Task
from redrive.languages.states.payloads import fits, too_large
from redrive.services.stepfunctions.limits import EVENTS_MAX
from redrive.services.stepfunctions.model.history import KeptEvent
from redrive.services.stepfunctions.model.position import ROOT, Frame, Position
from redrive.services.stepfunctions.model.resources import TaskResource

TokenMaker = Callable[[str, int], str]
"""The token of a frame's task, by the task's number."""

RUNNING = "RUNNING"
SUCCEEDED = "SUCCEEDED"
FAILED = "FAILED"
TIMED_OUT = "TIMED_OUT"
ABORTED = "ABORTED"

NOT_TRUNCATED = {"truncated": False}


@dataclass(frozen=True, slots=True)
class Compiled:
    """A definition, with all its states by name: names are unique over nested branches."""

    machine: StateMachine
    states: Mapping[str, State]


@dataclass(frozen=True, slots=True)
class CallWish:
    """Call what a Task names. The answer is for the frame's task of this number, and late for any other.

    `text` is the JSON of the parameters; `role_arn` is that of Credentials, or empty.
    """

    frame: str
    task: int
    resource: TaskResource
    parameters: object
    text: str
    token: str = ""
    role_arn: str = ""
    timeout_s: int | None = None
    beat_s: int | None = None


@dataclass(frozen=True, slots=True)
class MapRunWish:
    """Begin, or go on with, the map run of a frame."""

    frame: str
    task: int
    state: str


Wish = CallWish | MapRunWish


@dataclass(slots=True)
class Progress:
    """An execution under way. `last` is the number of its last event; `events` are those that this step adds.

    `is_express`: nobody can ask for the history. `context` is what `$$.Execution` and
    `$$.StateMachine` are. `queue` are the frames that can go on now; `outer`
    are variables that no state has assigned, which only tests of states have. `measured` counts what metrics are
    made of: a task's Resource, the end of the metric's name, the value.
    """

    compiled: Compiled
    position: Position
    now: Instant
    entropy: Entropy
    context: Document
    token_of: TokenMaker
    region: str
    last: int = 0
    is_express: bool = False
    outer: Mapping[str, object] = field(default_factory=dict)
    status: str = RUNNING
    events: list[KeptEvent] = field(default_factory=list)
    wishes: deque[Wish] = field(default_factory=deque)
    queue: deque[Frame] = field(default_factory=deque)
    measured: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    _text: tuple[object, str] = (None, "null")

    @property
    def is_running(self) -> bool:
        return self.status == RUNNING

    def state(self, frame: Frame) -> State:
        """The state in which a frame is."""
        return self.compiled.states[frame.state]

    def root(self) -> Frame:
        """The frame of the machine itself."""
        return self.position.frames[ROOT]

    def add(self, kind: str, previous: int, details: Document | None = None) -> int:
        """Add an event, and return its number."""
        self.last += 1
        self.events.append([self.last, previous, self.now, kind, details or {}])
        return self.last

    def tell(self, frame: Frame, kind: str, details: Document | None = None) -> None:
        """Add an event of a thread: the thread's last event is its cause."""
        frame.previous = self.add(kind, frame.previous, details)

    def text(self, value: object) -> str:
        """A value as JSON. The output of a state is the input of the next one, so the last text is remembered."""
        known, text = self._text
        if known is value and value is not None:
            return text
        text = dump_json(value)
        self._text = (value, text)
        return text

    def checked(self, value: object, name: str) -> str:
        """The text of a result. Errors: StatesError States.DataLimitExceeded."""
        text = self.text(value)
        if not fits(text):
            raise too_large(name)
        return text

    def bindings(self, frame: Frame, *, token: str = "") -> Bindings:
        """What the expressions of a frame's state see besides their data."""
        state: Document = {"Name": frame.state, "EnteredTime": exact_instant(frame.entered_at)}
        context = {**self.context, "State": state}
        if isinstance(self.state(frame), _RETRIED):
            state["RetryCount"] = frame.tries
        if token:
            context["Task"] = {"Token": token}
        if frame.up is not None:
            item = self._item_of(frame)
            if item is not None:
                context["Map"] = {"Item": item}
        return Bindings(context, self.entropy, self.now, self.variables(frame))

    def variables(self, frame: Frame) -> Mapping[str, object]:
        """The variables that a frame sees: its own, and those of the frames around it."""
        if frame.up is None:
            return {**self.outer, **frame.variables} if self.outer else frame.variables
        return {**self.variables(self.position.frames[frame.up]), **frame.variables}

    def is_full(self) -> bool:
        """Whether the history has room for one event only, which says so."""
        return not self.is_express and self.last >= EVENTS_MAX - 1

    def _item_of(self, frame: Frame) -> Document | None:
        """The item of the nearest Map around a frame."""
        child: Frame | None = frame
        while child is not None and child.up is not None:
            parent = self.position.frames[child.up]
            if parent.items is not None:
                return parent.items[child.place]
            child = parent
        return None


_RETRIED = (Task, Parallel, Map)


def compile_definition(machine: StateMachine) -> Compiled:
    """A definition with all its states by name."""
    return Compiled(machine, dict(_all_states(machine)))


def _all_states(branch: Branch) -> list[tuple[str, State]]:
    found = list(branch.states.items())
    for state in branch.states.values():
        if isinstance(state, Parallel):
            for inner in state.branches:
                found += _all_states(inner)
        elif isinstance(state, Map):
            found += _all_states(state.processor)
    return found


@lru_cache(maxsize=INSTANTS_KEPT)
def exact_instant(at: Instant) -> str:
    """An instant as the context object has it: 2025-01-01T00:00:00.000Z."""
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"
