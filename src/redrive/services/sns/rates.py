"""Rates: how fast an HTTP endpoint gets messages, and how fast a FIFO topic takes them.

What was used is kept in memory, by each node, so a restart begins anew and no statement runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import SECOND_MS
from redrive.core.errors import ServiceError
from redrive.services.sns import limits
from redrive.services.sns.model.message import Draft
from redrive.services.sns.model.topic import Topic
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


def throttled(tx: Transaction, delivery: Delivery, per_s: int) -> Delivery:
    """The first attempt of a delivery to an endpoint that gets so many a second, evenly spread. Retries have waits."""
    # A unit is the part of a millisecond in which one of `per_s` seconds goes by, so that all numbers are whole.
    level = tx.metrics.rates.take(f"sns.receives/{delivery.source_arn}", floor=tx.now * per_s, amount=SECOND_MS)
    return delivery._replace(due_at=-(-level // per_s))


def check_fifo_rate(tx: Transaction, topic: Topic, drafts: Sequence[Draft]) -> None:
    """Refuse messages beyond what a FIFO topic, or a group of one that counts by groups, takes in a second.

    Errors: ThrottledException.
    """
    if topic.is_fifo and tx.services.has_rates:
        take_rate(tx, topic, drafts)


def take_rate(tx: Transaction, topic: Topic, drafts: Sequence[Draft]) -> None:
    """Use up the rate of a FIFO topic. Errors: ThrottledException."""
    if topic.is_scoped_by_group:
        for draft in drafts:
            _take(tx, f"{topic.arn}/{draft.group}", 1, limits.FIFO_GROUP_MESSAGES_PER_S)
        return
    _take(tx, topic.arn, len(drafts), limits.FIFO_MESSAGES_PER_S)
    _take(tx, f"{topic.arn}#bytes", sum(draft.size for draft in drafts), limits.FIFO_BYTES_PER_S)


def _take(tx: Transaction, what: str, amount: int, per_s: int) -> None:
    """Errors: ThrottledException. The refused step takes nothing, because it is rolled back."""
    level = tx.metrics.rates.take(f"sns.publishes/{what}", floor=tx.now * per_s, amount=amount * SECOND_MS)
    if level + amount * SECOND_MS > (tx.now + SECOND_MS) * per_s:
        raise ServiceError("ThrottledException", "Rate exceeded")
