"""Sending messages and receiving them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import Wait, operation
from redrive.services.sqs import limits
from redrive.services.sqs.api_queues import find_queue
from redrive.services.sqs.model import Queue
from redrive.services.sqs.model_messages import Draft, draft_message, select_system_names, show_message
from redrive.services.sqs.model_receipts import Receipt, encode_receipt
from redrive.services.sqs.model_requests import (
    NOT_OF_THIS_QUEUE_TYPE,
    batch_answer,
    check_batch,
    check_entries_have,
    check_range,
    failed_entry,
    invalid_parameter,
    invalid_value,
    missing_parameter,
)
from redrive.store.api import Transaction
from redrive.store.tables.messages import NewMessage, ReceivedMessage

_BATCH_ENTRY = "SendMessageBatchRequestEntry"
_NONCE_LENGTH = 16
_IN_FLIGHT_COUNTED_AT = "00"


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
    """Put a message into a queue.

    Errors: QueueDoesNotExist; MissingRequiredParameterException (an empty body); InvalidMessageContents;
    InvalidParameterValueException (size, delay, attributes, group id); UnsupportedOperation.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:SendMessage")
    if not message_body:
        raise missing_parameter("MessageBody")
    draft = draft_message(
        message_body, delay_s=delay_seconds, attributes=message_attributes,
        system_attributes=message_system_attributes, deduplication_id=message_deduplication_id,
        group_id=message_group_id,
    )  # fmt: skip
    if draft.size > queue.attributes.message_bytes_max:
        raise _too_long("One or more parameters are invalid.", queue)
    message = _new_message(tx, caller, queue, draft)
    tx.messages.put_many((message,))
    _announce(tx, queue, message.visible_at - tx.now)
    return _sent(message.message_id, draft)


@operation("SendMessageBatch")
def send_message_batch(tx: Transaction, caller: Caller, *, queue_url: str, entries: Sequence[Document]) -> Document:
    """Put up to ten messages into a queue; each entry succeeds or fails by itself.

    Errors: those of SendMessage per entry; for the whole QueueDoesNotExist, BatchRequestTooLong, EmptyBatchRequest,
    TooManyEntriesInBatchRequest, InvalidBatchEntryId, BatchEntryIdsNotDistinct, MissingRequiredParameterException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:SendMessage")
    check_batch(entries, _BATCH_ENTRY)
    check_entries_have(entries, _BATCH_ENTRY, "MessageBody")
    drafts: dict[str, Draft] = {}
    failed: list[Document] = []
    for entry in entries:
        try:
            drafts[entry["Id"]] = _draft_entry(entry)
        except ServiceError as error:
            failed.append(failed_entry(entry["Id"], error))
    size = sum(draft.size for draft in drafts.values())
    if size > limits.BATCH_BYTES_MAX:
        raise ServiceError(
            "BatchRequestTooLong",
            f"Batch requests cannot be longer than {limits.BATCH_BYTES_MAX} bytes. You have sent {size} bytes.",
        )
    messages: list[NewMessage] = []
    successful: list[Document] = []
    for entry_id, draft in drafts.items():
        if draft.size > queue.attributes.message_bytes_max:
            failed.append(failed_entry(entry_id, _too_long("One or more parameters cannot be validated.", queue)))
            continue
        message = _new_message(tx, caller, queue, draft)
        messages.append(message)
        successful.append({"Id": entry_id, **_sent(message.message_id, draft)})
    if messages:
        tx.messages.put_many(messages)
        _announce(tx, queue, min(message.visible_at for message in messages) - tx.now)
    return batch_answer(successful, failed)


@operation("ReceiveMessage")
def receive_message(
    tx: Transaction,
    caller: Caller,
    *,
    queue_url: str,
    attribute_names: Sequence[str] | None = None,
    message_system_attribute_names: Sequence[str] | None = None,
    message_attribute_names: Sequence[str] | None = None,
    max_number_of_messages: int | None = None,
    visibility_timeout: int | None = None,
    wait_time_seconds: int | None = None,
    receive_request_attempt_id: str | None = None,
) -> Document | Wait:
    """Take messages out of sight for the visibility timeout; if there are none, wait for the wait time.

    Messages that were received as often as the redrive policy allows go to the dead-letter queue instead.

    Errors: QueueDoesNotExist; InvalidParameterValueException; InvalidAttributeName; OverLimit (a short poll while about
    120,000 messages are in flight).
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:ReceiveMessage")
    limit = _or_default(max_number_of_messages, 1)
    check_range(limit, "MaxNumberOfMessages", 1, limits.RECEIVE_MESSAGES_MAX, "Must be between 1 and 10, if provided.")
    timeout_s = _or_default(visibility_timeout, queue.attributes.visibility_timeout_s)
    check_range(
        timeout_s, "VisibilityTimeout", 0, limits.VISIBILITY_TIMEOUT_S_MAX, "Must be >= 0 and <= 43200, if provided."
    )
    wait_s = _or_default(wait_time_seconds, queue.attributes.receive_wait_s)
    check_range(wait_s, "WaitTimeSeconds", 0, limits.WAIT_S_MAX, "Must be >= 0 and <= 20, if provided.")
    system_names = select_system_names(attribute_names, message_system_attribute_names)
    if receive_request_attempt_id is not None:
        raise invalid_value(receive_request_attempt_id, "ReceiveRequestAttemptId", NOT_OF_THIS_QUEUE_TYPE)

    until = tx.now + wait_s * SECOND_MS
    hidden_until = tx.now + timeout_s * SECOND_MS
    nonce = tx.entropy.hex(_NONCE_LENGTH)
    messages = _take(tx, queue, visible_at=hidden_until, nonce=nonce, limit=limit)
    if _is_over_limit(tx, queue, messages):
        if wait_s == 0:
            raise ServiceError("OverLimit", f"Too many messages are in flight: the limit is {limits.IN_FLIGHT_MAX}.")
        tx.messages.give_back(queue.id, tx.now, visible_at=hidden_until, receipt=nonce)
        return Wait({}, (queue.topic,), until, again_at=tx.now + limits.OVER_LIMIT_RETRY_MS)
    if not messages:
        return _wait_for_messages(tx, queue, until) if wait_s > 0 else {}
    names = message_attribute_names or ()
    return {
        "Messages": [
            show_message(message, encode_receipt(Receipt(queue.id, message.seq, nonce)), system_names, names)
            for message in messages
        ]
    }


