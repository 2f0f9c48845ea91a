"""ConfirmSubscription: an endpoint says that it wants a topic's messages."""

from __future__ import annotations

import re
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.sns.confirming import TOKEN_DIGITS
from redrive.services.sns.model.requests import invalid
from redrive.services.sns.model.subscription import Subscription, SubscriptionToken
from redrive.services.sns.model.topic import Topic, scope_of
from redrive.services.sns.replaying import start_replay
from redrive.services.sns.subscribers import store_subscription
from redrive.store.api import Transaction

_TOKEN = re.compile(rf"[0-9a-f]{{{TOKEN_DIGITS}}}")
_TOPIC = re.compile(r"arn:aws:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]+")


@operation("ConfirmSubscription")
def confirm_subscription(
    tx: Transaction,
    caller: Caller,  # noqa: ARG001 - the token alone decides.
    *,
    topic_arn: str,
    token: str,
    authenticate_on_unsubscribe: str | None = None,
) -> Document:
    """Confirm a subscription with the token that its endpoint got. Repeating the call answers the same.

    The topic's name is not compared with the token's. Nobody needs a permission: the token is one.

    Errors: InvalidParameterException (the token, or an ARN that is none).
    Source: https://docs.aws.amazon.com/sns/latest/api/API_ConfirmSubscription.html
    """
    if not _TOPIC.fullmatch(topic_arn):
        raise invalid("Topic")
    if not _TOKEN.fullmatch(token):
        raise invalid("Invalid token")
    scope = scope_of(topic_arn)
    known = tx.resources.get(SubscriptionToken, scope, token)
    found = (
        None if known is None or known.until <= tx.now else tx.resources.get(Subscription, scope, known.subscription)
    )
    topic = None if found is None else tx.resources.get(Topic, scope, found.topic_name)
    if found is None or topic is None:
        raise invalid("Token")
    if found.is_pending:
        is_authenticated = (authenticate_on_unsubscribe or "").lower() == "true"
        confirmed = replace(found, is_pending=False, is_authenticated=is_authenticated)
        store_subscription(tx, scope, confirmed)
        start_replay(tx, topic, confirmed)
    return {"SubscriptionArn": found.arn}
