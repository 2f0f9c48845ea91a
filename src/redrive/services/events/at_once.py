"""Deliveries to queues at once: in the transaction that accepts the event, without a row for the promise.

A queue accepts a message in the same store, so a promise and its fulfilment would be two transactions for nothing. What
a queue does not accept now is promised as all other deliveries are. The delivery worker makes the first attempt then,
and only the worker decides on failures, retries and dead letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.delivery.deliver import perform
from redrive.delivery.faults import Fault, all_faults
from redrive.delivery.history.records import Ran, record_successes
from redrive.delivery.sources.call import Call
from redrive.delivery.sources.targets import queue_url
from redrive.services.events.bus_logs import log_delivered_at_once
from redrive.services.events.calls import caller_of, input_of, origin_of
from redrive.services.events.limits import AT_ONCE_MAX, SENT_TOGETHER_MAX
from redrive.services.events.model import metrics
from redrive.services.events.model.targets import QUEUE, Given, find_kind
from redrive.services.events.publish import store_promises
from redrive.store.api import Cause, Transaction
from redrive.store.tables.deliveries import Delivery

_Sent = dict[str, str]
"""The ids of the messages that queues have accepted, by the ids of the deliveries."""


def deliver_or_promise(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    """Deliver what queues accept at once, up to AT_ONCE_MAX deliveries, and promise everything else."""
    faults = all_faults(tx).faults
    queues = {arn for arn in {delivery.target_arn for delivery in deliveries} if _may_be_at_once(arn, faults)}
    now = tx.now
    at_once = [delivery for delivery in deliveries if delivery.target_arn in queues and delivery.due_at <= now]
    at_once = at_once[:AT_ONCE_MAX]
    sent: _Sent = {}
    tx.side_by_side(_groups(at_once), partial(_send, sent))
    delivered = [delivery for delivery in at_once if delivery.id in sent]
    record_successes(tx, [(delivery, origin_of(delivery), Ran(sent[delivery.id])) for delivery in delivered])
    _count(tx, delivered)
    log_delivered_at_once(tx, delivered)
    if len(delivered) < len(deliveries):
        store_promises(tx, [delivery for delivery in deliveries if delivery.id not in sent])


def _may_be_at_once(target_arn: str, faults: Sequence[Fault]) -> bool:
    """Whether the target is a queue at which no fault is aimed: only the worker applies faults."""
    kind = find_kind(target_arn)
    if kind is None or kind.name != QUEUE:
        return False
    return not any(fault.is_aimed_at(target_arn) for fault in faults)


def _groups(deliveries: Sequence[Delivery]) -> list[list[Delivery]]:
    """The deliveries that one call sends: of the same target of the same rule, with the same trace.

    A role's session has the name of the event, so such a delivery is a group of its own.
    """
    groups: dict[object, list[list[Delivery]]] = {}
    for delivery in deliveries:
        target = delivery.document["target"]
        alone = delivery.id if "RoleArn" in target else ""
        key = (delivery.source_arn, target["Id"], delivery.document.get("trace"), alone)
        pieces = groups.setdefault(key, [[]])
        if len(pieces[-1]) >= SENT_TOGETHER_MAX:
            pieces.append([])
        pieces[-1].append(delivery)
    return [piece for pieces in groups.values() for piece in pieces]


def _send(sent: _Sent, tx: Transaction, group: Sequence[Delivery]) -> None:
    """Send a group, and note what the queue has accepted. A failure is not recorded: the worker meets it again.

    The work of a failed call is rolled back by the call itself.
    """
    first = group[0]
    entries: list[Document] = []
    executions: dict[str, str] = {}
    for number, delivery in enumerate(group):
        params = _params(delivery)
        if params is not None:
            entry_id = str(number)
            del params["QueueUrl"]
            entries.append({**params, "Id": entry_id})
            executions[entry_id] = origin_of(delivery).execution_id
    if not entries:
        return
    before, tx.cause = tx.cause, Cause(executions[entries[0]["Id"]], first.id, executions)
    try:
        caller = caller_of(tx, first, first.document["target"], Arn.parse(first.target_arn).region)
        params = {"QueueUrl": queue_url(first.target_arn), "Entries": entries}
        answer = perform(tx, Call(caller, "sqs", "SendMessageBatch", lambda: params))
    except ServiceError:
        return
    finally:
        tx.cause = before
    for one in answer.get("Successful", ()):
        sent[group[int(one["Id"])].id] = one["MessageId"]


def _params(delivery: Delivery) -> Document | None:
    """The parameters of SendMessage for a delivery; None if its input cannot be rendered."""
    kind = find_kind(delivery.target_arn)
    assert kind is not None
    assert kind.call is not None, "queues are called by an operation"
    target = delivery.document["target"]
    try:
        text = input_of(delivery, target)
    except ServiceError:
        return None
    return kind.call(Given(Arn.parse(delivery.target_arn), target, text, {}))


def _count(tx: Transaction, delivered: Sequence[Delivery]) -> None:
    """Count what was delivered, for each rule once."""
    rules: Counter[tuple[Scope, str]] = Counter((delivery.scope, delivery.source_arn) for delivery in delivered)
    for (scope, rule_arn), times in rules.items():
        counts = metrics.of_rule_arn(scope, rule_arn, *metrics.DELIVERED_AT_ONCE)
        latencies = metrics.of_rule_arn(scope, rule_arn, *metrics.LATENCIES_AT_ONCE)
        tx.metrics.count(counts, tx.now, times=times)
        tx.metrics.count(latencies, tx.now, 0.0, times=times)
