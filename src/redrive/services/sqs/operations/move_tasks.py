"""Message move tasks, which move messages out of dead-letter queues."""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.iam import account_of
from redrive.services.sqs import limits
from redrive.services.sqs.model.move_tasks import (
    MoveStatus,
    MoveTask,
    decode_task_handle,
    encode_task_handle,
    show_task,
    task_prefix,
)
from redrive.services.sqs.model.queue import Queue
from redrive.services.sqs.model.requests import check_range, invalid_parameter, invalid_value
from redrive.services.sqs.operations.queues import authorized_queue, dead_letter_sources
from redrive.services.sqs.workers.move_tasks import begin_task, end_task
from redrive.store.api import Transaction

_ALSO_NEEDED = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
"""The permissions on the source queue that each operation on tasks requires besides its own."""


@operation("StartMessageMoveTask")
def start_message_move_task(
    tx: Transaction,
    caller: Caller,
    *,
    source_arn: str,
    destination_arn: str | None = None,
    max_number_of_messages_per_second: int | None = None,
) -> Document:
    """Start to move the messages now in a dead-letter queue, to their source queues or to another queue.

    Errors: ResourceNotFoundException (source or destination); InvalidParameterValueException (rate, the source is not a
    dead-letter queue, a task is running, queues of different types); OverLimit (100 tasks).
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html
    """
    _authorize(tx, caller, source_arn, "StartMessageMoveTask", *_ALSO_NEEDED)
    rate = max_number_of_messages_per_second
    if rate is not None:
        reason = "Must be between 1 and 500, if provided."
        check_range(rate, "MaxNumberOfMessagesPerSecond", 1, limits.TASK_RATE_MAX, reason)
    source = _find(tx, source_arn, "SourceArn")
    if not dead_letter_sources(tx, source):
        raise invalid_parameter("Source queue must be configured as a Dead Letter Queue.")
    if destination_arn is not None:
        _authorize(tx, caller, destination_arn, "SendMessage")
        _check_destination(source, _find(tx, destination_arn, "DestinationArn"))
    tasks = _tasks_of(tx, source)
    if any(task.is_active for task in tasks):
        raise invalid_parameter(
            "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
        )
    _check_quota(tx, source.scope)
    for task in tasks[limits.TASKS_LISTED_MAX - 1 :]:
        tx.resources.delete(MoveTask, source.scope, task.name)
    task = MoveTask(
        id=tx.entropy.hex(32), queue_id=source.id, source_arn=source.arn, destination_arn=destination_arn, rate=rate,
        started_at=tx.now, to_move=tx.messages.counts(source.contents, tx.now).visible,
    )  # fmt: skip
    begin_task(tx, source.scope, task)
    return {"TaskHandle": encode_task_handle(task)}


@operation("CancelMessageMoveTask")
def cancel_message_move_task(tx: Transaction, caller: Caller, *, task_handle: str) -> Document:
    """Cancel a running task; the messages already moved stay moved.

    Errors: InvalidParameterValueException (not a handle, or the task has ended); ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CancelMessageMoveTask.html
    """
    task_id, source_arn = decode_task_handle(task_handle)
    if account_of(source_arn) not in (None, "", caller.account):
        raise _not_found("The resource that you specified for the SourceArn parameter doesn't exist.")
    _authorize(tx, caller, source_arn, "CancelMessageMoveTask", *_ALSO_NEEDED)
    source = _find(tx, source_arn, "SourceArn")
    task = next((task for task in _tasks_of(tx, source) if task.id == task_id), None)
    if task is None:
        raise _not_found("Task does not exist.")
    if not task.is_active:
        raise invalid_parameter("Only active tasks can be cancelled.")
    end_task(tx, source.scope, task, MoveStatus.CANCELLED)
    return {"ApproximateNumberOfMessagesMoved": task.moved}


@operation("ListMessageMoveTasks")
def list_message_move_tasks(
    tx: Transaction, caller: Caller, *, source_arn: str, max_results: int | None = None
) -> Document:
    """List the latest tasks of a source queue, newest first; only one task unless MaxResults is larger.

    Errors: ResourceNotFoundException; InvalidParameterValueException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ListMessageMoveTasks.html
    """
    _authorize(tx, caller, source_arn, "ListMessageMoveTasks", *_ALSO_NEEDED)
    size = 1 if max_results is None else max_results
    check_range(size, "MaxResults", 1, limits.TASKS_LISTED_MAX, "Must be between 1 and 10, if provided.")
    source = _find(tx, source_arn, "SourceArn")
    return {"Results": [show_task(task) for task in _tasks_of(tx, source)[:size]]}


def _authorize(tx: Transaction, caller: Caller, arn: str, *actions: str) -> None:
    """Refuse an action that the caller may not do on the queue with this ARN, whether the queue exists or not.

    Errors: AccessDeniedException.
    """
    queue = _queue_of(tx, arn)
    for action in actions:
        if queue is None:
            tx.services.authorize(tx, caller, f"sqs:{action}", arn)
        else:
            authorized_queue(tx, caller, queue.scope, queue.name, f"sqs:{action}")


def _find(tx: Transaction, arn: str, parameter: str) -> Queue:
    """Return the queue with this ARN. Errors: InvalidParameterValueException; ResourceNotFoundException."""
    try:
        Arn.parse(arn)
    except ValueError:
        raise invalid_value(arn, parameter, "It is not the ARN of a queue.") from None
    queue = _queue_of(tx, arn)
    if queue is None:
        raise _not_found(f"The resource that you specified for the {parameter} parameter doesn't exist.")
    return queue


def _not_found(message: str) -> ServiceError:
    return ServiceError("ResourceNotFoundException", message, http_status=404)


def _queue_of(tx: Transaction, arn: str) -> Queue | None:
    """Return the queue with this ARN, or None."""
    try:
        place = Arn.parse(arn)
    except ValueError:
        return None
    queue = tx.resources.get(Queue, Scope(place.account, place.region), place.resource)
    return queue if queue is not None and queue.arn == arn else None


def _check_destination(source: Queue, destination: Queue) -> None:
    if destination.arn == source.arn:
        raise invalid_parameter("Source queue arn and destination queue arn cannot be the same.")
    if destination.is_fifo != source.is_fifo:
        raise invalid_parameter("Source queue and destination queue must be of the same type.")


def _check_quota(tx: Transaction, scope: Scope) -> None:
    """Refuse a task if the account already runs as many as the quota allows. Errors: OverLimit."""
    if tx.services.limits is not Limits.STRICT:
        return
    tasks = tx.resources.everywhere(MoveTask)
    if sum(task.is_active for place, task in tasks if place.account == scope.account) >= limits.ACTIVE_TASKS_MAX:
        raise ServiceError("OverLimit", f"An account has at most {limits.ACTIVE_TASKS_MAX} active tasks.")


def _tasks_of(tx: Transaction, source: Queue) -> list[MoveTask]:
    """The tasks of a source queue, newest first."""
    found = tx.resources.list(MoveTask, source.scope, prefix=task_prefix(source.arn))
    return [task for task in reversed(found) if task.queue_id == source.id]
