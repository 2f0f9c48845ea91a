"""The attributes of subscriptions: which texts are valid, and what GetSubscriptionAttributes shows.

Source: https://docs.aws.amazon.com/sns/latest/api/API_SetSubscriptionAttributes.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from redrive.core.clock import parse_instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.services.sns.model.delivery_policy import check_subscription_policy, effective
from redrive.services.sns.model.filter_policy import read_policy
from redrive.services.sns.model.requests import invalid
from redrive.services.sns.model.subscription import ATTRIBUTES_SCOPE, BODY_SCOPE, HTTP_PROTOCOLS, Subscription
from redrive.services.sns.model.topic import FIFO_SUFFIX

_ARN_PARTS = 6
_Attributes = Mapping[str, str]


def changed_attributes(topic_name: str, known: _Attributes, given: _Attributes, where: str) -> dict[str, str]:
    """The attributes after a change. An empty text removes an attribute. `where` begins the error's sentence.

    Errors: InvalidParameterException.
    """
    for name in given:
        if name not in _CHECKS:
            raise invalid(f"{where}AttributeName" if where else "AttributeName")
    changed = {name: value for name, value in {**known, **given}.items() if value}
    for name, value in given.items():
        if value:
            _CHECKS[name](topic_name, value, where)
    if changed.get("FilterPolicy") and given.keys() & {"FilterPolicy", "FilterPolicyScope"}:
        scope = changed.get("FilterPolicyScope", ATTRIBUTES_SCOPE)
        read_policy(changed["FilterPolicy"], scope, f"{where}FilterPolicy: ")
    if "RawMessageDelivery" in changed:
        changed["RawMessageDelivery"] = changed["RawMessageDelivery"].lower()
    return changed


def shown_attributes(subscription: Subscription, topic_policy: str) -> Document:
    """The answer of GetSubscriptionAttributes."""
    attributes = subscription.attributes
    shown: Document = {
        "SubscriptionArn": subscription.arn,
        "TopicArn": subscription.topic_arn,
        "Protocol": subscription.protocol,
        "Endpoint": subscription.endpoint,
        "Owner": subscription.owner,
        "SubscriptionPrincipal": subscription.principal,
        "ConfirmationWasAuthenticated": str(subscription.is_authenticated).lower(),
        "PendingConfirmation": str(subscription.is_pending).lower(),
        "RawMessageDelivery": str(subscription.is_raw).lower(),
    }
    if subscription.filter_policy:
        shown |= {"FilterPolicy": subscription.filter_policy, "FilterPolicyScope": subscription.filter_scope}
    for name in ("RedrivePolicy", "DeliveryPolicy", "ReplayPolicy", "ReplayStatus", "SubscriptionRoleArn"):
        if name in attributes:
            shown[name] = attributes[name]
    if subscription.protocol in HTTP_PROTOCOLS:
        shown["EffectiveDeliveryPolicy"] = dump_json(effective(topic_policy, attributes.get("DeliveryPolicy", "")))
    return shown


def _check_raw(_name: str, value: str, where: str) -> None:
    if value.lower() not in {"true", "false"}:
        raise invalid(f"{where}RawMessageDelivery: Invalid value [{value}]. Must be true or false.")


def _check_scope(_name: str, value: str, where: str) -> None:
    if value not in {ATTRIBUTES_SCOPE, BODY_SCOPE}:
        raise invalid(
            f"{where}FilterPolicyScope: Invalid value [{value}]. Please use either MessageBody or MessageAttributes"
        )


def _check_redrive(topic_name: str, value: str, where: str) -> None:
    arn = _object(value, f"{where}RedrivePolicy").get("deadLetterTargetArn")
    parts = arn.split(":") if isinstance(arn, str) else []
    if len(parts) != _ARN_PARTS or parts[2] != "sqs":
        raise invalid(f"{where}RedrivePolicy: deadLetterTargetArn is an invalid arn")
    if topic_name.endswith(FIFO_SUFFIX) and not parts[-1].endswith(FIFO_SUFFIX):
        raise invalid(f"{where}RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.")


def _check_replay(topic_name: str, value: str, where: str) -> None:
    policy = _object(value, f"{where}ReplayPolicy")
    if not topic_name.endswith(FIFO_SUFFIX):
        raise invalid(f"{where}ReplayPolicy: it is not supported for standard topics")
    if policy.get("PointType") != "Timestamp" or "StartingPoint" not in policy:
        raise invalid(f"{where}ReplayPolicy: it must have a PointType Timestamp and a StartingPoint")
    for name in ("StartingPoint", "EndingPoint"):
        if name in policy:
            try:
                parse_instant(policy[name])
            except (ValueError, TypeError, AttributeError):
                raise invalid(f"{where}ReplayPolicy: {name} is not a timestamp") from None


def _object(text: str, where: str) -> Document:
    try:
        value = load_json(text)
    except ValueError as error:
        raise invalid(f"{where}: failed to parse JSON. {error}") from None
    if not isinstance(value, dict):
        raise invalid(f"{where}: it is not a JSON object")
    return value


def _anything(_name: str, _value: str, _where: str) -> None:
    """Every text is valid, or checked together with others."""


_CHECKS: Mapping[str, Callable[[str, str, str], None]] = MappingProxyType(
    {
        "DeliveryPolicy": lambda _name, value, where: check_subscription_policy(value, f"{where}DeliveryPolicy"),
        "FilterPolicy": _anything,
        "FilterPolicyScope": _check_scope,
        "RawMessageDelivery": _check_raw,
        "RedrivePolicy": _check_redrive,
        "ReplayPolicy": _check_replay,
        "SubscriptionRoleArn": _anything,
    }
)
