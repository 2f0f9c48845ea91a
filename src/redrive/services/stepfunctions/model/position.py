"""Where an execution stands: the tree of its active states. It is a document, so that a transaction can store it.

A frame is a thread of states: that of the machine, of a branch of a Parallel, or of an item of a Map. A frame whose
state is a Parallel or a Map has children.

    ENTER ─► BEGIN ─► TASK ──┬─► ENTER (the next state) …─► ENDED
              ▲ │ ─► WAIT ───┤
              │ └──► CHILDREN┤
            RETRY ◄──────────┴─► FAILED          ABORTED: another branch has failed
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document

ROOT = "0"
"""The id of the frame of the machine itself."""


class Mode(enum.StrEnum):
    """What a frame does now, or waits for."""

    ENTER = "enter"
    BEGIN = "begin"
    TASK = "task"
    WAIT = "wait"
    RETRY = "retry"
    CHILDREN = "children"
    ENDED = "ended"
    FAILED = "failed"
    ABORTED = "aborted"


READY = frozenset({Mode.ENTER, Mode.BEGIN, Mode.ENDED, Mode.FAILED})
"""The modes that wait for nothing."""


SYNC_CALL = "sync call"
"""The pattern of a parent whose task has called StartSyncExecution."""


class Parent(NamedTuple):
    """The task of another execution that awaits the end of this one. `pattern` is `.sync`, `.sync:2` or SYNC_CALL."""

    arn: str
    frame: str
    task: int
    pattern: str


@dataclass(slots=True)
class Frame:
    """A thread of states. Ids of events are numbers in the history; instants of None mean that nothing is awaited.

    `previous` is the thread's last event, `entered` the one that entered the state, which had `entered_previous` before
    it. `retries` counts retries by the place of their retrier, `tries` all of them. `task` is the number of the task
    that is under way: a result for another number is late; it was scheduled at `asked_at`, and started at `begun_at`.
    `results` has a place for each child; `done` counts those that have ended well. `items` are those of a Map.
    """

    id: str
    state: str
    up: str | None = None
    place: int = 0
    mode: Mode = Mode.ENTER
    input: object = None
    output: object = None
    variables: Document = field(default_factory=dict)
    previous: int = 0
    entered: int = 0
    entered_previous: int = 0
    entered_at: Instant = 0
    retries: dict[str, int] = field(default_factory=dict)
    tries: int = 0
    task: int = 0
    asked_at: Instant = 0
    begun_at: Instant = 0
    is_submitted: bool = False
    wake_at: Instant | None = None
    timeout_at: Instant | None = None
    beat_at: Instant | None = None
    beat_ms: int = 0
    children: list[str] = field(default_factory=list)
    results: list[object] = field(default_factory=list)
    done: int = 0
    items: list[Document] | None = None
    begun: int = 0
    width: int = 0
    error: str | None = None
    cause: str | None = None
    map_run: str = ""

    @property
    def due_at(self) -> Instant | None:
        """When something happens to the frame by itself."""
        times = [at for at in (self.wake_at, self.timeout_at, self.beat_at) if at is not None]
        return min(times) if times else None

    def rest(self) -> None:
        """Await nothing any more."""
        self.wake_at = self.timeout_at = self.beat_at = None

    def document(self) -> Document:
        """The frame without what has its default."""
        found = {name: getattr(self, name) for name in _FIELDS}
        return {name: value for name, value in found.items() if value != _FIELDS[name]}


_FIELDS: dict[str, object] = {
    "id": None, "state": None, "up": None, "place": 0, "mode": Mode.ENTER, "input": None, "output": None,
    "variables": {}, "previous": 0, "entered": 0, "entered_previous": 0, "entered_at": 0, "retries": {}, "tries": 0,
    "task": 0, "asked_at": 0, "begun_at": 0, "is_submitted": False, "wake_at": None, "timeout_at": None,
    "beat_at": None, "beat_ms": 0,
    "children": [], "results": [], "done": 0, "items": None, "begun": 0, "width": 0, "error": None, "cause": None,
    "map_run": "",
}  # fmt: skip


@dataclass(slots=True)
class Position:
    """The frames of an execution, and what counts over all of them.

    `tasks` is the number of the last task, `deadline` the end of the machine's TimeoutSeconds. `ended_by` is the number
    of the event that has ended the execution. `timer_at` is when the stored timer is due. `tokens` are the client
    tokens of redrives, with their instants.
    """

    frames: dict[str, Frame] = field(default_factory=dict)
    next_frame: int = 1
    tasks: int = 0
    deadline: Instant | None = None
    output: str | None = None
    error: str | None = None
    cause: str | None = None
    ended_by: int = 0
    redrives: int = 0
    redriven_at: Instant | None = None
    tokens: dict[str, Instant] = field(default_factory=dict)
    timer_at: Instant | None = None
    parent: Parent | None = None

    @property
    def due_at(self) -> Instant | None:
        """When something happens to the execution by itself."""
        times = [frame.due_at for frame in self.frames.values()]
        found = [at for at in (*times, self.deadline) if at is not None]
        return min(found) if found else None

    @property
    def is_ready(self) -> bool:
        """Whether the execution can go on now."""
        return any(frame.mode in READY for frame in self.frames.values())

    def add(self, state: str, up: str | None = None, place: int = 0) -> Frame:
        """A new frame."""
        if up is None:
            frame = Frame(ROOT, state)
        else:
            frame = Frame(str(self.next_frame), state, up, place)
            self.next_frame += 1
        self.frames[frame.id] = frame
        return frame

    def drop_below(self, frame: Frame) -> None:
        """Remove the descendants of a frame."""
        for child in frame.children:
            found = self.frames.pop(child, None)
            if found is not None:
                self.drop_below(found)
        frame.children = []

    def below(self, frame: Frame) -> Iterator[Frame]:
        """The descendants of a frame, each before its own children."""
        for child in frame.children:
            found = self.frames.get(child)
            if found is not None:
                yield found
                yield from self.below(found)

    def document(self) -> Document:
        """The position as a document."""
        rest = {
            "next_frame": self.next_frame, "tasks": self.tasks, "deadline": self.deadline, "output": self.output,
            "error": self.error, "cause": self.cause, "ended_by": self.ended_by, "redrives": self.redrives,
            "redriven_at": self.redriven_at, "tokens": self.tokens,
            "timer_at": self.timer_at, "parent": self.parent,
        }  # fmt: skip
        frames = [frame.document() for frame in self.frames.values()]
        return {"frames": frames, **{name: value for name, value in rest.items() if value not in (None, 0, {})}}


def read_position(document: Document) -> Position:
    """The position that a document stores."""
    rest = dict(document)
    frames = [Frame(**{**one, "mode": Mode(one.get("mode", Mode.ENTER))}) for one in rest.pop("frames")]
    if "parent" in rest:
        rest["parent"] = Parent(*rest["parent"])
    return Position({frame.id: frame for frame in frames}, **rest)
