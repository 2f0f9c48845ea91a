"""Grants: who may do what with a key, beside its policy.

Source: https://docs.aws.amazon.com/kms/latest/developerguide/grants.html
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Caller, Scope
from redrive.services.kms.model.key import key_arn

_TOKEN_PREFIX = "redrive-grant:"


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant. Its resource name begins with its key's id, so that a key's grants sort together."""

    KIND: ClassVar[str] = "kms.grant"

    id: str
    key_id: str
    grantee: str
    operations: tuple[str, ...]
    created_at: Instant
    issued_by: str
    retiring: str = ""
    title: str = ""
    subset: Mapping[str, str] | None = None
    equals: Mapping[str, str] | None = None
    constraints: Document = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.key_id}/{self.id}"

    @property
    def token(self) -> str:
        """The grant's token. Grants take effect at once here, so nobody needs it; RetireGrant takes it."""
        return base64.b64encode(f"{_TOKEN_PREFIX}{self.name}".encode()).decode()

    def allows(self, caller: Caller, operation: str, context: Mapping[str, str]) -> bool:
        """Whether the grant lets a caller do this, in this encryption context."""
        if operation not in self.operations or not is_principal(caller, self.grantee):
            return False
        if self.equals is not None and dict(context) != dict(self.equals):
            return False
        return self.subset is None or all(context.get(key) == value for key, value in self.subset.items())

    def described(self, scope: Scope) -> Document:
        return {
            "KeyId": key_arn(scope, self.key_id),
            "GrantId": self.id,
            "Name": self.title,
            "CreationDate": self.created_at,
            "GranteePrincipal": self.grantee,
            "RetiringPrincipal": self.retiring or None,
            "IssuingAccount": self.issued_by,
            "Operations": list(self.operations),
            "Constraints": self.constraints or None,
        }


def name_in_token(token: str) -> str | None:
    """Return the resource name of the grant with this token; None for a text that is no token."""
    try:
        text = base64.b64decode(token.encode(), validate=True).decode()
    except ValueError:
        return None
    return text.removeprefix(_TOKEN_PREFIX) if text.startswith(_TOKEN_PREFIX) else None


def is_principal(caller: Caller, arn: str) -> bool:
    """Whether a caller is the principal with this ARN: an account's root is everybody in the account."""
    if arn in (caller.principal_arn, caller.role_arn, caller.user_arn, caller.service):
        return bool(arn)
    return arn in (caller.account, f"arn:aws:iam::{caller.account}:root") and not caller.service


def constraints_of(constraints: Document | None) -> tuple[Mapping[str, str] | None, Mapping[str, str] | None]:
    """Return the encryption context that a grant's calls must contain, and the one that they must equal."""
    given = constraints or {}
    subset: Mapping[str, str] | None = given.get("EncryptionContextSubset")
    equals: Mapping[str, str] | None = given.get("EncryptionContextEquals")
    return subset, equals
