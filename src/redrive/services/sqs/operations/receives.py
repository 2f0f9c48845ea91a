"""Receive messages. The order depends on the queue:

standard               in the order of sending
standard, with groups  in the order of sending, messages of quiet groups before messages of noisy groups
FIFO                   each group in its order; a group gives nothing while an earlier message of it is hidden
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import Wait, operation
from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.worker import wake_sweep
from redrive.services.sqs import limits
from redrive.services.sqs.model.groups import noisy_groups
from redrive.services.sqs.model.messages import select_system_names, show_message
from redrive.services.sqs.model.metrics import metrics_of
from redrive.services.sqs.model.queue import Queue, RedrivePolicy, dedup_scope
from redrive.services.sqs.model.receipts import Receipt, encode_receipt
from redrive.services.sqs.model.requests import NOT_OF_THIS_QUEUE_TYPE, check_id, check_range, invalid_value
from redrive.services.sqs.operations.queues import find_queue
from redrive.services.sqs.retention import RETENTION
from redrive.services.sqs.visibility import next_visible_of
from redrive.store.api import Transaction
from redrive.store.tables.dedup import RememberedReceive
from redrive.store.tables.messages import NewMessage, ReceivedMessage
from redrive.store.tables.runs import Move

REDRIVE_POLICY = "redrive policy"
"""The kind of the recorded moves that a receive made, of messages that were received too often."""

_NONCE_LENGTH = 16
_IN_FLIGHT_COUNTED_AT = "00"

_Claim = Callable[[int], list[ReceivedMessage]]
"""Claims at most this many messages, all different from those it claimed before."""


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
    """Receive messages and hide them for the visibility timeout; if there are none, wait for the wait time.

    A message that was received as often as the redrive policy allows moves to the dead-letter queue instead. A receive
    from a FIFO queue that repeats an attempt id returns the same messages with the same handles.

    Errors: QueueDoesNotExist; InvalidParameterValueException; InvalidAttributeName; OverLimit (a short poll of a
    standard queue while about 120,000 messages are in flight).
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
    attempt_id = _attempt_id(queue, receive_request_attempt_id)

    hidden_until = tx.now + timeout_s * SECOND_MS
    messages = _receive(tx, queue, hidden_until=hidden_until, limit=limit, attempt_id=attempt_id)
    if messages is None:
        return _over_limit(tx, queue, wait_s)
    if not messages:
        return _nothing(tx, queue, wait_s)
    tx.metrics.count(metrics_of(queue.arn).received, tx.now, times=len(messages))
    names = message_attribute_names or ()
    return {
        "Messages": [
            show_message(message, encode_receipt(Receipt(queue.id, message.seq, message.receipt)), system_names, names)
            for message in messages
        ]
    }


def _receive(
    tx: Transaction, queue: Queue, *, hidden_until: Instant, limit: int, attempt_id: str | None
) -> list[ReceivedMessage] | None:
    """Claim messages, or return those that this attempt id received before; None if too many are in flight."""
    if queue.is_fifo:
        _reserve(tx, queue)
    if attempt_id is not None:
        messages = _replay(tx, queue, attempt_id, hidden_until)
        if messages:
            return messages
    nonce = tx.entropy.hex(_NONCE_LENGTH)
    messages = _take(tx, queue, visible_at=hidden_until, nonce=nonce, limit=limit)
    if _is_over_limit(tx, queue, messages):
        tx.messages.give_back(queue.contents, tx.now, visible_at=hidden_until, receipt=nonce)
        return None
    if attempt_id is not None and messages:
        seqs = tuple(message.seq for message in messages)
        remembered = RememberedReceive(nonce, seqs, hidden_until, tx.now + limits.RECEIVE_REPLAY_MS)
        tx.dedup.remember_receive(queue.contents, attempt_id, remembered)
    return messages


def _reserve(tx: Transaction, queue: Queue) -> None:
    """Let nobody else receive from a FIFO queue in this transaction, nor write to its dead-letter queue."""
    policy = queue.attributes.redrive
    target = tx.resources.get(Queue, queue.scope, policy.dead_letter_name) if policy is not None else None
    if target is not None and target.is_fifo:
        tx.messages.reserve_in_order(queue.contents, target.contents)
    else:
        tx.messages.reserve_in_order(queue.contents)


