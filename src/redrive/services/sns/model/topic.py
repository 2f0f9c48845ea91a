"""Topics, as they are stored, their names and their ARNs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.core.scope import Scope
from redrive.services.sns import limits
from redrive.services.sns.model.requests import invalid

FIFO_SUFFIX = ".fifo"

PRINCIPAL = "sns.amazonaws.com"
"""SNS, as policies name it."""

_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.TOPIC_NAME_LENGTH_MAX}}}")
_ARN_PARTS = 6

_DEFAULT_ACTIONS = (
    "GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission", "DeleteTopic", "Subscribe",
    "ListSubscriptionsByTopic", "Publish",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. `id` distinguishes it from an earlier topic of the same name.

    `attributes` has AWS's own texts, of the attributes that were set. `policy` is empty until somebody sets one; AWS's
    default policy applies then, which lets the owner alone in.
    """

    KIND: ClassVar[str] = "sns.topic"

    name: str
    id: str
    arn: str
    created_at: Instant
    attributes: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    data_protection: str = ""
    archived_from: Instant | None = None
    deleted_subscriptions: int = 0

    @property
    def is_fifo(self) -> bool:
        """Whether the topic keeps the order within each group and deduplicates messages."""
        return self.name.endswith(FIFO_SUFFIX)

    @property
    def scope(self) -> Scope:
        """The account and region of the topic."""
        return scope_of(self.arn)

    @property
    def is_deduplicated_by_content(self) -> bool:
        """Whether the digest of a message stands for its deduplication id."""
        return self.attributes.get("ContentBasedDeduplication", "") == "true"

    @property
    def is_scoped_by_group(self) -> bool:
        """Whether a FIFO topic deduplicates, and limits its rate, within each group by itself."""
        return self.attributes.get("FifoThroughputScope") == "MessageGroup"

    @property
    def bytes_max(self) -> int:
        """How many bytes a message may have."""
        return int(self.attributes.get("MaximumMessageSize", limits.MESSAGE_BYTES_DEFAULT))

    @property
    def shown_policy(self) -> str:
        """The policy as GetTopicAttributes shows it."""
        return self.policy or default_policy(self.arn)


@dataclass(frozen=True, slots=True)
class TopicSequence:
    """How many messages a FIFO topic has accepted."""

    KIND: ClassVar[str] = "sns.sequence"
    IS_STATE: ClassVar[bool] = True

    name: str
    count: int = 0


def topic_arn(scope: Scope, name: str) -> str:
    """The ARN of a topic."""
    return f"arn:aws:sns:{scope.region}:{scope.account}:{name}"


def scope_of(arn: str) -> Scope:
    """The account and region of an ARN of SNS."""
    parts = arn.split(":", 5)
    return Scope(parts[4], parts[3])


def check_name(name: str, *, is_fifo: bool) -> None:
    """Refuse a text that cannot be the name of a topic of this type. Errors: InvalidParameterException."""
    stem = name.removesuffix(FIFO_SUFFIX) if is_fifo else name
    is_long = len(name) > limits.TOPIC_NAME_LENGTH_MAX
    if is_long or not _NAME.fullmatch(stem) or (is_fifo and stem == name):
        raise invalid("Topic Name")


def read_arn(arn: str, parameter: str, region: str) -> tuple[Scope, str]:
    """The scope and the name of a topic's ARN. Errors: InvalidParameterException."""
    parts = arn.split(":")
    if len(parts) < _ARN_PARTS:
        raise invalid(f"{parameter} Reason: An ARN must have at least 6 elements, not {len(parts)}")
    if parts[0] != "arn" or parts[2] != "sns" or len(parts) > _ARN_PARTS or parts[3] != region:
        raise invalid(parameter)
    return Scope(parts[4], parts[3]), parts[5]


def default_policy(arn: str) -> str:
    """The policy of a topic that has no other one."""
    statement: Document = {
        "Sid": "__default_statement_ID",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": [f"SNS:{action}" for action in _DEFAULT_ACTIONS],
        "Resource": arn,
        "Condition": {"StringEquals": {"AWS:SourceOwner": scope_of(arn).account}},
    }
    return dump_json({"Version": "2008-10-17", "Id": "__default_policy_ID", "Statement": [statement]})