def _take(tx: Transaction, queue: Queue, *, visible_at: Instant, nonce: str, limit: int) -> list[ReceivedMessage]:
    """Claim messages, moving those that were received too often, until there are enough or no more.

    A queue without a redrive policy, or whose dead-letter queue is gone, moves nothing.
    """
    policy = queue.attributes.redrive
    target = tx.resources.get(Queue, queue.scope, policy.dead_letter_name) if policy is not None else None
    if policy is None or target is None:
        return tx.messages.claim_visible(queue.id, tx.now, visible_at=visible_at, receipt=nonce, limit=limit)
    taken: list[ReceivedMessage] = []
    for _ in range(limits.REDRIVE_ROUNDS_MAX):
        messages = tx.messages.claim_visible(
            queue.id, tx.now, visible_at=visible_at, receipt=nonce, limit=limit - len(taken)
        )
        allowed = [message for message in messages if message.receive_count <= policy.receive_count_max]
        taken += allowed
        if len(allowed) == len(messages):
            break
        tx.messages.dead_letter(
            queue.id, tx.now, visible_at=visible_at, receipt=nonce, receive_count_max=policy.receive_count_max,
            dead_letter_queue=target.id, retention_ms=target.attributes.retention_ms, source_queue_arn=queue.arn,
        )  # fmt: skip
        tx.notify(target.topic)
    return taken


def _wait_for_messages(tx: Transaction, queue: Queue, until: Instant) -> Wait:
    """Wait for a message to be sent, or for one that is delayed or in flight to become visible of itself."""
    next_visible = tx.messages.next_visible(queue.id, tx.now)
    if next_visible is None or next_visible >= until:
        return Wait({}, (queue.topic,), until)
    # It lies in the past only if there was more to redrive than one receive does.
    return Wait({}, (queue.topic,), until, again_at=max(next_visible, tx.now + 1))


def _is_over_limit(tx: Transaction, queue: Queue, messages: Sequence[ReceivedMessage]) -> bool:
    """Whether too many messages are in flight; it is counted for one message in 256.

    Counting costs a walk over all that is in flight, so messages whose random id ends in `00` carry the question for
    the others. Such a message stays at the front of the queue while the answer is yes.
    """
    if not any(message.message_id.endswith(_IN_FLIGHT_COUNTED_AT) for message in messages):
        return False
    bound = limits.IN_FLIGHT_MAX + 1
    return tx.messages.count_in_flight(queue.id, tx.now, limit=bound) == bound


def _draft_entry(entry: Document) -> Draft:
    return draft_message(
        entry["MessageBody"], delay_s=entry.get("DelaySeconds"), attributes=entry.get("MessageAttributes"),
        system_attributes=entry.get("MessageSystemAttributes"), deduplication_id=entry.get("MessageDeduplicationId"),
        group_id=entry.get("MessageGroupId"),
    )  # fmt: skip


def _new_message(tx: Transaction, caller: Caller, queue: Queue, draft: Draft) -> NewMessage:
    """The row of a message that is sent now. A group's id on a standard queue is kept and changes nothing."""
    settings = queue.attributes
    delay_s = settings.delay_s if draft.delay_s is None else draft.delay_s
    return NewMessage(
        queue=queue.id, message_id=new_uuid(tx.entropy), body=draft.body, body_md5=draft.body_md5,
        attributes=draft.attributes, system_attributes=draft.system_attributes, sender_id=_sender_id(caller),
        group_id=draft.group_id, sent_at=tx.now, visible_at=tx.now + delay_s * SECOND_MS,
        expires_at=tx.now + settings.retention_ms,
    )  # fmt: skip


def _sender_id(caller: Caller) -> str:
    """The account, or the session of a role as `ROLE:SESSION`."""
    return caller.account if caller.role_arn is None else f"{caller.role_arn.rsplit('/', 1)[-1]}:{caller.session_name}"


def _announce(tx: Transaction, queue: Queue, delay_ms: int) -> None:
    """Tell those who wait for messages, unless their wait ends before the message is visible."""
    if delay_ms <= limits.WAIT_S_MAX * SECOND_MS:
        tx.notify(queue.topic)


def _sent(message_id: str, draft: Draft) -> Document:
    answer: Document = {"MessageId": message_id, "MD5OfMessageBody": draft.body_md5}
    if draft.attributes_md5 is not None:
        answer["MD5OfMessageAttributes"] = draft.attributes_md5
    if draft.system_attributes_md5 is not None:
        answer["MD5OfMessageSystemAttributes"] = draft.system_attributes_md5
    return answer


def _too_long(what: str, queue: Queue) -> ServiceError:
    return invalid_parameter(f"{what} Reason: Message must be shorter than {queue.attributes.message_bytes_max} bytes.")


def _or_default(given: int | None, default: int) -> int:
    return default if given is None else given
