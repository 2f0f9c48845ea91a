"""Users and their access keys: their stored form, names and ARNs. No transaction, no clock."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.entropy import Entropy
from redrive.core.scope import Scope

KEYS = Scope("*", "global")
"""The scope of all access keys: a request contains a key, but no account."""

ACTIVE = "Active"

_ID_DIGITS = 17


@dataclass(frozen=True, slots=True)
class User:
    """A user, with everything that decides the permissions.

    The values of `inline` are policy documents as they were given; `attached` and `boundary` are ARNs of managed
    policies; `access_keys` are ids, oldest first; `groups` are the stored names of the groups that they are in.
    """

    KIND: ClassVar[str] = "iam.user"

    user_name: str
    path: str
    id: str
    account: str
    created_at: Instant
    boundary: str | None = None
    inline: Mapping[str, str] = field(default_factory=dict)
    attached: tuple[str, ...] = ()
    access_keys: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The user's unique key in the account: the name in lower case."""
        return self.user_name.lower()

    @property
    def arn(self) -> str:
        return user_arn(self.account, self.user_name, self.path)


@dataclass(frozen=True, slots=True)
class AccessKey:
    """An access key of a user. The secret is computed from the id and the store's secret, so it is not stored."""

    KIND: ClassVar[str] = "iam.access_key"

    access_key_id: str
    user_name: str
    account: str
    created_at: Instant
    status: str = ACTIVE
    used_at: Instant | None = None
    used_service: str = "N/A"
    used_region: str = "N/A"

    @property
    def name(self) -> str:
        return self.access_key_id

    @property
    def is_active(self) -> bool:
        return self.status == ACTIVE

    def used(self, now: Instant, service: str, region: str) -> AccessKey:
        """Return the key with the record of a use."""
        return dataclasses.replace(self, used_at=now, used_service=service, used_region=region)


def user_arn(account: str, user_name: str, path: str = "/") -> str:
    """The ARN of a user."""
    return f"arn:aws:iam::{account}:user{path}{user_name}"


def new_user_id(entropy: Entropy) -> str:
    """Return a new id: `AIDA…`, 21 characters. A user who is deleted and created again gets another id."""
    return f"AIDA{entropy.hex(_ID_DIGITS).upper()}"
