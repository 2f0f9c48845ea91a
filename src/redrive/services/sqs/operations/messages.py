"""Sending messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.worker import will_age
from redrive.services.sqs import limits
from redrive.services.sqs.model.messages import Draft, check_batch_is_ordered, draft_message, sequence_number
from redrive.services.sqs.model.queue import Queue, dedup_scope
from redrive.services.sqs.model.requests import (
    batch_answer,
    check_batch,
    check_entries_have,
    failed_entry,
    invalid_parameter,
    missing_parameter,
)
from redrive.services.sqs.operations.queues import find_queue
from redrive.services.sqs.retention import RETENTION
from redrive.services.sqs.sending import announce, count_sent, new_message
from redrive.store.api import Transaction
from redrive.store.tables.messages import NewMessage

_BATCH_ENTRY = "SendMessageBatchRequestEntry"

_Caused = tuple[Draft, str | None]
"""A message to send, and the execution that sends the message; None for a client."""


@operation("SendMessage")
def send_message(
    tx: Transaction,
    caller: Caller,
    *,
    queue_url: str,
    message_body: str,
    delay_seconds: int | None = None,
    message_attributes: Mapping[str, Document] | None = None,
    message_system_attributes: Mapping[str, Document] | None = None,
    message_deduplication_id: str | None = None,
    message_group_id: str | None = None,
) -> Document:
    """Send a message to a queue. A FIFO queue ignores a repeated send for five minutes.

    The repeated send gets the answer of the first.

    Errors: QueueDoesNotExist; MissingRequiredParameterException (an empty body; no group id for a FIFO queue);
    InvalidMessageContents; InvalidParameterValueException (size, delay, attributes, ids); UnsupportedOperation.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:SendMessage")
    if not message_body:
        raise missing_parameter("MessageBody")
    if queue.is_fifo and message_group_id is None:
        raise missing_parameter("MessageGroupId")
    draft = draft_message(
        queue, message_body, delay_s=delay_seconds, attributes=message_attributes,
        system_attributes=message_system_attributes, deduplication_id=message_deduplication_id,
        group_id=message_group_id, trace_header=caller.trace_header,
    )  # fmt: skip
    if draft.size > queue.attributes.message_bytes_max:
        raise _too_long("One or more parameters are invalid.", queue)
    (answer,) = _accept(tx, caller, queue, [(draft, None if tx.cause is None else tx.cause.execution_id)])
    return answer


@operation("SendMessageBatch")
def send_message_batch(tx: Transaction, caller: Caller, *, queue_url: str, entries: Sequence[Document]) -> Document:
    """Send up to ten messages to a queue; each entry succeeds or fails on its own.

    Errors: for each entry those of SendMessage; for the whole request QueueDoesNotExist, BatchRequestTooLong,
    EmptyBatchRequest, TooManyEntriesInBatchRequest, InvalidBatchEntryId, BatchEntryIdsNotDistinct,
    MissingRequiredParameterException, InvalidParameterValueException (an entry for a FIFO queue without a group id or
    deduplication id).
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:SendMessage")
    check_batch(entries, _BATCH_ENTRY)
    check_entries_have(entries, _BATCH_ENTRY, "MessageBody")
    if queue.is_fifo:
        check_batch_is_ordered(queue, entries)
    drafts: dict[str, Draft] = {}
    failed: list[Document] = []
    for entry in entries:
        try:
            drafts[entry["Id"]] = _draft_entry(queue, entry, caller.trace_header)
        except ServiceError as error:
            failed.append(failed_entry(entry["Id"], error))
    size = sum(draft.size for draft in drafts.values())
    if size > limits.BATCH_BYTES_MAX:
        raise ServiceError(
            "BatchRequestTooLong",
            f"Batch requests cannot be longer than {limits.BATCH_BYTES_MAX} bytes. You have sent {size} bytes.",
        )
    for entry_id, draft in list(drafts.items()):
        if draft.size > queue.attributes.message_bytes_max:
            failed.append(failed_entry(entry_id, _too_long("One or more parameters cannot be validated.", queue)))
            del drafts[entry_id]
    cause = tx.cause
    answers = _accept(
        tx, caller, queue,
        [(draft, None if cause is None else cause.of_entry(entry_id)) for entry_id, draft in drafts.items()],
    )  # fmt: skip
    successful = [{"Id": entry_id, **answer} for entry_id, answer in zip(drafts, answers, strict=True)]
    return batch_answer(successful, failed)


def _accept(tx: Transaction, caller: Caller, queue: Queue, drafts: Iterable[_Caused]) -> list[Document]:
    """Store messages in this order, and return the answer for each."""
    messages = [(new_message(tx, caller, queue, draft, cause), draft) for draft, cause in drafts]
    if not messages:
        return []
    if queue.is_fifo:
        tx.messages.reserve_in_order(queue.contents)
        answers = [_accept_in_order(tx, queue, message, draft) for message, draft in messages]
    else:
        tx.messages.put_many([message for message, _ in messages])
        answers = [_sent(message.message_id, draft) for message, draft in messages]
        if not queue.has_groups and any(draft.group_id is not None for _, draft in messages):
            tx.resources.put(queue.scope, dataclasses.replace(queue, has_groups=True))
    will_age(tx, RETENTION, tx.now + (limits.DEDUPLICATION_MS if queue.is_fifo else queue.attributes.retention_ms))
    announce(tx, queue, min(message.visible_at for message, _ in messages))
    count_sent(tx, queue, [draft.size for _, draft in messages])
    return answers


def _accept_in_order(tx: Transaction, queue: Queue, message: NewMessage, draft: Draft) -> Document:
    """Store a message of a FIFO queue, or find the earlier message with the same deduplication id."""
    dedup_id, group_id = message.deduplication_id, message.group_id
    assert dedup_id is not None
    assert group_id is not None
    scope = dedup_scope(queue, group_id)
    message_id = message.message_id
    seq = tx.messages.put_in_order(message, remembered_by=queue.contents, scope=scope)
    if seq is None:
        earlier = tx.dedup.find_send(queue.contents, scope, dedup_id, tx.now)
        assert earlier is not None
        message_id, seq = earlier
    else:
        expires_at = tx.now + limits.DEDUPLICATION_MS
        tx.dedup.remember_send(queue.contents, scope, dedup_id, message_id=message_id, seq=seq, expires_at=expires_at)
    return {**_sent(message_id, draft), "SequenceNumber": sequence_number(seq)}


def _draft_entry(queue: Queue, entry: Document, trace_header: str) -> Draft:
    return draft_message(
        queue, entry["MessageBody"], delay_s=entry.get("DelaySeconds"), attributes=entry.get("MessageAttributes"),
        system_attributes=entry.get("MessageSystemAttributes"), deduplication_id=entry.get("MessageDeduplicationId"),
        group_id=entry.get("MessageGroupId"), trace_header=trace_header,
    )  # fmt: skip


def _sent(message_id: str, draft: Draft) -> Document:
    answer: Document = {"MessageId": message_id, "MD5OfMessageBody": draft.body_md5}
    if draft.attributes_md5 is not None:
        answer["MD5OfMessageAttributes"] = draft.attributes_md5
    if draft.system_attributes_md5 is not None:
        answer["MD5OfMessageSystemAttributes"] = draft.system_attributes_md5
    return answer


def _too_long(what: str, queue: Queue) -> ServiceError:
    return invalid_parameter(f"{what} Reason: Message must be shorter than {queue.attributes.message_bytes_max} bytes.")
