"""The order of FIFO topics: while a message of a group is not delivered, later ones of the group wait.

A lane is a subscription with a group. It is stored only while one of its deliveries is promised, so a topic whose
queues accept everything at once writes none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from redrive.services.sns.model.topic import scope_of
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Lane:
    """The deliveries of a subscription and a group that have not ended, in their order."""

    KIND: ClassVar[str] = "sns.lane"
    IS_STATE: ClassVar[bool] = True

    name: str
    waiting: tuple[str, ...] = ()


def is_ordered(delivery: Delivery) -> bool:
    """Whether a delivery belongs to a FIFO topic."""
    return "sequence" in delivery.document["message"]


def announce_lanes(tx: Transaction, subscription_arns: Sequence[str], groups: Iterable[str]) -> None:
    """Say which lanes this step will look at, before it reserves anything."""
    if tx.is_shared and subscription_arns:
        names = [_lane_name(arn, group) for group in set(groups) for arn in subscription_arns]
        tx.resources.announce(Lane, scope_of(subscription_arns[0]), names)


def is_blocked(tx: Transaction, delivery: Delivery) -> bool:
    """Whether another delivery has to end before this one."""
    lane = tx.resources.get(Lane, scope_of(delivery.source_arn), _name(delivery))
    return lane is not None and lane.waiting[:1] not in ((), (delivery.id,))


def wait_in_order(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    """Note promised deliveries behind those that wait already."""
    for delivery in filter(is_ordered, deliveries):
        scope, name = scope_of(delivery.source_arn), _name(delivery)
        lane = tx.resources.get(Lane, scope, name) or Lane(name)
        tx.resources.put(scope, Lane(name, (*lane.waiting, delivery.id)))


def leave(tx: Transaction, delivery: Delivery) -> None:
    """Forget a delivery that has ended. The next one of its lane need not wait any longer."""
    if not is_ordered(delivery):
        return
    scope, name = scope_of(delivery.source_arn), _name(delivery)
    lane = tx.resources.get(Lane, scope, name)
    if lane is None:
        return
    left = tuple(one for one in lane.waiting if one != delivery.id)
    if left:
        tx.resources.put(scope, Lane(name, left))
        tx.deliveries.hasten(left[0], tx.now)
        tx.notify("due")
    else:
        tx.resources.delete(Lane, scope, name)


def _name(delivery: Delivery) -> str:
    return _lane_name(delivery.source_arn, str(delivery.document["message"]["group"]))


def _lane_name(subscription_arn: str, group: str) -> str:
    return f"{subscription_arn.rpartition(':')[2]}/{hashlib.sha256(group.encode()).hexdigest()[:_DIGITS]}"
