"""Roles and managed policies: their stored form, names and ARNs. No transaction, no clock."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.entropy import Entropy
from redrive.core.scope import Scope
from redrive.languages.iam import ManagedPolicy as AwsPolicy
from redrive.languages.iam import is_unknown, managed_policies, unknown_policy
from redrive.services.iam import limits

AWS_ACCOUNT = "aws"
"""The account part in the ARNs of AWS's own policies."""

_ID_DIGITS = 17


@dataclass(frozen=True, slots=True)
class Role:
    """A role, with everything that decides its permissions.

    `trust` and the values of `inline` are policy documents as users sent them; `attached` and `boundary` are ARNs of
    managed policies.
    """

    KIND: ClassVar[str] = "iam.role"

    role_name: str
    path: str
    id: str
    account: str
    created_at: Instant
    trust: str
    description: str | None = None
    session_s_max: int = limits.SESSION_S_DEFAULT
    signin_s_max: int | None = None
    boundary: str | None = None
    inline: Mapping[str, str] = field(default_factory=dict)
    attached: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The role's unique key in its account: the name in lower case."""
        return self.role_name.lower()

    @property
    def arn(self) -> str:
        return role_arn(self.account, self.role_name, self.path)


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """One version of a managed policy: `v3` is number 3. Versions of AWS's own policies have no known date."""

    number: int
    document: str
    created_at: Instant | None = None

    @property
    def id(self) -> str:
        return f"v{self.number}"


@dataclass(frozen=True, slots=True)
class ManagedPolicy:
    """A policy that has an ARN and versions: a customer's, or AWS's own."""

    KIND: ClassVar[str] = "iam.policy"

    policy_name: str
    path: str
    id: str
    account: str
    versions: tuple[PolicyVersion, ...]
    default_number: int
    latest_number: int
    description: str | None = None
    created_at: Instant | None = None
    updated_at: Instant | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The policy's unique key in its account: the name in lower case."""
        return self.policy_name.lower()

    @property
    def arn(self) -> str:
        return policy_arn(self.account, self.policy_name, self.path)

    @property
    def is_aws(self) -> bool:
        """Whether the policy is AWS's own, which nobody can change."""
        return self.account == AWS_ACCOUNT

    @property
    def document(self) -> str:
        """The document of the default version."""
        return next(version.document for version in self.versions if version.number == self.default_number)

    def version(self, version_id: str) -> PolicyVersion | None:
        """Return the version with this id, for example `v2`."""
        return next((version for version in self.versions if version.id == version_id), None)


def home(account: str) -> Scope:
    """Return the scope in which an account's roles and policies are stored: IAM has no regions."""
    return Scope(account, "global")


def role_arn(account: str, role_name: str, path: str = "/") -> str:
    """The ARN of a role."""
    return f"arn:aws:iam::{account}:role{path}{role_name}"


def policy_arn(account: str, policy_name: str, path: str = "/") -> str:
    """The ARN of a managed policy."""
    return f"arn:aws:iam::{account}:policy{path}{policy_name}"


def new_role_id(entropy: Entropy) -> str:
    """Return a new id: `AROA…`, 21 characters. A role that is deleted and created again gets another id."""
    return f"AROA{entropy.hex(_ID_DIGITS).upper()}"


def new_policy_id(entropy: Entropy) -> str:
    """Return a new id: `ANPA…`, 21 characters."""
    return f"ANPA{entropy.hex(_ID_DIGITS).upper()}"


@functools.cache
def aws_policies() -> Mapping[str, ManagedPolicy]:
    """Return AWS's own managed policies by ARN, each with its default version only."""
    return MappingProxyType({arn: _aws_policy(known) for arn, known in managed_policies().items()})


def aws_policy(arn: str) -> ManagedPolicy | None:
    """Return AWS's policy with this ARN, or None. A policy whose document redrive does not have allows nothing."""
    known = aws_policies().get(arn)
    if known is None and is_unknown(arn):
        return _aws_policy(unknown_policy(arn))
    return known


def _aws_policy(known: AwsPolicy) -> ManagedPolicy:
    number = int(known.version_id.removeprefix("v"))
    return ManagedPolicy(
        policy_name=known.name, path=known.path, account=AWS_ACCOUNT, description=known.description or None,
        id=f"ANPA{hashlib.sha256(known.arn.encode()).hexdigest()[:_ID_DIGITS].upper()}",
        versions=(PolicyVersion(number, known.document),), default_number=number, latest_number=number,
    )  # fmt: skip
