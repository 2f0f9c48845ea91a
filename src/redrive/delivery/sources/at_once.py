"""Deliveries to queues at once: in the transaction that accepts their content, without rows for the promises.

A queue accepts a message in the same store, so a promise and its fulfilment would be two transactions for nothing. What
a queue does not accept now is left to the source, which promises it. The delivery worker makes the first attempt then,
and only the worker decides on failures, retries and dead letters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Protocol

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.deliver import perform
from redrive.delivery.faults import Fault, all_faults
from redrive.delivery.history.records import Origin, Ran, record_successes
from redrive.delivery.sources.call import Call
from redrive.delivery.sources.targets import queue_url
from redrive.store.api import Cause, QueueMessage, Transaction
from redrive.store.tables.deliveries import Delivery

Sent = dict[str, str]
"""The ids of the messages that queues have accepted, by the ids of the deliveries."""

_PLAIN = frozenset({"QueueUrl", "MessageBody", "MessageAttributes"})


class Sender(Protocol):
    """What a source knows of its deliveries to queues."""

    def caller(self, tx: Transaction, delivery: Delivery, region: str) -> Caller:
        """Who sends a delivery to a queue in this region. Errors: ServiceError."""
        ...

    def params(self, delivery: Delivery) -> Document | None:
        """The parameters of SendMessage for a delivery; None if they cannot be built."""
        ...

    def origin(self, delivery: Delivery) -> Origin:
        """The execution that a delivery belongs to."""
        ...

    def group_key(self, delivery: Delivery) -> object:
        """Equal for deliveries of one target that one call may send."""
        ...


def deliver_to_queues(
    tx: Transaction, deliveries: Sequence[Delivery], sender: Sender, *, is_queue: Callable[[str], bool],
    at_once_max: int, together_max: int,
) -> tuple[list[Delivery], Collection[str]]:  # fmt: skip
    """Deliver what queues accept at once; return these deliveries, and their ids."""
    faults = all_faults(tx).faults
    arns = {delivery.target_arn for delivery in deliveries}
    queues = {arn for arn in arns if is_queue(arn) and not _is_faulty(arn, faults)}
    now = tx.now
    at_once = [delivery for delivery in deliveries if delivery.target_arn in queues and delivery.due_at <= now]
    at_once = at_once[:at_once_max]
    sent = _send_plain(tx, at_once, sender)
    left = [delivery for delivery in at_once if delivery.id not in sent]
    if left:
        tx.side_by_side(_groups(left, sender, together_max), partial(_send, sender, sent))
    delivered = [delivery for delivery in at_once if delivery.id in sent]
    record_successes(tx, [(delivery, sender.origin(delivery), Ran(sent[delivery.id])) for delivery in delivered])
    return delivered, sent


def _send_plain(tx: Transaction, deliveries: Sequence[Delivery], sender: Sender) -> Sent:
    """Send all that is plain by one statement: a body, perhaps attributes, for a standard queue that lets it in.

    What is left needs SendMessageBatch, which knows everything else, or the worker, which knows failures.
    """
    plain: list[str] = []
    messages: list[QueueMessage] = []
    callers: dict[object, Caller] = {}
    for delivery in deliveries:
        try:
            params = sender.params(delivery)
            if params is None or not params.keys() <= _PLAIN:
                continue
            key = sender.group_key(delivery)
            caller = callers.get(key)
            if caller is None:
                region = delivery.target_arn.split(":", 4)[3]
                caller = callers[key] = sender.caller(tx, delivery, region)
        except ServiceError:
            continue
        execution = sender.origin(delivery).execution_id
        plain.append(delivery.id)
        attributes = params.get("MessageAttributes")
        messages.append(QueueMessage(caller, delivery.target_arn, params["MessageBody"], attributes, execution))
    taken = zip(plain, tx.services.send_to_queues(tx, messages), strict=True) if messages else ()
    return {delivery_id: message_id for delivery_id, message_id in taken if message_id is not None}


def _is_faulty(target_arn: str, faults: Sequence[Fault]) -> bool:
    """Whether a fault is aimed at the target: only the worker applies faults."""
    return any(fault.is_aimed_at(target_arn) for fault in faults)


def _groups(deliveries: Sequence[Delivery], sender: Sender, together_max: int) -> list[list[Delivery]]:
    """The deliveries that one call sends."""
    groups: dict[object, list[list[Delivery]]] = {}
    for delivery in deliveries:
        pieces = groups.setdefault(sender.group_key(delivery), [[]])
        if len(pieces[-1]) >= together_max:
            pieces.append([])
        pieces[-1].append(delivery)
    return [piece for pieces in groups.values() for piece in pieces]


def _send(sender: Sender, sent: Sent, tx: Transaction, group: Sequence[Delivery]) -> None:
    """Send a group, and note what the queue has accepted. A failure is not recorded: the worker meets it again.

    The work of a failed call is rolled back by the call itself.
    """
    first = group[0]
    entries: list[Document] = []
    executions: dict[str, str] = {}
    for number, delivery in enumerate(group):
        params = sender.params(delivery)
        if params is not None:
            entry_id = str(number)
            del params["QueueUrl"]
            entries.append({**params, "Id": entry_id})
            executions[entry_id] = sender.origin(delivery).execution_id
    if not entries:
        return
    before, tx.cause = tx.cause, Cause(executions[entries[0]["Id"]], first.id, executions)
    try:
        caller = sender.caller(tx, first, first.target_arn.split(":", 4)[3])
        call = {"QueueUrl": queue_url(first.target_arn), "Entries": entries}
        answer = perform(tx, Call(caller, "sqs", "SendMessageBatch", lambda: call))
    except ServiceError:
        return
    finally:
        tx.cause = before
    for one in answer.get("Successful", ()):
        sent[group[int(one["Id"])].id] = one["MessageId"]
