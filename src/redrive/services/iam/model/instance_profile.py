"""Instance profiles: what is stored of them and what they are called. No transaction, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.entropy import Entropy

_ID_DIGITS = 17


@dataclass(frozen=True, slots=True)
class InstanceProfile:
    """A name under which a machine could be given a role. `role` is the role's stored name; empty for none."""

    KIND: ClassVar[str] = "iam.instance_profile"

    profile_name: str
    path: str
    id: str
    account: str
    created_at: Instant
    role: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What makes the profile unique in its account: its name without letter case."""
        return self.profile_name.lower()

    @property
    def arn(self) -> str:
        return profile_arn(self.account, self.profile_name, self.path)


def profile_arn(account: str, profile_name: str, path: str = "/") -> str:
    """The ARN of an instance profile."""
    return f"arn:aws:iam::{account}:instance-profile{path}{profile_name}"


def new_profile_id(entropy: Entropy) -> str:
    """A fresh `AIPA…` of 21 characters."""
    return f"AIPA{entropy.hex(_ID_DIGITS).upper()}"
