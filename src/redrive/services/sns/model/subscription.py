"""Subscriptions, as they are stored: a topic, a protocol and an endpoint."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.services.sns.model.requests import invalid
from redrive.services.sns.model.topic import FIFO_SUFFIX

HTTP_PROTOCOLS = frozenset({"http", "https"})
MAIL_PROTOCOLS = frozenset({"email", "email-json"})
PROTOCOLS = HTTP_PROTOCOLS | MAIL_PROTOCOLS | {"sqs", "lambda", "sms", "firehose", "application"}
_BARE_PROTOCOLS = frozenset({"email", "sms", "application"})
ATTRIBUTES_SCOPE = "MessageAttributes"
BODY_SCOPE = "MessageBody"
PENDING = "PendingConfirmation"
"""What stands for the ARN of a subscription that is not confirmed."""

_VERSION_DIGITS = 32
_PHONE = re.compile(r"\+?[0-9][0-9 .()-]{3,28}[0-9]", re.ASCII)
_QUEUE = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+(\.fifo)?")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription. `attributes` has AWS's own texts, of the attributes that were set.

    A pending subscription gets nothing until its `token` comes back, before `token_until`. `host` is the host of the
    request that subscribed, for the URLs in what the endpoint gets. `is_authenticated`: only its owner may end it.
    """

    KIND: ClassVar[str] = "sns.subscription"

    topic_name: str
    id: str
    arn: str
    protocol: str
    endpoint: str
    owner: str
    principal: str
    created_at: Instant
    attributes: Mapping[str, str] = field(default_factory=dict)
    is_pending: bool = False
    is_authenticated: bool = True
    token: str = ""
    token_until: Instant = 0
    host: str = ""

    @property
    def name(self) -> str:
        """`topic/id`, unique in its scope. The names of a topic's subscriptions share a prefix."""
        return f"{self.topic_name}/{self.id}"

    @property
    def topic_arn(self) -> str:
        """The ARN of the topic."""
        return self.arn.rpartition(":")[0]

    @property
    def is_raw(self) -> bool:
        """Whether the endpoint gets the message alone, without an envelope."""
        return self.attributes.get("RawMessageDelivery", "false").lower() == "true"

    @property
    def is_signed(self) -> bool:
        """Whether the endpoint gets an envelope, which has a signature."""
        return not self.is_raw and self.protocol not in _BARE_PROTOCOLS

    @property
    def filter_policy(self) -> str:
        """The filter policy; empty without one."""
        return self.attributes.get("FilterPolicy", "")

    @property
    def filter_scope(self) -> str:
        """What the filter policy is held against."""
        return self.attributes.get("FilterPolicyScope", ATTRIBUTES_SCOPE)

    @property
    def dead_letter_arn(self) -> str:
        """The queue for what could not be delivered; empty without one."""
        policy = self.attributes.get("RedrivePolicy", "")
        return str(load_json(policy)["deadLetterTargetArn"]) if policy else ""

    @property
    def has_replay_end(self) -> bool:
        """Whether the subscription's ReplayPolicy has an end, after which nothing new is delivered."""
        policy = self.attributes.get("ReplayPolicy", "")
        return bool(policy) and "EndingPoint" in load_json(policy)

    @property
    def shown_arn(self) -> str:
        """The ARN as lists show it."""
        return PENDING if self.is_pending else self.arn


@dataclass(frozen=True, slots=True)
class SubscriptionToken:
    """The way from a token to the subscription that it confirms."""

    KIND: ClassVar[str] = "sns.token"

    name: str
    subscription: str
    until: Instant


@dataclass(frozen=True, slots=True)
class SubscriptionsVersion:
    """Stands for the content of all subscriptions of a topic: equal versions mean equal subscriptions."""

    KIND: ClassVar[str] = "sns.subscriptions_version"

    name: str
    version: str = ""

    def after(self, change: str) -> SubscriptionsVersion:
        """The version after a change, which the text describes completely."""
        digest = hashlib.sha256(f"{self.version}{change}".encode()).hexdigest()
        return SubscriptionsVersion(self.name, digest[:_VERSION_DIGITS])


def check_endpoint(protocol: str, endpoint: str, *, is_fifo: bool) -> None:
    """Refuse an endpoint that its protocol or its topic cannot have. Errors: InvalidParameterException."""
    if protocol not in PROTOCOLS:
        raise invalid(f"Amazon SNS does not support this protocol string: {protocol}")
    if not endpoint:
        raise invalid("Endpoint Reason: no value for required parameter")
    if protocol == "sqs":
        if not _QUEUE.fullmatch(endpoint):
            raise invalid("SQS endpoint ARN")
        if endpoint.endswith(FIFO_SUFFIX) and not is_fifo:
            reason = "Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics"
            raise invalid(f"Invalid parameter: {reason}")
    elif is_fifo:
        raise invalid(f"Invalid parameter: Endpoint Reason: Please use FIFO SQS queue, not {protocol}")
    elif protocol in HTTP_PROTOCOLS and not endpoint.startswith(f"{protocol}://"):
        raise invalid("Endpoint must match the specified protocol")
    elif protocol in MAIL_PROTOCOLS and not re.fullmatch(r"[^@\s]+@[^@\s]+", endpoint):
        raise invalid("Email address")
    elif protocol == "sms" and not _PHONE.fullmatch(endpoint):
        raise invalid(f"Invalid SMS endpoint: {endpoint}")
    elif protocol in {"lambda", "firehose"} and not endpoint.startswith(f"arn:aws:{protocol}:"):
        raise invalid(f"{'Lambda' if protocol == 'lambda' else 'Firehose'} endpoint ARN")


def needs_confirmation(protocol: str, endpoint: str, account: str, caller_account: str) -> bool:
    """Whether the endpoint has to say that it wants the messages.

    Queues and functions need not, if their own account subscribes them.
    """
    if protocol in HTTP_PROTOCOLS or protocol in MAIL_PROTOCOLS:
        return True
    parts = endpoint.split(":")
    is_arn = len(parts) > 5 and parts[0] == "arn"
    return is_arn and parts[4] not in (account, caller_account)