def _replay(tx: Transaction, queue: Queue, attempt_id: str, hidden_until: Instant) -> list[ReceivedMessage]:
    """Hide the messages of this attempt id again, and return them; empty if there are none or any has changed."""
    before = tx.dedup.find_receive(queue.contents, attempt_id, tx.now)
    if before is None:
        return []
    messages = tx.messages.hold_again(
        queue.contents, tx.now, seqs=before.seqs, receipt=before.receipt, was_visible_at=before.visible_at,
        visible_at=hidden_until,
    )  # fmt: skip
    if messages:
        # The five minutes count from the first receive, also after repeats.
        again = RememberedReceive(before.receipt, before.seqs, hidden_until, before.expires_at)
        tx.dedup.remember_receive(queue.contents, attempt_id, again)
    return messages


def _take(tx: Transaction, queue: Queue, *, visible_at: Instant, nonce: str, limit: int) -> list[ReceivedMessage]:
    """Claim messages until there are enough or no more; those received too often go to the dead-letter queue.

    Nothing moves if the queue has no redrive policy, if its dead-letter queue is gone, or if it is its own.
    """
    claim_some = _claim_of(tx, queue, visible_at=visible_at, receipt=nonce, limit=limit)
    policy = queue.attributes.redrive
    target = tx.resources.get(Queue, queue.scope, policy.dead_letter_name) if policy is not None else None
    if policy is None or target is None or target.is_fifo != queue.is_fifo or target.id == queue.id:
        return claim_some(limit)
    taken: list[ReceivedMessage] = []
    for _ in range(limits.REDRIVE_ROUNDS_MAX):
        messages = claim_some(limit - len(taken))
        allowed = [message for message in messages if message.receive_count <= policy.receive_count_max]
        taken += allowed
        if len(allowed) == len(messages):
            break
        if queue.is_fifo:
            _dead_letter_in_order(tx, queue, target, policy, messages)
        else:
            tx.messages.dead_letter(
                queue.contents, tx.now, visible_at=visible_at, receipt=nonce,
                receive_count_max=policy.receive_count_max, dead_letter_queue=target.contents,
                retention_ms=target.attributes.retention_ms, source_queue_arn=queue.arn,
            )  # fmt: skip
        tx.runs.move(
            [
                Move(
                    tx.now, one.execution_id, REDRIVE_POLICY, queue.arn, target.arn, one.message_id, one.message_id,
                    one.receive_count - 1,
                )
                for one in messages
                if one.receive_count > policy.receive_count_max
            ]
        )  # fmt: skip
        wake_sweep(tx, RETENTION)  # A dead letter keeps its first time of sending, so it may expire soon.
        tx.notify(target.topic)
        arrived(tx, target.arn, tx.now)
        # A dead letter does not count as sent, and yet its queue has to be measured from now on.
        tx.metrics.watch(metrics_of(target.arn).visible, tx.now)
    return taken


def _claim_of(tx: Transaction, queue: Queue, *, visible_at: Instant, receipt: str, limit: int) -> _Claim:
    """Return the function that claims messages of this queue.

    All its claims together return at most `limit` messages.
    """
    now, messages = tx.now, tx.messages
    if queue.is_fifo:
        if messages.expire_in_order(queue.contents, now):
            arrived(tx, queue.arn, now)  # Messages behind the expired ones in their group can now be received.

        def claim_in_order(room: int) -> list[ReceivedMessage]:
            return messages.claim_in_order(
                queue.contents, now, visible_at=visible_at, receipt=receipt, limit=room, taken=limit - room
            )

        return claim_in_order

    def claim_oldest(room: int) -> list[ReceivedMessage]:
        return messages.claim_visible(queue.contents, now, visible_at=visible_at, receipt=receipt, limit=room)

    if not queue.has_groups:
        return claim_oldest
    noisy = noisy_groups(messages.in_flight_by_group(queue.contents, now, limit=limits.FAIR_IN_FLIGHT_COUNTED_MAX))
    if not noisy:
        return claim_oldest

    def claim_fairly(room: int) -> list[ReceivedMessage]:
        quiet = messages.claim_of_other_groups(
            queue.contents, now, visible_at=visible_at, receipt=receipt, groups=noisy, limit=room,
            groups_max=limits.FAIR_GROUPS_MAX,
        )  # fmt: skip
        return quiet + claim_oldest(room - len(quiet)) if len(quiet) < room else quiet

    return claim_fairly


