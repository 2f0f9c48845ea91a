"""What SNS forgets: the deduplication ids of FIFO topics, archived messages, tokens of confirmations, old mail."""

from __future__ import annotations

from redrive.core.clock import DAY_MS, Instant
from redrive.delivery.upkeep.worker import rest_until
from redrive.services.sns import limits
from redrive.services.sns.model.mail import Mail
from redrive.services.sns.model.subscription import Subscription, SubscriptionToken
from redrive.services.sns.model.topic import Topic
from redrive.services.sns.model.topic_attributes import retention_days
from redrive.services.sns.subscribers import delete_subscription
from redrive.store.api import Transaction

RETENTION = "sns.retention"
"""The kind of the sweep's timer. Whatever stores what will expire also sets the timer."""


def archive_id(topic: Topic) -> str:
    """The id of a topic's present archive in the table of archives. An archive that begins later has another one."""
    return f"sns.{topic.id}.{topic.archived_from or 0}"


class TopicSweep:
    """Deletes what has expired."""

    timer = RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        left = limit
        over_at: list[Instant] = []
        for _, topic in tx.resources.everywhere(Topic):
            kept_ms = retention_days(topic) * DAY_MS
            if not kept_ms:
                continue
            left -= tx.archives.expire(archive_id(topic), tx.now - kept_ms, limit=left)
            if left <= 0:
                return  # The timer stays due, so the next claim continues.
            oldest_at = tx.archives.oldest(archive_id(topic))
            over_at += [] if oldest_at is None else [oldest_at + kept_ms]
        if tx.dedup.sweep(tx.now, limit=limit) >= limit:
            return
        remembered_until = tx.dedup.next()
        over_at += [] if remembered_until is None else [remembered_until]
        over_at += _forget_tokens(tx)
        over_at += _forget_mail(tx)
        rest_until(tx, RETENTION, min(over_at, default=None))


def _forget_tokens(tx: Transaction) -> list[Instant]:
    """Delete tokens that have expired, with the subscriptions that wait for them; returns when the others will."""
    left: list[Instant] = []
    for scope, token in tx.resources.everywhere(SubscriptionToken):
        if token.until <= tx.now:
            tx.resources.delete(SubscriptionToken, scope, token.name)
            waiting = tx.resources.get(Subscription, scope, token.subscription)
            if waiting is not None and waiting.is_pending and waiting.token == token.name:
                delete_subscription(tx, scope, waiting)
        else:
            left.append(token.until)
    return left


def _forget_mail(tx: Transaction) -> list[Instant]:
    left: list[Instant] = []
    for scope, mail in tx.resources.everywhere(Mail):
        until = mail.at + limits.MAIL_AGE_MS
        if until <= tx.now:
            tx.resources.delete(Mail, scope, mail.name)
        else:
            left.append(until)
    return left
