"""Policies of accounts and of groups that say how logs are handled: field indexes, transformers, subscriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.core.scope import Scope
from redrive.services.logs import limits
from redrive.services.logs.model.group import invalid_parameter

FIELD_INDEX = "FIELD_INDEX_POLICY"
SUBSCRIPTION = "SUBSCRIPTION_FILTER_POLICY"
TRANSFORMER = "TRANSFORMER_POLICY"
_CRITERIA = re.compile(r"\s*(LogGroupName|LogGroupNamePrefix)\s*(=|IN|NOT\s+IN)\s*(\[.*\]|\".*\")\s*", re.DOTALL)
DEFAULT_INDEXES = ("@logStream", "@aws.region", "@aws.account", "@source.log", "traceId")


@dataclass(frozen=True, slots=True)
class IndexPolicy:
    """The field indexes of a group."""

    KIND: ClassVar[str] = "logs.index_policy"

    group_name: str
    document: str
    updated_at: Instant

    @property
    def name(self) -> str:
        """The group's name."""
        return self.group_name

    def described(self, arn: str) -> Document:
        """The policy as AWS shows it."""
        return {
            "logGroupIdentifier": arn, "lastUpdateTime": self.updated_at, "policyDocument": self.document,
            "source": "LOG_GROUP",
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class AccountPolicy:
    """A policy for all groups of an account that `selection` selects."""

    KIND: ClassVar[str] = "logs.account_policy"

    policy_name: str
    policy_type: str
    document: str
    updated_at: Instant
    selection: str = ""

    @property
    def name(self) -> str:
        """The type and the name."""
        return account_policy_key(self.policy_type, self.policy_name)

    def selects(self, group_name: str) -> bool:
        """Whether the policy is for a group. One that selects by sources of data is for none here."""
        if not self.selection:
            return True
        found = read_selection(self.selection)
        return found is not None and found.selects(group_name)

    def described(self, scope: Scope) -> Document:
        """The policy as AWS shows it."""
        return {
            "policyName": self.policy_name, "policyDocument": self.document, "lastUpdatedTime": self.updated_at,
            "policyType": self.policy_type, "scope": "ALL", "accountId": scope.account,
            **({"selectionCriteria": self.selection} if self.selection else {}),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Selection:
    """Which groups a policy of an account is for: those with these names, or prefixes of names, or all others."""

    names: tuple[str, ...]
    by_prefix: bool
    is_negated: bool

    def selects(self, group_name: str) -> bool:
        """Whether a group is selected."""
        if not self.by_prefix:
            return (group_name in self.names) is not self.is_negated
        return group_name.startswith(self.names) is not self.is_negated


def read_selection(text: str) -> Selection | None:
    """The selection of a text such as `LogGroupNamePrefix IN ["/app"]`; None for one that selects by something else.

    Errors: InvalidParameterException (the names).
    """
    match = _CRITERIA.fullmatch(text)
    if match is None:
        return None
    try:
        names = load_json(match[3])
    except ValueError as error:
        raise invalid_parameter(f"The names in selectionCriteria are no JSON: {error}") from error
    listed = [names] if isinstance(names, str) else names
    if not listed or not all(isinstance(name, str) for name in listed):
        raise invalid_parameter("The names in selectionCriteria are texts.")
    return Selection(tuple(listed), match[1].endswith("Prefix"), match[2].startswith("NOT"))


def account_policy_key(policy_type: str, policy_name: str) -> str:
    """The resource name of an account policy."""
    return f"{policy_type}/{policy_name}"


def indexed_fields(document: str) -> Mapping[str, str]:
    """The fields of an index policy, with FIELD_INDEX or FACET. Errors: InvalidParameterException."""
    try:
        policy = load_json(document)
    except ValueError as error:
        raise invalid_parameter(f"The policy document is no JSON: {error}") from error
    plain = policy.get("Fields", []) if isinstance(policy, dict) else None
    typed = policy.get("FieldsV2", {}) if isinstance(policy, dict) else None
    if not isinstance(plain, list) or not isinstance(typed, dict) or not (plain or typed):
        raise invalid_parameter('The policy document is {"Fields": [names]} or {"FieldsV2": {name: {"type": …}}}.')
    found = {str(name): "FIELD_INDEX" for name in plain}
    for name, settings in typed.items():
        kind = settings.get("type") if isinstance(settings, dict) else None
        if kind not in ("FIELD_INDEX", "FACET"):
            raise invalid_parameter(f"The type of the field {name} is FIELD_INDEX or FACET.")
        found[name] = kind
    if len(found) > limits.INDEXED_FIELDS_MAX or any(not 0 < len(n) <= limits.INDEXED_FIELD_LENGTH_MAX for n in found):
        message = f"{limits.INDEXED_FIELDS_MAX} fields of {limits.INDEXED_FIELD_LENGTH_MAX} characters can be indexed."
        raise invalid_parameter(message)
    return found
