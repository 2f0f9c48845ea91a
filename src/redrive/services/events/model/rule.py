"""Rules and their targets, as they are stored."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.services.events import limits
from redrive.services.events.model.bus import DEFAULT_BUS

SOURCE = "events"
"""The `Delivery.source` of what a rule delivers."""

PRINCIPAL = "events.amazonaws.com"
"""EventBridge, as policies name it."""

_VERSION_DIGITS = 32


class RuleState(enum.Enum):
    """Whether a rule is active, and whether events of read-only management calls reach it."""

    ENABLED = "ENABLED"
    DISABLED = "DISABLED"
    ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS = "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a bus: a pattern, a schedule, or both. `targets` are AWS's own documents, in the order of their ids.

    A rate counts from `anchor_at`. `next_at` is when the schedule fires next; None without a schedule, for a disabled
    rule, or if the schedule has ended. `managed_by` is the AWS service that owns the rule, empty for a user's.
    """

    KIND: ClassVar[str] = "events.rule"

    bus_name: str
    rule_name: str
    created_at: Instant
    pattern: str | None = None
    schedule: str | None = None
    state: RuleState = RuleState.ENABLED
    description: str | None = None
    role_arn: str | None = None
    managed_by: str = ""
    targets: tuple[Document, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    anchor_at: Instant = 0
    next_at: Instant | None = None

    @property
    def name(self) -> str:
        """`bus/rule`, unique in its scope. The names of a bus's rules share a prefix."""
        return full_name(self.bus_name, self.rule_name)

    @property
    def is_enabled(self) -> bool:
        """Whether the rule is active."""
        return self.state is not RuleState.DISABLED

    def arn(self, scope: Scope) -> str:
        """The rule's ARN."""
        return rule_arn(scope, self.bus_name, self.rule_name)


@dataclass(frozen=True, slots=True)
class RulesVersion:
    """Stands for the content of all rules of a bus: equal versions mean equal rules. Missing if a bus never had one."""

    KIND: ClassVar[str] = "events.rules_version"

    name: str
    version: str = ""

    def after(self, change: str) -> RulesVersion:
        """The version after a change, which the text describes completely."""
        digest = hashlib.sha256(f"{self.version}{change}".encode()).hexdigest()
        return RulesVersion(self.name, digest[:_VERSION_DIGITS])


def full_name(bus_name: str, rule_name: str) -> str:
    """The name under which a rule is stored."""
    return f"{bus_name}/{rule_name}"


def rule_arn(scope: Scope, bus_name: str, rule_name: str) -> str:
    """The ARN of a rule; rules of the default bus do not name the bus."""
    path = rule_name if bus_name == DEFAULT_BUS else full_name(bus_name, rule_name)
    return f"arn:aws:events:{scope.region}:{scope.account}:rule/{path}"


def name_of_arn(arn: str) -> str:
    """Return `bus/rule` from a rule's ARN."""
    path = arn.split(":", 5)[5].removeprefix("rule/")
    return path if "/" in path else full_name(DEFAULT_BUS, path)


def retry_policy(target: Document) -> RetryPolicy:
    """How often and how long a target's deliveries are tried.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_RetryPolicy.html
    """
    chosen = target.get("RetryPolicy")
    if not chosen:
        return _DEFAULT_POLICY
    return RetryPolicy(
        retries_max=chosen.get("MaximumRetryAttempts", limits.RETRIES_DEFAULT),
        age_ms_max=chosen.get("MaximumEventAgeInSeconds", limits.EVENT_AGE_S_DEFAULT) * SECOND_MS,
    )


_DEFAULT_POLICY = RetryPolicy(
    retries_max=limits.RETRIES_DEFAULT, age_ms_max=limits.EVENT_AGE_S_DEFAULT * SECOND_MS
)  # fmt: skip
