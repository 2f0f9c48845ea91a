"""Lambda's own checks of the topics that functions tell of their events, perhaps in other accounts."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.arn import Arn
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.store.api import Transaction


def topic_exists(tx: Transaction, topic_arn: str, request_id: str) -> bool:
    """Whether a topic with this ARN exists, also if neither the caller nor the function's role may see it."""
    return bool(_attributes(tx, topic_arn, request_id))


def authorize_on_topic(tx: Transaction, session: Caller, action: str, topic_arn: str) -> None:
    """Refuse an action that neither the function's role nor the topic's policy allows.

    Errors: AccessDeniedException.
    """
    policy = _attributes(tx, topic_arn, session.request_id).get("Policy", "")
    tx.services.authorize(tx, session, action, topic_arn, policy=policy)


def _attributes(tx: Transaction, topic_arn: str, request_id: str) -> Mapping[str, str]:
    """Return the attributes of a topic, read as its owner; empty if the topic does not exist."""
    arn = Arn.parse(topic_arn)
    owner = Caller(Scope(arn.account, arn.region), request_id)
    try:
        found: Mapping[str, str] = tx.services.call(tx, owner, "sns", "GetTopicAttributes", {"TopicArn": topic_arn})[
            "Attributes"
        ]
    except ServiceError:
        return {}
    return found
