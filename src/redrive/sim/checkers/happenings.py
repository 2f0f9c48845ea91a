"""What the checkers are told, as it happens: the outside view of a run, and each beat of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.delivery.worker import Attempt
from redrive.store.tables.attempts import AttemptRecord
from redrive.store.tables.metrics import Series


@dataclass(frozen=True, slots=True)
class Tried:
    """A user is about to hand a piece of work to the engine. `key` names the work wherever it turns up."""

    key: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Accepted:
    """The engine has answered that it took the work."""

    key: str


@dataclass(frozen=True, slots=True)
class Received:
    """A client, or a mapping for its function, was given a message; nobody else may be before `hidden_until`."""

    message_id: str
    count: int
    at: Instant
    hidden_until: Instant


@dataclass(frozen=True, slots=True)
class GroupReceived:
    """One receive gave these messages of one group of a FIFO queue, each as (key, message id), in this order."""

    group: str
    messages: Sequence[tuple[str, str]]
    at: Instant
    hidden_until: Instant


@dataclass(frozen=True, slots=True)
class Deleting:
    """A consumer is about to delete a message."""

    key: str


@dataclass(frozen=True, slots=True)
class Handled:
    """A consumer or a handler has done a piece of work; it may do so again."""

    key: str


@dataclass(frozen=True, slots=True)
class Occurred:
    """A message of a schedule was received: the occurrence of this schedule at that instant."""

    schedule: str
    scheduled_at: str
    message_id: str
    sent_at: Instant


@dataclass(frozen=True, slots=True)
class Reached:
    """The target of a schedule with a retry policy was reached: by this attempt at the occurrence of that instant."""

    schedule: str
    scheduled_at: str
    attempt: int
    id: str
    at: Instant


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """A dead letter of a schedule with a retry policy is in its queue."""

    schedule: str
    scheduled_at: str
    retries: int
    id: str


@dataclass(frozen=True, slots=True)
class HistoryRead:
    """In the end: what the engine's history says of a schedule with a retry policy."""

    schedule: str
    records: Sequence[AttemptRecord]


@dataclass(frozen=True, slots=True)
class Measured:
    """In the end: the sum of a metric of all schedules with retry policies."""

    metric: str
    sum: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """A conditional handler has recorded its effect; never twice for one key."""

    key: str


@dataclass(frozen=True, slots=True)
class Took:
    """A node has claimed these attempts, with so many slots free; it may never hear of it.

    `inside` is how many deliveries inside the store the claim has made an attempt at.
    """

    node: str
    free: int
    at: Instant
    attempts: Sequence[Attempt]
    inside: int = 0


@dataclass(frozen=True, slots=True)
class Settled:
    """A node has settled an attempt, or tried to; `records` is what that left in the history."""

    node: str
    attempt: Attempt
    records: Sequence[AttemptRecord]


@dataclass(frozen=True, slots=True)
class Forgot:
    """A node has crashed, and with it went what it had counted and not yet written down, by series."""

    node: str
    sums: Mapping[Series, float]


Happening = (
    Tried | Accepted | Received | GroupReceived | Deleting | Handled | Occurred | Reached | DeadLettered | HistoryRead
    | Measured | Recorded | Took | Settled | Forgot
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LeftMessage:
    """A message that a queue still held at the end, with all its attributes as text."""

    queue: str
    message_id: str
    body: str
    sent_at: Instant
    source_queue: str
    attributes: dict[str, str]
