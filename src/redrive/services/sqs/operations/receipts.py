"""Operations on a received message: delete it, or change when it is visible again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.sources.watches import arrived
from redrive.services.sqs import limits
from redrive.services.sqs.model.metrics import metrics_of
from redrive.services.sqs.model.queue import Queue
from redrive.services.sqs.model.receipts import decode_receipt
from redrive.services.sqs.model.requests import (
    batch_answer,
    check_batch,
    check_entries_have,
    check_range,
    failed_entry,
    invalid_value,
)
from redrive.services.sqs.operations.queues import find_queue
from redrive.store.api import Transaction

_DELETE_ENTRY = "DeleteMessageBatchRequestEntry"
_VISIBILITY_ENTRY = "ChangeMessageVisibilityBatchRequestEntry"


@operation("DeleteMessage")
def delete_message(tx: Transaction, caller: Caller, *, queue_url: str, receipt_handle: str) -> Document:
    """Delete a received message. A second delete is not an error.

    In a standard queue a handle works after its visibility timeout, until the message is received again. After that,
    the older handle deletes nothing, which is not an error either. In a FIFO queue both cases are errors.

    Errors: QueueDoesNotExist; ReceiptHandleIsInvalid; MissingRequiredParameterException (an empty handle);
    InvalidParameterValueException (an expired handle of a FIFO queue).
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:DeleteMessage")
    _delete(tx, queue, receipt_handle)
    return {}


@operation("DeleteMessageBatch")
def delete_message_batch(tx: Transaction, caller: Caller, *, queue_url: str, entries: Sequence[Document]) -> Document:
    """Delete up to ten received messages; each entry succeeds or fails on its own.

    Errors: for each entry those of DeleteMessage; for the whole request QueueDoesNotExist, EmptyBatchRequest,
    TooManyEntriesInBatchRequest, InvalidBatchEntryId, BatchEntryIdsNotDistinct, MissingRequiredParameterException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessageBatch.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:DeleteMessage")
    check_batch(entries, _DELETE_ENTRY)
    check_entries_have(entries, _DELETE_ENTRY, "ReceiptHandle")
    return _each(entries, lambda entry: _delete(tx, queue, entry["ReceiptHandle"]))


@operation("ChangeMessageVisibility")
def change_message_visibility(
    tx: Transaction, caller: Caller, *, queue_url: str, receipt_handle: str, visibility_timeout: int
) -> Document:
    """Hide a received message for this number of seconds from now; 0 makes the message visible at once.

    In a standard queue the call also works after the visibility timeout, and with the handle of an earlier receive; in
    a FIFO queue it does not. The next receive uses the queue's own timeout again.

    Errors: QueueDoesNotExist; ReceiptHandleIsInvalid; InvalidParameterValueException (out of range, more than 12 hours
    after the latest receive, or the message is gone); MissingRequiredParameterException (an empty handle).
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:ChangeMessageVisibility")
    _change_visibility(tx, queue, receipt_handle, visibility_timeout)
    return {}


@operation("ChangeMessageVisibilityBatch")
def change_message_visibility_batch(
    tx: Transaction, caller: Caller, *, queue_url: str, entries: Sequence[Document]
) -> Document:
    """Set the visibility timeout of up to ten received messages; each entry succeeds or fails on its own.

    An entry without a timeout counts as 0.

    Errors: for each entry those of ChangeMessageVisibility; for the whole request QueueDoesNotExist, EmptyBatchRequest,
    TooManyEntriesInBatchRequest, InvalidBatchEntryId, BatchEntryIdsNotDistinct, MissingRequiredParameterException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibilityBatch.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:ChangeMessageVisibility")
    check_batch(entries, _VISIBILITY_ENTRY)
    check_entries_have(entries, _VISIBILITY_ENTRY, "ReceiptHandle")
    return _each(
        entries,
        lambda entry: _change_visibility(tx, queue, entry["ReceiptHandle"], entry.get("VisibilityTimeout") or 0),
    )


def _delete(tx: Transaction, queue: Queue, handle: str) -> None:
    receipt = decode_receipt(handle, queue.id)
    if not queue.is_fifo:
        tx.messages.delete(queue.contents, receipt.seq, receipt.nonce)
        tx.metrics.count(metrics_of(queue.arn).deleted, tx.now)
        return
    tx.messages.reserve_in_order(queue.contents)
    if tx.messages.delete_in_order(queue.contents, receipt.seq, receipt.nonce, tx.now):
        tx.notify(queue.topic)
        arrived(tx, queue.arn, tx.now)  # The next message of the group can now be received.
    elif tx.messages.exists(queue.contents, receipt.seq):
        raise invalid_value(handle, "ReceiptHandle", "The receipt handle has expired.")
    tx.metrics.count(metrics_of(queue.arn).deleted, tx.now)


def _change_visibility(tx: Transaction, queue: Queue, handle: str, timeout_s: int) -> None:
    receipt = decode_receipt(handle, queue.id)
    name = "VisibilityTimeout"
    check_range(
        timeout_s, name, 0, limits.VISIBILITY_TIMEOUT_S_MAX, "VisibilityTimeout must be an integer between 0 and 43200."
    )
    if queue.is_fifo:
        tx.messages.reserve_in_order(queue.contents)
    held = tx.messages.held(queue.contents, receipt.seq)
    if held is None or (queue.is_fifo and (held[0] <= tx.now or held[2] != receipt.nonce)):
        reason = "Message does not exist or is not available for visibility timeout change."
        raise invalid_value(handle, "ReceiptHandle", reason)
    _, received_at, _ = held
    visible_at = tx.now + timeout_s * SECOND_MS
    if visible_at > received_at + limits.VISIBILITY_TIMEOUT_S_MAX * SECOND_MS:
        reason = (
            f"Total VisibilityTimeout for the message is beyond the limit [{limits.VISIBILITY_TIMEOUT_S_MAX} seconds]"
        )
        raise invalid_value(timeout_s, name, reason)
    tx.messages.release(queue.contents, receipt.seq, visible_at=visible_at)
    arrived(tx, queue.arn, visible_at)
    if timeout_s <= limits.WAIT_S_MAX:
        tx.notify(queue.topic)


def _each(entries: Sequence[Document], perform: Callable[[Document], None]) -> Document:
    """Perform each entry of a batch; a ServiceError fails only its own entry."""
    successful: list[Document] = []
    failed: list[Document] = []
    for entry in entries:
        try:
            perform(entry)
        except ServiceError as error:
            failed.append(failed_entry(entry["Id"], error))
        else:
            successful.append({"Id": entry["Id"]})
    return batch_answer(successful, failed)
