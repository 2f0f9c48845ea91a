"""What the checkers observe while it happens: what users see from outside, and each beat of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.delivery.worker import Attempt
from redrive.store.tables.attempts import AttemptRecord
from redrive.store.tables.metrics import Series


@dataclass(frozen=True, slots=True)
class Tried:
    """A user is about to submit a piece of work. `key` identifies the work everywhere."""

    key: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Accepted:
    """The engine has confirmed that it accepted the work."""

    key: str


@dataclass(frozen=True, slots=True)
class Received:
    """A client, or a mapping for its function, received a message. Nobody else may receive it before `hidden_until`."""

    message_id: str
    count: int
    at: Instant
    hidden_until: Instant


@dataclass(frozen=True, slots=True)
class GroupReceived:
    """One receive returned these messages of one group of a FIFO queue, each as (key, message id), in this order."""

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
    """A consumer or a handler has done a piece of work. It may happen again."""

    key: str


@dataclass(frozen=True, slots=True)
class Occurred:
    """A message of a schedule was received: the schedule's occurrence at `scheduled_at`."""

    schedule: str
    scheduled_at: str
    message_id: str
    sent_at: Instant


@dataclass(frozen=True, slots=True)
class Reached:
    """The target of a schedule with a retry policy was reached, by this attempt at the occurrence at `scheduled_at`."""

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
    """At the end: the engine's history of a schedule with a retry policy."""

    schedule: str
    records: Sequence[AttemptRecord]


@dataclass(frozen=True, slots=True)
class Measured:
    """At the end: the sum of a metric over all schedules with retry policies."""

    metric: str
    sum: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """A conditional handler has recorded its effect. Must never happen twice for one key."""

    key: str


@dataclass(frozen=True, slots=True)
class Took:
    """A node has claimed these attempts, with `free` slots. The node may never learn this.

    `inside` is the number of deliveries inside the store that the claim has attempted.
    """

    node: str
    free: int
    at: Instant
    attempts: Sequence[Attempt]
    inside: int = 0


@dataclass(frozen=True, slots=True)
class Settled:
    """A node has settled an attempt, or tried to. `records` are the new records in the history.

    `is_throttled`: the function had no room for the run, and did not run.
    """

    node: str
    attempt: Attempt
    records: Sequence[AttemptRecord]
    is_throttled: bool = False


@dataclass(frozen=True, slots=True)
class Forgot:
    """A node has crashed and lost its counts that were not written yet, by series."""

    node: str
    sums: Mapping[Series, float]


SHOP = "shop"
"""The bus whose rules all have one target."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """A rule of a bus has this pattern from now on; none if it is disabled or deleted, or has no target."""

    name: str
    pattern: str
    bus: str = SHOP


@dataclass(frozen=True, slots=True)
class Published:
    """A bus has accepted an event: its id, what patterns see of it, and its time."""

    event_id: str
    document: Document
    at: Instant
    bus: str = SHOP


@dataclass(frozen=True, slots=True)
class ReplayStarted:
    """A replay was accepted: the events between these times, to one rule."""

    name: str
    rule: str
    start_at: Instant
    end_at: Instant
    bus: str = SHOP


@dataclass(frozen=True, slots=True)
class ReplayCancelled:
    """The cancellation of a replay was accepted."""

    name: str


@dataclass(frozen=True, slots=True)
class ReplayRead:
    """The state of a replay, and the time of the latest event that it has replayed; None if it has replayed none."""

    name: str
    state: str
    replayed_to: Instant | None


@dataclass(frozen=True, slots=True)
class Arrived:
    """The target of a rule has received an event, by this message. `replay` is empty for the first time."""

    rule: str
    event_id: str
    replay: str
    message_id: str
    bus: str = SHOP


@dataclass(frozen=True, slots=True)
class Lined:
    """An event was received from a FIFO queue, with the number of its message in the order of the queue."""

    event_id: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Rang:
    """The target of a rule on a schedule has received the event of an instant."""

    rule: str
    at: Instant
    event_id: str


@dataclass(frozen=True, slots=True)
class RuleHistoryRead:
    """At the end: the engine's history of a rule."""

    rule_name: str
    records: Sequence[AttemptRecord]


