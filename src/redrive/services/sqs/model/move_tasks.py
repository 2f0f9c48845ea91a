"""Message move tasks: their stored form, their rate, their form in answers. No transaction, no clock."""

from __future__ import annotations

import base64
import enum
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.services.sqs import limits
from redrive.services.sqs.model.requests import invalid_parameter

SOURCE_UNKNOWN = "CouldNotDetermineMessageSource"
"""The failure reason of a task without a destination that finds a message which no queue dead-lettered."""

QUEUE_GONE = "AWS.SimpleQueueService.NonExistentQueue"
"""The failure reason of a task whose source or destination queue no longer exists."""

TOO_LONG = "The task ran for more than 36 hours."


class MoveStatus(enum.Enum):
    """The state of a task. AWS's CANCELLING does not occur: the task is cancelled before the call answers."""

    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class MoveTask:
    """A task that moves messages out of a dead-letter queue.

    `queue_id` is the id of the source queue. Without a destination, each message returns to the queue it came from.
    `to_move` is the number of messages that were visible at the start. `rate` is in messages per second; None means no
    limit.
    """

    KIND: ClassVar[str] = "sqs.move_task"

    id: str
    queue_id: str
    source_arn: str
    destination_arn: str | None
    rate: int | None
    started_at: Instant
    to_move: int
    moved: int = 0
    status: MoveStatus = MoveStatus.RUNNING
    failure_reason: str = ""

    @property
    def name(self) -> str:
        """The stored name: the tasks of one source sort by their start."""
        return f"{task_prefix(self.source_arn)}{self.started_at:015d}-{self.id}"

    @property
    def is_active(self) -> bool:
        return self.status is MoveStatus.RUNNING


def task_prefix(source_arn: str) -> str:
    """The prefix of the names of all tasks of a source."""
    return f"{source_arn.rsplit(':', 1)[-1]}/"


def movable(task: MoveTask, now: Instant) -> int:
    """Return how many more messages may move by now.

    Example: a rate of 2 allows one at the start, then one each 0.5 s.
    """
    left = min(task.to_move - task.moved, limits.MOVED_PER_STEP_MAX)
    if task.rate is None:
        return left
    return min(left, (now - task.started_at) * task.rate // 1000 + 1 - task.moved)


def next_move_at(task: MoveTask, now: Instant) -> Instant:
    """Return when a task continues after it has moved all that its rate allows: at most ten times a second."""
    if task.rate is None:
        return now
    return max(task.started_at + -(-task.moved * 1000 // task.rate), now + limits.MOVE_INTERVAL_MS)


def encode_task_handle(task: MoveTask) -> str:
    """Return the handle with which a client cancels a running task."""
    return base64.b64encode(dump_json({"taskId": task.id, "sourceArn": task.source_arn}).encode()).decode()


def decode_task_handle(handle: str) -> tuple[str, str]:
    """Return (id, source ARN) of the task that a handle names. Errors: InvalidParameterValueException."""
    try:
        found = load_json(base64.b64decode(handle, validate=True))
        return str(found["taskId"]), str(found["sourceArn"])
    except (ValueError, KeyError, TypeError):
        raise invalid_parameter("Value for parameter TaskHandle is invalid.") from None


def show_task(task: MoveTask) -> Document:
    """A task as ListMessageMoveTasks answers it; only a running task has a handle."""
    return {
        "TaskHandle": encode_task_handle(task) if task.is_active else None,
        "Status": task.status.value,
        "SourceArn": task.source_arn,
        "DestinationArn": task.destination_arn,
        "MaxNumberOfMessagesPerSecond": task.rate,
        "ApproximateNumberOfMessagesMoved": task.moved,
        "ApproximateNumberOfMessagesToMove": task.to_move,
        "FailureReason": task.failure_reason or None,
        "StartedTimestamp": task.started_at,
    }
