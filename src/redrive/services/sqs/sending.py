"""What every way into a queue shares, and the way for one message that goes to many queues.

A topic with a hundred subscriptions would otherwise call SendMessage a hundred times. The queues' policies decide here
as they do there; what is not plain is left to SendMessage, which alone words refusals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from redrive.core.arn import Arn
from redrive.core.clock import SECOND_MS, Instant
from redrive.core.entropy import new_row_id
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.worker import will_age
from redrive.services.sqs import limits
from redrive.services.sqs.model.messages import Draft, draft_message
from redrive.services.sqs.model.metrics import metrics_of
from redrive.services.sqs.model.policy import binding_policy
from redrive.services.sqs.model.queue import Queue
from redrive.services.sqs.retention import RETENTION
from redrive.store.api import QueueMessage, Transaction
from redrive.store.tables.messages import NewMessage

_SEND = "sqs:SendMessage"


def send_to_queues(tx: Transaction, messages: Sequence[QueueMessage]) -> list[str | None]:
    """Send messages to standard queues, all by one statement; returns the id of each message.

    None stands for a message that was not sent, because the queue is no standard queue, or refuses the message.
    """
    ids: list[str | None] = []
    rows: list[NewMessage] = []
    accepted: dict[str, tuple[Queue, list[int]]] = {}
    for message in messages:
        queue = _open_queue(tx, message)
        draft = None if queue is None else _draft(queue, message)
        if queue is None or draft is None:
            ids.append(None)
            continue
        row = new_message(tx, message.caller, queue, draft, message.execution_id)
        rows.append(row)
        ids.append(row.message_id)
        accepted.setdefault(queue.arn, (queue, []))[1].append(draft.size)
    if rows:
        tx.messages.put_many(rows)
    for queue, sizes in accepted.values():
        will_age(tx, RETENTION, tx.now + queue.attributes.retention_ms)
        announce(tx, queue, tx.now + queue.attributes.delay_s * SECOND_MS)
        count_sent(tx, queue, sizes)
    return ids


def announce_queues(tx: Transaction, arns: Iterable[str]) -> None:
    """Say which FIFO queues this step will send to, before it reserves anything. Others need no reservation."""
    found = [tx.resources.get(Queue, Scope(arn.account, arn.region), arn.resource) for arn in map(Arn.parse, arns)]
    tx.messages.announce_in_order(*(queue.contents for queue in found if queue is not None and queue.is_fifo))


def _open_queue(tx: Transaction, message: QueueMessage) -> Queue | None:
    """The queue of a message, if it is a standard queue that lets the sender in."""
    if message.caller.invoked_by:
        return None  # A trail may ask for a record of the call.
    arn = Arn.parse(message.queue_arn)
    queue = tx.resources.get(Queue, Scope(arn.account, arn.region), arn.resource)
    if queue is None or queue.is_fifo or queue.tags:
        return None  # Tags are in the context of the decision, which SendMessage builds.
    policy = queue.attributes.policy and binding_policy(queue, message.caller, _SEND)
    try:
        tx.services.authorize(tx, message.caller, _SEND, queue.arn, policy=policy)
    except ServiceError:
        return None
    return queue


def _draft(queue: Queue, message: QueueMessage) -> Draft | None:
    """The checked message; None if the queue refuses it."""
    if not message.body:
        return None
    try:
        draft = draft_message(
            queue, message.body, delay_s=None, attributes=message.attributes, system_attributes=None,
            deduplication_id=None, group_id=None, trace_header=message.caller.trace_header,
        )  # fmt: skip
    except ServiceError:
        return None
    return draft if draft.size <= queue.attributes.message_bytes_max else None


def new_message(tx: Transaction, caller: Caller, queue: Queue, draft: Draft, cause: str | None) -> NewMessage:
    """Build the row of a message that is sent now. `cause` is the execution that sends the message."""
    settings = queue.attributes
    delay_s = settings.delay_s if draft.delay_s is None else draft.delay_s
    return NewMessage(
        queue=queue.contents, message_id=new_row_id(tx.entropy, tx.now), body=draft.body, body_md5=draft.body_md5,
        attributes=draft.attributes, system_attributes=draft.system_attributes, sender_id=_sender_id(caller),
        group_id=draft.group_id, sent_at=tx.now, visible_at=tx.now + delay_s * SECOND_MS,
        expires_at=tx.now + settings.retention_ms, deduplication_id=draft.deduplication_id,
        cause=cause,
    )  # fmt: skip


def _sender_id(caller: Caller) -> str:
    """Return the SenderId: the account, the user's name, or `ROLE:SESSION` for an assumed role."""
    if caller.role_arn is not None:
        return f"{caller.role_arn.rsplit('/', 1)[-1]}:{caller.session_name}"
    return caller.account if caller.user_arn is None else caller.user_arn.rsplit("/", 1)[-1]


def announce(tx: Transaction, queue: Queue, visible_at: Instant) -> None:
    """Notify waiting receives, unless the message becomes visible after the longest wait.

    Notify the queue's readers.
    """
    if visible_at - tx.now <= limits.WAIT_S_MAX * SECOND_MS:
        tx.notify(queue.topic)
    arrived(tx, queue.arn, visible_at)


def count_sent(tx: Transaction, queue: Queue, sizes: Sequence[int]) -> None:
    """Count messages for the queue's metrics; messages of the same size share one sample."""
    metrics = metrics_of(queue.arn)
    tx.metrics.count(metrics.sent, tx.now, times=len(sizes))
    occurring: dict[int, int] = {}
    for size in sizes:
        occurring[size] = occurring.get(size, 0) + 1
    for size, times in occurring.items():
        tx.metrics.count(metrics.sent_bytes, tx.now, size, times=times)
