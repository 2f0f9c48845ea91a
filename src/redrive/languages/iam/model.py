"""Policies as values: the content of a parsed document.

It must not know requests: `evaluate` applies policies to them.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

LEGACY_VERSION = "2008-10-17"
CURRENT_VERSION = "2012-10-17"


class PolicyKind(Enum):
    """The object to which a policy is attached; it decides which elements are required and which are forbidden."""

    IDENTITY = "identity"
    """A role or user: Resource is required, Principal forbidden."""

    RESOURCE = "resource"
    """A queue, function, bucket and so on: Principal and Resource are required."""

    TRUST = "trust"
    """A role's trust policy: Principal is required, Resource forbidden."""


class Effect(Enum):
    """The effect of a statement on the requests that it covers."""

    ALLOW = "Allow"
    DENY = "Deny"


class Quantifier(Enum):
    """How a condition handles a context key with several values."""

    SINGLE = ""
    FOR_ALL_VALUES = "ForAllValues"
    FOR_ANY_VALUE = "ForAnyValue"


@dataclass(frozen=True, slots=True)
class Selection:
    """The patterns of Action or Resource; `negated` is the Not form: everything but these."""

    patterns: tuple[str, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Principals:
    """The principals of a statement, by kind; `"*"` alone is everyone, and is in `aws`."""

    aws: tuple[str, ...] = ()
    service: tuple[str, ...] = ()
    federated: tuple[str, ...] = ()
    canonical_user: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of a Condition block: an operator, a context key, and the values to compare with."""

    operator: str
    key: str
    values: tuple[str, ...]
    quantifier: Quantifier = Quantifier.SINGLE
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """One rule: who may (or may not) do which actions to which resources, and under which conditions."""

    effect: Effect
    actions: Selection
    resources: Selection | None = None
    principals: Principals | None = None
    conditions: tuple[Condition, ...] = ()
    sid: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """A parsed policy document."""

    kind: PolicyKind
    statements: tuple[Statement, ...]
    version: str = LEGACY_VERSION
    id: str = ""

    @property
    def has_variables(self) -> bool:
        """Whether `${...}` is a variable. In the older version of the language it is plain text."""
        return self.version == CURRENT_VERSION
