"""Replays: a subscription of a FIFO topic gets archived messages again.

Source: https://docs.aws.amazon.com/sns/latest/dg/message-archiving-and-replay-subscriber.html
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from redrive.core.clock import Instant, parse_instant
from redrive.core.documents import load_json
from redrive.services.sns.model.subscription import Subscription
from redrive.services.sns.model.topic import Topic
from redrive.services.sns.retention import archive_id
from redrive.services.sns.subscribers import store_subscription
from redrive.store.api import Transaction

REPLAYS = "sns.replay"
"""The kind of the timers of replays. A timer's name is the subscription's ARN."""

PENDING, RUNNING, COMPLETED, FAILED = "Pending", "In progress", "Completed", "Failed"
STATUS = "ReplayStatus"


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """How far the replay of a subscription is: the place after the last message that was replayed."""

    KIND: ClassVar[str] = "sns.replay"
    IS_STATE: ClassVar[bool] = True

    name: str
    archive: str
    start_at: Instant
    end_at: Instant
    seq_last: int
    ends: bool
    minute: int = 0
    seq: int = 0


def start_replay(tx: Transaction, topic: Topic, subscription: Subscription) -> None:
    """Begin the replay that a subscription's ReplayPolicy asks for, if there is one."""
    text = subscription.attributes.get("ReplayPolicy", "")
    if not text:
        return
    policy = load_json(text)
    if topic.archived_from is None:
        _status(tx, topic, subscription, FAILED)
        return
    ending = policy.get("EndingPoint")
    replay = ReplayProgress(
        subscription.name, archive_id(topic), parse_instant(policy["StartingPoint"]),
        tx.now if ending is None else min(tx.now, parse_instant(ending)), tx.archives.last_seq(), ending is not None,
    )  # fmt: skip
    tx.resources.put(topic.scope, replay)
    tx.timers.set(REPLAYS, subscription.arn, tx.now)
    tx.notify("due")
    _status(tx, topic, subscription, PENDING)


def _status(tx: Transaction, topic: Topic, subscription: Subscription, status: str) -> None:
    attributes = {**subscription.attributes, STATUS: status}
    store_subscription(tx, topic.scope, replace(subscription, attributes=attributes))