def _dead_letter_in_order(
    tx: Transaction, queue: Queue, target: Queue, policy: RedrivePolicy, messages: Sequence[ReceivedMessage]
) -> None:
    """Move messages received too often to the end of their groups in the dead-letter queue, as if sent there now.

    The message id becomes the deduplication id, and this claim does not count as a receive.
    """
    for message in messages:
        if message.receive_count <= policy.receive_count_max:
            continue
        assert message.group_id is not None
        tx.messages.take_out_in_order(queue.contents, message.seq, message.group_id)
        tx.messages.put_in_order(
            NewMessage(
                queue=target.contents, message_id=message.message_id, body=message.body, body_md5=message.body_md5,
                attributes=message.attributes, system_attributes=message.system_attributes,
                sender_id=message.sender_id, group_id=message.group_id, sent_at=tx.now, visible_at=tx.now,
                expires_at=tx.now + target.attributes.retention_ms, deduplication_id=message.message_id,
                cause=message.cause,
            ),
            remembered_by=target.contents, scope=dedup_scope(target, message.group_id),
            receive_count=message.receive_count - 1, first_received_at=message.first_received_at,
            source_queue_arn=queue.arn,
        )  # fmt: skip


def _over_limit(tx: Transaction, queue: Queue, wait_s: int) -> Document | Wait:
    """Refuse a short poll of a standard queue. Other receives get no messages.

    Errors: OverLimit.
    """
    if wait_s > 0:
        until = tx.now + wait_s * SECOND_MS
        return Wait({}, (queue.topic,), until, again_at=tx.now + limits.OVER_LIMIT_RETRY_MS)
    if queue.is_fifo:
        return _nothing(tx, queue, wait_s)
    raise ServiceError("OverLimit", f"Too many messages are in flight: the limit is {limits.IN_FLIGHT_MAX}.")


def _nothing(tx: Transaction, queue: Queue, wait_s: int) -> Document | Wait:
    """Answer without messages, or wait until a message is sent or a hidden message becomes visible again.

    A wait ends outside of any transaction, so only short polls count as empty receives.
    """
    if wait_s == 0:
        tx.metrics.count(metrics_of(queue.arn).empty_receives, tx.now)
        return {}
    until = tx.now + wait_s * SECOND_MS
    next_visible = next_visible_of(tx, queue)
    if next_visible is None or next_visible >= until:
        return Wait({}, (queue.topic,), until)
    # The instant is in the past only if one receive could not move all messages that were received too often.
    return Wait({}, (queue.topic,), until, again_at=max(next_visible, tx.now + 1))


def _is_over_limit(tx: Transaction, queue: Queue, messages: Sequence[ReceivedMessage]) -> bool:
    """Whether too many messages are in flight. Only one message in 256 triggers the count.

    The count reads all messages in flight, so only messages whose random id ends in `00` trigger it. While the answer
    is yes, such a message stays at the front of the queue.
    """
    if not any(message.message_id.endswith(_IN_FLIGHT_COUNTED_AT) for message in messages):
        return False
    bound = limits.IN_FLIGHT_MAX + 1
    return (
        tx.services.limits is Limits.STRICT
        and tx.messages.count_in_flight(queue.contents, tx.now, limit=bound) == bound
    )


def _attempt_id(queue: Queue, given: str | None) -> str | None:
    """Check the attempt id of a receive. Errors: InvalidParameterValueException."""
    if given is None:
        return None
    if not queue.is_fifo:
        raise invalid_value(given, "ReceiveRequestAttemptId", NOT_OF_THIS_QUEUE_TYPE)
    check_id(given, "ReceiveRequestAttemptId")
    return given


def _or_default(given: int | None, default: int) -> int:
    return default if given is None else given
