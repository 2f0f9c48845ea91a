"""The events of a leg, as values: the search continues from them, and a story is told from them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.prove.calls.calls import Call
from redrive.prove.play.faults import Act, Fault
from redrive.prove.process.subject import Place
from redrive.prove.stage.trigger import Kind


class Ending(enum.Enum):
    """How a run ended."""

    RETURNED = "returned"
    FAILED = "failed"
    DIED = "died"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class Delivered:
    """The handler received messages. `receives` says how often each was received, this time included.

    If an event has invoked the function, there is one id, that of the request. Records of streams have sequence
    numbers.
    """

    at: Instant
    run: int
    message_ids: tuple[str, ...]
    receives: tuple[int, ...]
    kind: Kind = Kind.SQS
    function: str = ""
    """In a system: the function that runs."""
    through: str = ""
    """In a system: by which queue, rule, topic or stream it was given them."""
    after: int = 0
    """The run before it in the same execution environment; 0 if the environment is a new one."""
    remembers: tuple[str, ...] = ()
    """The names in the modules of that environment that hold something else than after an import."""
    may_repeat: bool = True
    """In a system: whether the same may be given to a second run meanwhile."""
    may_double: bool = False
    """In a system: whether what delivers it may deliver it once more under another id."""


@dataclass(frozen=True, slots=True)
class Called:
    """The handler made a call. `times` is how often it took effect; `outcome` is what the handler was told."""

    at: Instant
    run: int
    index: int
    call: Call
    place: Place | None
    outcome: str
    times: int
    faults: tuple[Fault, ...]
    is_nested: bool
    is_retried: bool
    is_declared: bool = False
    """Whether the user has declared that the call is an effect."""
    is_resumed: bool = False
    """Whether another run came while this run was paused right before the call."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run ended. `answer` is the handler's result, or its error; `said` is the last line that it logged."""

    at: Instant
    run: int
    ending: Ending
    answer: str
    said: str = ""
    kind: Kind = Kind.SQS


@dataclass(frozen=True, slots=True)
class Sent:
    """A duplicate was sent, a dead letter redriven, or a checkpoint lost."""

    at: Instant
    act: Act
    kind: Kind = Kind.SQS
    told: str = ""
    """What comes again, if the kind does not say it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a run works on is given to another run: the same message, or the same request of an event."""

    at: Instant
    run: int
    kind: Kind = Kind.SQS


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """Messages moved to the dead-letter queue."""

    at: Instant
    count: int
    kind: Kind = Kind.SQS
    told: str = ""
    """What became of them, if the kind does not say it."""


Event = Delivered | Called | Ended | Sent | Shown | DeadLettered
