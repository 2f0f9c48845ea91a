"""Deliveries of events to queues at once: in the transaction that accepts the event.

What a queue does not accept now is promised as all other deliveries are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.scope import Caller, Scope
from redrive.delivery.history.records import Origin
from redrive.delivery.sources.at_once import deliver_to_queues
from redrive.services.events.bus_logs import log_delivered_at_once
from redrive.services.events.calls import caller_of, input_or_none, origin_of
from redrive.services.events.limits import AT_ONCE_MAX, SENT_TOGETHER_MAX
from redrive.services.events.model import metrics
from redrive.services.events.model.targets import QUEUE, Given, find_kind
from redrive.services.events.publish import store_promises
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


def deliver_or_promise(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    """Deliver what queues accept at once, up to AT_ONCE_MAX deliveries, and promise everything else."""
    delivered, sent = deliver_to_queues(
        tx, deliveries, _SENDER, is_queue=_is_queue, at_once_max=AT_ONCE_MAX, together_max=SENT_TOGETHER_MAX
    )  # fmt: skip
    _count(tx, delivered)
    log_delivered_at_once(tx, delivered)
    if len(delivered) < len(deliveries):
        store_promises(tx, [delivery for delivery in deliveries if delivery.id not in sent])


def _is_queue(target_arn: str) -> bool:
    kind = find_kind(target_arn)
    return kind is not None and kind.name == QUEUE


class _RuleSender:
    """What a rule knows of its deliveries to queues."""

    def caller(self, tx: Transaction, delivery: Delivery, region: str) -> Caller:
        return caller_of(tx, delivery, delivery.document["target"], region)

    def params(self, delivery: Delivery) -> Document | None:
        kind = find_kind(delivery.target_arn)
        assert kind is not None
        assert kind.call is not None, "queues are called by an operation"
        target = delivery.document["target"]
        text = input_or_none(delivery, target)
        return None if text is None else kind.call(Given(Arn.parse(delivery.target_arn), target, text, {}))

    def origin(self, delivery: Delivery) -> Origin:
        return origin_of(delivery)

    def group_key(self, delivery: Delivery) -> object:
        """The same target of the same rule, with the same trace.

        A role's session has the name of the event, so such a delivery is a group of its own.
        """
        target = delivery.document["target"]
        alone = delivery.id if "RoleArn" in target else ""
        return (delivery.source_arn, target["Id"], delivery.document.get("trace"), alone)


_SENDER = _RuleSender()


def _count(tx: Transaction, delivered: Sequence[Delivery]) -> None:
    """Count what was delivered, for each rule once."""
    rules: Counter[tuple[Scope, str]] = Counter((delivery.scope, delivery.source_arn) for delivery in delivered)
    for (scope, rule_arn), times in rules.items():
        counts = metrics.of_rule_arn(scope, rule_arn, *metrics.DELIVERED_AT_ONCE)
        latencies = metrics.of_rule_arn(scope, rule_arn, *metrics.LATENCIES_AT_ONCE)
        tx.metrics.count(counts, tx.now, times=times)
        tx.metrics.count(latencies, tx.now, 0.0, times=times)
