"""Operations on subscriptions: subscribe, show, change, list, end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import Beforehand, operation
from redrive.services.sns import limits
from redrive.services.sns.access import authorize, existing_topic
from redrive.services.sns.confirming import ask_for_confirmation, tell_of_end
from redrive.services.sns.model.requests import decode_token, encode_token, invalid, no_such_subscription
from redrive.services.sns.model.subscription import HTTP_PROTOCOLS, Subscription, check_endpoint, needs_confirmation
from redrive.services.sns.model.subscription_attributes import changed_attributes, shown_attributes
from redrive.services.sns.model.topic import Topic, scope_of, topic_arn
from redrive.services.sns.replaying import start_replay
from redrive.services.sns.signing import work_before_signing
from redrive.services.sns.subscribers import all_subscriptions, delete_subscription, store_subscription
from redrive.store.api import Transaction

_SUBSCRIPTION = re.compile(r"arn:aws:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]+:[A-Za-z0-9-]+")
_ARN_PARTS = 6


@operation("Subscribe")
def subscribe(
    tx: Transaction, caller: Caller, *, topic_arn: str, protocol: str, endpoint: str | None = None,
    attributes: Mapping[str, str] | None = None, return_subscription_arn: bool = False,
) -> Document | Beforehand:  # fmt: skip
    """Subscribe an endpoint to a topic; the same endpoint once.

    Some endpoints have to confirm before they get anything.

    Errors: InvalidParameterException; NotFoundException; FilterPolicyLimitExceededException;
    SubscriptionLimitExceededException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_Subscribe.html
    """
    topic = existing_topic(tx, caller, topic_arn, "sns:Subscribe")
    where = endpoint or ""
    check_endpoint(protocol, where, is_fifo=topic.is_fifo)
    given = changed_attributes(topic.name, {}, attributes or {}, "Attributes Reason: ")
    asks = needs_confirmation(protocol, where, topic.scope.account, caller.account)
    work = work_before_signing(tx) if asks else None
    if work is not None:
        return work
    others = all_subscriptions(tx, topic.scope, topic.name)
    known = next((one for one in others if (one.protocol, one.endpoint) == (protocol, where)), None)
    if known is not None:
        if given and given != known.attributes:
            raise invalid("Attributes Reason: Subscription already exists with different attributes")
        if known.is_pending:
            known = ask_for_confirmation(tx, topic, replace(known, host=caller.host))
        return _answer(known, shows_arn=return_subscription_arn)
    _check_quotas(tx, topic, others, given)
    own_id = new_uuid(tx.entropy)
    made = Subscription(
        topic_name=topic.name, id=own_id, arn=f"{topic.arn}:{own_id}", protocol=protocol, endpoint=where,
        owner=caller.account, principal=caller.principal_arn, created_at=tx.now, attributes=given, host=caller.host,
    )  # fmt: skip
    if asks:
        made = ask_for_confirmation(tx, topic, replace(made, is_pending=True, is_authenticated=False))
    else:
        store_subscription(tx, topic.scope, made)
        start_replay(tx, topic, made)
    return _answer(made, shows_arn=return_subscription_arn)


@operation("Unsubscribe")
def unsubscribe(tx: Transaction, caller: Caller, *, subscription_arn: str) -> Document | Beforehand:
    """End a subscription. One that does not exist is no error.

    Errors: InvalidParameterException; AuthorizationErrorException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_Unsubscribe.html
    """
    subscription = _find(tx, subscription_arn)
    authorize(tx, caller, "sns:Unsubscribe", subscription_arn)
    if subscription is None:
        return {}
    work = work_before_signing(tx) if subscription.protocol in HTTP_PROTOCOLS else None
    if work is not None:
        return work
    scope = scope_of(subscription.arn)
    delete_subscription(tx, scope, subscription)
    topic = tx.resources.get(Topic, scope, subscription.topic_name)
    if topic is not None:
        tx.resources.put(scope, replace(topic, deleted_subscriptions=topic.deleted_subscriptions + 1))
        if not subscription.is_pending:
            tell_of_end(tx, topic, subscription)
    return {}


@operation("GetSubscriptionAttributes")
def get_subscription_attributes(tx: Transaction, caller: Caller, *, subscription_arn: str) -> Document:
    """Show a subscription.

    Errors: InvalidParameterException; NotFoundException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_GetSubscriptionAttributes.html
    """
    subscription = _existing(tx, caller, subscription_arn, "sns:GetSubscriptionAttributes")
    topic = tx.resources.get(Topic, scope_of(subscription.arn), subscription.topic_name)
    policy = "" if topic is None else topic.attributes.get("DeliveryPolicy", "")
    return {"Attributes": shown_attributes(subscription, policy)}


@operation("SetSubscriptionAttributes")
def set_subscription_attributes(
    tx: Transaction, caller: Caller, *, subscription_arn: str, attribute_name: str, attribute_value: str | None = None
) -> Document:
    """Change one attribute of a subscription. The next message meets it.

    Errors: InvalidParameterException; NotFoundException; FilterPolicyLimitExceededException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_SetSubscriptionAttributes.html
    """
    subscription = _existing(tx, caller, subscription_arn, "sns:SetSubscriptionAttributes")
    given = {attribute_name: attribute_value or ""}
    attributes = changed_attributes(subscription.topic_name, subscription.attributes, given, "")
    scope = scope_of(subscription.arn)
    changed = replace(subscription, attributes=attributes)
    store_subscription(tx, scope, changed)
    topic = tx.resources.get(Topic, scope, subscription.topic_name)
    if attribute_name == "ReplayPolicy" and topic is not None:
        start_replay(tx, topic, changed)
    return {}


@operation("ListSubscriptions")
def list_subscriptions(tx: Transaction, caller: Caller, *, next_token: str | None = None) -> Document:
    """List the caller's subscriptions, 100 to a page.

    Errors: InvalidParameterException (the token).
    Source: https://docs.aws.amazon.com/sns/latest/api/API_ListSubscriptions.html
    """
    authorize(tx, caller, "sns:ListSubscriptions", topic_arn(caller.scope, "*"))
    return _page(tx, caller.scope, "", next_token)


@operation("ListSubscriptionsByTopic")
def list_subscriptions_by_topic(
    tx: Transaction, caller: Caller, *, topic_arn: str, next_token: str | None = None
) -> Document:  # fmt: skip
    """List the subscriptions of a topic, 100 to a page.

    Errors: InvalidParameterException; NotFoundException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_ListSubscriptionsByTopic.html
    """
    topic = existing_topic(tx, caller, topic_arn, "sns:ListSubscriptionsByTopic")
    return _page(tx, topic.scope, f"{topic.name}/", next_token)


def _page(tx: Transaction, scope: Scope, prefix: str, next_token: str | None) -> Document:
    after = decode_token(next_token)
    found = tx.resources.list(Subscription, scope, prefix=prefix, after=after, limit=limits.PAGE_MAX + 1)
    page = found[: limits.PAGE_MAX]
    shown = [
        {
            "SubscriptionArn": one.shown_arn, "Owner": one.owner, "Protocol": one.protocol, "Endpoint": one.endpoint,
            "TopicArn": one.topic_arn,
        }
        for one in page
    ]  # fmt: skip
    answer: Document = {"Subscriptions": shown}
    if len(found) > len(page):
        answer["NextToken"] = encode_token(page[-1].name)
    return answer


def _answer(subscription: Subscription, *, shows_arn: bool) -> Document:
    is_hidden = subscription.is_pending and not shows_arn
    return {"SubscriptionArn": "pending confirmation" if is_hidden else subscription.arn}


def _find(tx: Transaction, arn: str) -> Subscription | None:
    """The subscription with an ARN, or None. Errors: InvalidParameterException."""
    if not arn:
        raise invalid("SubscriptionArn Reason: no value for required parameter")
    parts = arn.split(":")
    if len(parts) < _ARN_PARTS:
        raise invalid(f"SubscriptionArn Reason: An ARN must have at least 6 elements, not {len(parts)}")
    if len(parts) == _ARN_PARTS or not _SUBSCRIPTION.fullmatch(arn):
        raise invalid("SubscriptionId")
    return tx.resources.get(Subscription, scope_of(arn), "/".join(parts[5:7]))


def _existing(tx: Transaction, caller: Caller, arn: str, action: str) -> Subscription:
    subscription = _find(tx, arn)
    authorize(tx, caller, action, arn)
    if subscription is None:
        raise no_such_subscription()
    return subscription


def _check_quotas(
    tx: Transaction, topic: Topic, others: list[Subscription], given: Mapping[str, str]
) -> None:  # fmt: skip
    if tx.services.limits is not Limits.STRICT:
        return
    if topic.is_fifo and len(others) >= limits.FIFO_SUBSCRIPTIONS_MAX:
        raise ServiceError("SubscriptionLimitExceededException", "Subscription limit exceeded")
    filtering = sum(bool(one.filter_policy) for one in others)
    if "FilterPolicy" in given and filtering >= limits.FILTER_POLICIES_PER_TOPIC_MAX:
        raise ServiceError("FilterPolicyLimitExceededException", "Filter policy limit exceeded")