@dataclass(frozen=True, slots=True)
class Streamed:
    """A record is in a stream. `record` identifies it; records of one key are told in the order of their commits."""

    stream: str
    key: str
    record: str


@dataclass(frozen=True, slots=True)
class Mapped:
    """A function is mapped to a stream: from its first record on, or from now on."""

    function: str
    is_from_start: bool


@dataclass(frozen=True, slots=True)
class Unmapped:
    """A function is no longer mapped to its stream."""

    function: str


@dataclass(frozen=True, slots=True)
class StreamRun:
    """A function has run for a batch of records: these are done by its answer, none if it failed."""

    request_id: str
    done: Sequence[str]


@dataclass(frozen=True, slots=True)
class WindowEnded:
    """A function was called for the end of a tumbling window. The state names these records."""

    function: str
    shard: str
    start: str
    records: Sequence[str]


@dataclass(frozen=True, slots=True)
class StreamRead:
    """At the end: the records of a stream, each as (shard, sequence number, key, record), in the order of each key."""

    stream: str
    records: Sequence[tuple[str, str, str, str]]


@dataclass(frozen=True, slots=True)
class ItemWritten:
    """An item of a table is this from now on; None if it is deleted."""

    table: str
    key: str
    item: Document | None


@dataclass(frozen=True, slots=True)
class IndexRead:
    """The entries of an index, the attributes of its key, and all attributes of its entries; None for all."""

    name: str
    key_names: Sequence[str]
    projected: frozenset[str] | None
    entries: Sequence[Document]


@dataclass(frozen=True, slots=True)
class TableRead:
    """The items of a table and the entries of its indexes, at one instant."""

    table: str
    items: Sequence[Document]
    indexes: Sequence[IndexRead]


@dataclass(frozen=True, slots=True)
class ChangesRead:
    """At the end: the changes in the stream of a table, each as (key, old item, new item), in the order of each key."""

    table: str
    changes: Sequence[tuple[str, Document | None, Document | None]]


@dataclass(frozen=True, slots=True)
class ObjectChanged:
    """An object was put or deleted. `content` is its ETag, which no two puts share; empty if it was deleted."""

    key: str
    content: str


@dataclass(frozen=True, slots=True)
class ObjectTold:
    """A destination of S3 has a notification, in this queue."""

    queue: str
    key: str
    sequencer: str
    content: str


@dataclass(frozen=True, slots=True)
class MachineSent:
    """A consumer has a message that an execution sent in this step."""

    name: str
    step: str
    message_id: str


@dataclass(frozen=True, slots=True)
class TokenReturned:
    """The engine has committed the return of an execution's token."""

    name: str


@dataclass(frozen=True, slots=True)
class ExecutionRead:
    """At the end: an execution, and its events, each with its type and the name of its state."""

    name: str
    status: str
    events: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MetricPublished:
    """A value of a metric was committed for a minute."""

    metric: str
    minute: Instant
    value: float
    at: Instant


@dataclass(frozen=True, slots=True)
class AlarmChanged:
    """The history of an alarm has a change of its state, at the instant of a node."""

    name: str
    at: Instant
    before: str
    value: str


@dataclass(frozen=True, slots=True)
class AlarmRead:
    """The state of an alarm at the end."""

    name: str
    state: str


Happening = (
    Tried | Accepted | Received | GroupReceived | Deleting | Handled | Occurred | Reached | DeadLettered | HistoryRead
    | Measured | Recorded | Took | Settled | Forgot | RuleSet | Published | ReplayStarted | Arrived | RuleHistoryRead
    | ReplayCancelled | ReplayRead | Lined | Rang | Streamed | Mapped | Unmapped | StreamRun | WindowEnded | StreamRead
    | ItemWritten | TableRead | ChangesRead | ObjectChanged | ObjectTold
    | MetricPublished | AlarmChanged | AlarmRead | MachineSent | TokenReturned | ExecutionRead
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
