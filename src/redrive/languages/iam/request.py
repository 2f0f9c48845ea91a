"""A request for access: the principal, the action, the resource, and the context."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

ACCOUNTS_KEPT = 4_096
"""Size of the cache of accounts by ARN: nearly every call needs the account of its resource."""

Context = Mapping[str, tuple[str, ...]]
"""Condition keys and their values."""


@functools.lru_cache(maxsize=ACCOUNTS_KEPT)
def account_of(resource: str) -> str:
    """The account in an ARN; empty for `*`, for resources without an account, and for AWS managed policies."""
    parts = resource.split(":", 5)
    return parts[4] if len(parts) == 6 and parts[4] != "aws" else ""


def resource_tags(tags: Mapping[str, str]) -> Context:
    """The tags of a resource, as condition keys.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
    """
    return {f"aws:ResourceTag/{key}": (value,) for key, value in tags.items()}


def request_tags(tags: Mapping[str, str]) -> Context:
    """The tags in a request, as condition keys."""
    return {**{f"aws:RequestTag/{key}": (value,) for key, value in tags.items()}, **keys_of_tags(tags)}


def keys_of_tags(keys: Iterable[str]) -> Context:
    """The keys of the tags that a request adds or removes, as a condition key."""
    return {"aws:TagKeys": tuple(keys)}


def passed_to(service: str, resource: str) -> Context:
    """The service to which a role is passed, and for which of its resources: the condition keys of `iam:PassRole`.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html
    """
    return {"iam:PassedToService": (service,), "iam:AssociatedResourceArn": (resource,)}


_ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class PrincipalInfo:
    """The principal of a request. Make one with `session`, `user`, `root`, `anonymous` or `aws_service`.

    `arn` is the ARN in AWS's messages; `role_arn` is the role of a session.
    """

    arn: str
    account: str
    role_arn: str | None = None
    service: str | None = None

    @classmethod
    def session(cls, role_arn: str, session_name: str) -> PrincipalInfo:
        """A session of a role; the session's ARN does not contain the role's path."""
        _, partition, _, _, account, name = role_arn.split(":", 5)
        role_name = name.rsplit("/", 1)[-1]
        return cls(
            f"arn:{partition}:sts::{account}:assumed-role/{role_name}/{session_name}",
            account,
            role_arn=role_arn,
        )

    @classmethod
    def user(cls, arn: str) -> PrincipalInfo:
        """An IAM user."""
        return cls(arn, arn.split(":")[4])

    @classmethod
    def root(cls, account: str) -> PrincipalInfo:
        """The account itself."""
        return cls(f"arn:aws:iam::{account}:root", account)

    @classmethod
    def anonymous(cls) -> PrincipalInfo:
        """Somebody who has not signed."""
        return cls(_ANONYMOUS, _ANONYMOUS)

    @classmethod
    def aws_service(cls, name: str) -> PrincipalInfo:
        """An AWS service on its own behalf, `events.amazonaws.com`."""
        return cls(name, "", service=name)

    @property
    def has_no_policies(self) -> bool:
        """Whether only the policy of a resource can allow anything: to an AWS service, and to who has not signed."""
        return self.service is not None or self.arn == _ANONYMOUS

    @property
    def is_root(self) -> bool:
        """Whether this is the account itself, which needs no identity policy."""
        return self.arn == f"arn:aws:iam::{self.account}:root"

    def context(self) -> dict[str, tuple[str, ...]]:
        """The global context keys of the principal.

        Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
        """
        if self.service is not None:
            return {"aws:PrincipalIsAWSService": ("true",), "aws:PrincipalServiceName": (self.service,)}
        if self.arn == _ANONYMOUS:
            return {"aws:PrincipalIsAWSService": ("false",), "aws:PrincipalType": ("Anonymous",)}
        keys: dict[str, tuple[str, ...]] = {
            "aws:PrincipalIsAWSService": ("false",),
            "aws:PrincipalAccount": (self.account,),
            "aws:PrincipalArn": (self.role_arn or self.arn,),
            "aws:PrincipalType": (self._type(),),
        }
        if self._type() == "User":
            keys["aws:username"] = (self.arn.rsplit("/", 1)[-1],)
        return keys

    def _type(self) -> str:
        if self.is_root:
            return "Account"
        return "AssumedRole" if self.role_arn else "User"


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """One question: may this principal perform this action on this resource?

    `action` is for example `sqs:SendMessage`; `resource` is an ARN, or `*` if there is none. `context` has further
    condition keys, which take precedence over the keys of the principal. Keys are case-insensitive. `resource_account`
    is for resources whose ARN has no account (a bucket); otherwise the ARN decides, and a resource without an account
    counts as the principal's own.
    """

    action: str
    resource: str
    principal: PrincipalInfo
    context: Context = field(default_factory=dict)
    resource_account: str | None = None

    @property
    def is_cross_account(self) -> bool:
        """Whether the resource belongs to another account than the principal."""
        return self._owner() not in ("", self.principal.account)

    def _owner(self) -> str:
        return account_of(self.resource) if self.resource_account is None else self.resource_account

    def keys(self) -> dict[str, tuple[str, ...]]:
        """All context keys of the request, names in lower case."""
        owner = {"aws:ResourceAccount": (self._owner(),)} if self._owner() else {}
        keys = {**owner, **self.principal.context(), **self.context}
        return {name.lower(): values for name, values in keys.items()}
