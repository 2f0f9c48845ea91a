"""A dead letter: what failed and why, and the work that was not done."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.clock import Instant


class Origin(enum.Enum):
    """Who has written a dead letter."""

    QUEUE = "queue"
    """A queue's redrive policy moved the message: it was received too often."""
    SCHEDULE = "schedule"
    """EventBridge Scheduler did not reach the target of a schedule."""
    RULE = "rule"
    """EventBridge did not reach the target of a rule."""
    SUBSCRIBER = "subscriber"
    """A custom event bus of 2026 did not reach the target of a subscriber."""
    FUNCTION = "function"
    """The dead-letter configuration of a function: an asynchronous invocation failed."""
    DESTINATION = "destination"
    """The on-failure destination of a function: an asynchronous invocation failed."""
    STREAM = "stream"
    """The on-failure destination of a mapping from a stream, or of a pipe: a batch of records was given up."""
    SUBSCRIPTION = "subscription"
    """SNS did not reach the endpoint of a subscription."""
    EXECUTION = "execution"
    """An execution of a state machine failed, and a rule sent the event that tells it to a queue."""
    UNKNOWN = "unknown"
    """Nothing in the message says who has written it."""


class Form(enum.Enum):
    """What the body of a message, or the text inside it, is."""

    EVENT = "event of EventBridge"
    NOTIFICATION = "notification of SNS"
    OBJECTS = "notification of S3"
    INVOCATION = "record of an invocation"
    BATCH = "record of a batch"
    DELIVERY = "record of a subscriber"
    POINTER = "pointer to an object"
    REQUEST = "request of an API"
    EXECUTION = "input of an execution"
    JSON = "JSON"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the work was not done, as far as the letter says. All texts may be empty.

    `code` is an error code (`NO_PERMISSIONS`), an HTTP status (`429`), or the type of the function's exception;
    `condition` is the limit that ended the retries (`MaximumRetryAttempts`, `RetriesExhausted`, `EventAgeExceeded`).
    `attempts` counts all attempts, 0 if the letter does not say it.
    """

    code: str = ""
    message: str = ""
    condition: str = ""
    attempts: int = 0
    trace: tuple[str, ...] = ()
    """The lines of the function's traceback."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of a stream that were given up.

    The letter does not hold them. The stream does, as long as it keeps records.
    """

    stream_arn: str
    shard_id: str
    first: str
    """The sequence number of the first record."""
    last: str
    count: int
    arrived_at: Instant | None
    """When the first record arrived."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """The object of S3 in which the body of a message stands."""

    bucket: str
    key: str


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be run again.

    `text` is what the target was to get: for a schedule the request of its target's API, for a rule the event, for a
    function its event, for a queue the body. `id` is the same in all attempts: of the execution, the event, the request
    or the message.
    """

    text: str
    form: Form
    id: str = ""
    target_arn: str = ""
    due_at: Instant | None = None
    is_cut: bool = False
    """Whether the end of the text was cut off: it cannot be run again."""
    batch: Batch | None = None
    pointer: Pointer | None = None


@dataclass(frozen=True, slots=True)
class Letter:
    """A message of a dead-letter queue, read. `wraps` names what stands around the work, from the outside in."""

    message_id: str
    origin: Origin
    source_arn: str
    """The queue, schedule, rule, function, stream, topic or state machine; empty if the letter does not say it."""
    failure: Failure
    work: Work
    wraps: tuple[Form, ...] = ()
    receipt: str = ""
    sent_at: Instant | None = None
    """When the message was sent. One that a redrive policy has moved keeps the time at which it was sent first."""
    received: int = 0
    """How often it was received, in the dead-letter queue too."""
    group_id: str = ""
    deduplication_id: str = ""
    body: str = ""
    attributes: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The message attributes, as SQS shows them."""


def name_of(arn: str) -> str:
    """The name in an ARN, for people: `schedule/default/nightly` is `nightly`."""
    return arn.removesuffix(":$LATEST").rsplit(":", 1)[-1].rsplit("/", 1)[-1]


def execution_id(arn: str, redrives: int) -> str:
    """The id of an execution's failure: one that was redriven and fails again is another failure."""
    return f"{arn}#{redrives}" if redrives else arn
