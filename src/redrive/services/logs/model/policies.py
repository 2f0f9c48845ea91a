"""Policies of accounts and of groups that say how logs are handled; here only those of field indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.core.scope import Scope
from redrive.services.logs import limits
from redrive.services.logs.model.group import invalid_parameter

FIELD_INDEX = "FIELD_INDEX_POLICY"
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

    def described(self, scope: Scope) -> Document:
        """The policy as AWS shows it."""
        return {
            "policyName": self.policy_name, "policyDocument": self.document, "lastUpdatedTime": self.updated_at,
            "policyType": self.policy_type, "scope": "ALL", "accountId": scope.account,
            **({"selectionCriteria": self.selection} if self.selection else {}),
        }  # fmt: skip


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
