"""Groups of users: what is stored of them and what they are called. No transaction, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.entropy import Entropy

_ID_DIGITS = 17


@dataclass(frozen=True, slots=True)
class Group:
    """A group with everything that decides what its users may do. Who they are stands with each user.

    The values of `inline` are policy documents as they were given; `attached` are ARNs of managed policies.
    """

    KIND: ClassVar[str] = "iam.group"

    group_name: str
    path: str
    id: str
    account: str
    created_at: Instant
    inline: Mapping[str, str] = field(default_factory=dict)
    attached: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What makes the group unique in its account: its name without letter case."""
        return self.group_name.lower()

    @property
    def arn(self) -> str:
        return group_arn(self.account, self.group_name, self.path)


def group_arn(account: str, group_name: str, path: str = "/") -> str:
    """The ARN of a group."""
    return f"arn:aws:iam::{account}:group{path}{group_name}"


def new_group_id(entropy: Entropy) -> str:
    """A fresh `AGPA…` of 21 characters."""
    return f"AGPA{entropy.hex(_ID_DIGITS).upper()}"
