"""The worker of replays: archived messages go to one subscription again, in pieces and in their order.

The messages of a piece and the replay's progress share a transaction, so no message is lost and none comes twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.sns.at_once import promise
from redrive.services.sns.limits import REPLAYED_PER_CLAIM_MAX
from redrive.services.sns.model.subscription import Subscription
from redrive.services.sns.model.topic import Topic, scope_of
from redrive.services.sns.publish import deliveries_to
from redrive.services.sns.replaying import COMPLETED, REPLAYS, RUNNING, STATUS, ReplayProgress
from redrive.services.sns.subscribers import store_subscription
from redrive.store.api import Transaction
from redrive.store.tables.archives import Place


class SnsReplayWorker:
    """Continues each replay by a bounded number of messages in each transaction."""

    name = "sns_replays"
    timer = REPLAYS
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(REPLAYS)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for arn, _ in tx.timers.due(REPLAYS, tx.now, 1):
            tx.be_alone()
            if not _go_on(tx, arn):
                tx.timers.clear(REPLAYS, arn)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("replays make no attempts")


def _go_on(tx: Transaction, arn: str) -> bool:
    """Replay the next piece; returns whether there may be more."""
    scope = scope_of(arn)
    name = "/".join(arn.split(":")[5:])
    replay = tx.resources.get(ReplayProgress, scope, name)
    subscription = tx.resources.get(Subscription, scope, name)
    topic = None if subscription is None else tx.resources.get(Topic, scope, subscription.topic_name)
    if replay is None or subscription is None or topic is None:
        return False
    found = tx.archives.page(
        replay.archive, Place(replay.minute, replay.seq), start=replay.start_at, end=replay.end_at,
        seq_last=replay.seq_last, limit=REPLAYED_PER_CLAIM_MAX,
    )  # fmt: skip
    messages: list[Document] = [{**load_json(one.event), "replayed": True} for one in found]
    promise(tx, deliveries_to(tx, topic, subscription, messages))
    if len(found) == REPLAYED_PER_CLAIM_MAX:
        tx.resources.put(scope, replace(replay, minute=found[-1].minute, seq=found[-1].seq))
        _set_status(tx, scope, subscription, RUNNING)
        return True
    tx.resources.delete(ReplayProgress, scope, name)
    _set_status(tx, scope, subscription, COMPLETED)
    return False


def _set_status(tx: Transaction, scope: Scope, subscription: Subscription, status: str) -> None:
    if subscription.attributes.get(STATUS) != status:
        store_subscription(
            tx, scope, replace(subscription, attributes={**subscription.attributes, STATUS: status})
        )  # fmt: skip
