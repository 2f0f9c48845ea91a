"""Message move tasks: what is stored of one, how fast it may go, how it is shown. No transaction, no clock."""

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
"""Why a task without a destination fails at a message that no queue dead-lettered."""

QUEUE_GONE = "AWS.SimpleQueueService.NonExistentQueue"
"""Why a task fails whose source, or where a message should go, does not exist any more."""

TOO_LONG = "The task ran for more than 36 hours."


class MoveStatus(enum.Enum):
    """What has become of a task. AWS's CANCELLING does not occur: a task is cancelled when the call answers."""

    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class MoveTask:
    """Messages on their way out of a dead-letter queue.

    `queue_id` is the source's; without a destination each message goes back to the queue it came from. `to_move` is
    how many messages were visible at the start; `rate` is in messages per second, None for as fast as can be.
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
        """Tasks of one source sort by their start."""
        return f"{task_prefix(self.source_arn)}{self.started_at:015d}-{self.id}"

    @property
    def is_active(self) -> bool:
        return self.status is MoveStatus.RUNNING


def task_prefix(source_arn: str) -> str:
    """What the names of all tasks of a source begin with."""
    return f"{source_arn.rsplit(':', 1)[-1]}/"


def movable(task: MoveTask, now: Instant) -> int:
    """How many more messages may move by now: with a rate of 2, one at the start, and one each half second."""
    left = min(task.to_move - task.moved, limits.MOVED_PER_STEP_MAX)
    if task.rate is None:
        return left
    return min(left, (now - task.started_at) * task.rate // 1000 + 1 - task.moved)


def next_move_at(task: MoveTask, now: Instant) -> Instant:
    """When a task that has moved what it may is to go on: no more than ten times a second."""
    if task.rate is None:
        return now
    return max(task.started_at + -(-task.moved * 1000 // task.rate), now + limits.MOVE_INTERVAL_MS)


def encode_task_handle(task: MoveTask) -> str:
    """The handle by which a running task is cancelled."""
    return base64.b64encode(dump_json({"taskId": task.id, "sourceArn": task.source_arn}).encode()).decode()


def decode_task_handle(handle: str) -> tuple[str, str]:
    """(id, source ARN) of the task that a handle stands for. Errors: InvalidParameterValueException."""
    try:
        found = load_json(base64.b64decode(handle, validate=True))
        return str(found["taskId"]), str(found["sourceArn"])
    except (ValueError, KeyError, TypeError):
        raise invalid_parameter("Value for parameter TaskHandle is invalid.") from None


def show_task(task: MoveTask) -> Document:
    """A task as ListMessageMoveTasks answers it; only a running one has a handle."""
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
