"""Confirmations: an endpoint is asked whether it wants a topic's messages, and told when a subscription ends."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_row_id
from redrive.delivery.upkeep.worker import will_age
from redrive.services.sns import limits
from redrive.services.sns.model.delivered import SOURCE, place_of, retry_policy
from redrive.services.sns.model.envelope import confirmation
from redrive.services.sns.model.message import stamp
from redrive.services.sns.model.subscription import HTTP_PROTOCOLS, Subscription, SubscriptionToken
from redrive.services.sns.model.topic import Topic
from redrive.services.sns.retention import RETENTION
from redrive.services.sns.signing import certificate_url, sign
from redrive.services.sns.subscribers import store_subscription
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

TOKEN_DIGITS = 64
SUBSCRIBE = "SubscriptionConfirmation"
UNSUBSCRIBE = "UnsubscribeConfirmation"


def ask_for_confirmation(tx: Transaction, topic: Topic, subscription: Subscription) -> Subscription:
    """Store a pending subscription with a new token, and promise the message that asks its endpoint."""
    asked = _with_token(tx, topic, subscription)
    store_subscription(tx, topic.scope, asked)
    _promise(tx, topic, asked, SUBSCRIBE)
    return asked


def tell_of_end(tx: Transaction, topic: Topic, subscription: Subscription) -> None:
    """Tell an HTTP endpoint that its subscription has ended; the message's token brings the subscription back."""
    if subscription.protocol in HTTP_PROTOCOLS:
        _promise(tx, topic, _with_token(tx, topic, subscription), UNSUBSCRIBE)


def _with_token(tx: Transaction, topic: Topic, subscription: Subscription) -> Subscription:
    token = tx.entropy.hex(TOKEN_DIGITS)
    until = tx.now + limits.TOKEN_MS
    if subscription.token:
        tx.resources.delete(SubscriptionToken, topic.scope, subscription.token)
    tx.resources.put(topic.scope, SubscriptionToken(token, subscription.name, until))
    will_age(tx, RETENTION, until)
    return replace(subscription, token=token, token_until=until)


def _promise(tx: Transaction, topic: Topic, one: Subscription, kind: str) -> None:
    message_id = new_row_id(tx.entropy, tx.now)
    envelope: Document = confirmation(
        kind, message_id=message_id, topic_arn=topic.arn, subscription_arn=one.arn, token=one.token, host=one.host,
        at=stamp(tx.now),
    )  # fmt: skip
    version = topic.attributes.get("SignatureVersion", "1")
    envelope |= {
        "SignatureVersion": version,
        "Signature": sign(tx, envelope, version),
        "SigningCertURL": certificate_url(tx, one.host),
    }
    document = {"message": {"id": message_id}, "confirmation": envelope, "protocol": one.protocol}
    tx.deliveries.put(
        Delivery(
            id=f"{message_id}/{one.id}", scope=topic.scope, source=SOURCE, source_arn=one.arn, target_arn=one.endpoint,
            document=document, policy=retry_policy(one, topic.attributes.get("DeliveryPolicy", "")),
            place=place_of(one.protocol), due_at=tx.now, first_at=tx.now,
        )
    )  # fmt: skip
    tx.notify("due")
