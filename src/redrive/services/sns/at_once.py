"""Deliveries of messages: to queues at once, where they accept; everything else is promised."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.history.records import Origin
from redrive.delivery.sources.at_once import deliver_to_queues
from redrive.services.sns import limits
from redrive.services.sns.calls import origin_of, service_caller
from redrive.services.sns.model import metrics
from redrive.services.sns.model.delivered import content_of, queue_params
from redrive.services.sns.model.envelope import Frame
from redrive.services.sns.order import is_blocked, is_ordered, wait_in_order
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

_QUEUES = "arn:aws:sqs:"


def deliver_or_promise(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    """Deliver what queues accept at once, and promise everything else."""
    free = [one for one in deliveries if not is_ordered(one) or not is_blocked(tx, one)]
    delivered, sent = deliver_to_queues(
        tx, free, _TopicSender(), is_queue=lambda arn: arn.startswith(_QUEUES), at_once_max=limits.AT_ONCE_MAX,
        together_max=limits.SENT_TOGETHER_MAX,
    )  # fmt: skip
    if delivered:
        # All deliveries of a call are of one topic.
        topic_arn = delivered[0].source_arn.rpartition(":")[0]
        tx.metrics.count(metrics.series_of(topic_arn, metrics.DELIVERED), tx.now, times=len(delivered))
    promise(tx, [one for one in deliveries if one.id not in sent])


def promise(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    """Store deliveries, for the delivery worker."""
    wait_in_order(tx, deliveries)
    for delivery in deliveries:
        tx.deliveries.put(delivery)
    if deliveries:
        tx.notify("due")


class _TopicSender:
    """What a topic knows of its deliveries to queues, for one call: what equal deliveries share is made once."""

    def __init__(self) -> None:
        self._frames: dict[str, Frame] = {}
        self._callers: dict[tuple[str, str], Caller] = {}

    def caller(self, tx: Transaction, delivery: Delivery, region: str) -> Caller:
        key = (region, str(delivery.document.get("trace", "")))
        found = self._callers.get(key)
        if found is None:
            found = self._callers[key] = service_caller(tx, delivery, region)
        return found

    def params(self, delivery: Delivery) -> Document | None:
        content = content_of(delivery)
        message_id = str(content.message["id"])
        frame = self._frames.get(message_id)
        if frame is None and not content.is_raw:
            frame = self._frames[message_id] = Frame.of(content.message, content.protocol)
        return queue_params(content, delivery.target_arn, frame)

    def origin(self, delivery: Delivery) -> Origin:
        return origin_of(delivery)

    def group_key(self, delivery: Delivery) -> object:
        return (delivery.source_arn, delivery.document.get("trace"))
