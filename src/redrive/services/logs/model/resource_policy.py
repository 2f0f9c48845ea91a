"""Resource policies: which AWS services may write to log groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json, load_json

ACCOUNT_SCOPE = "ACCOUNT"
RESOURCE_SCOPE = "RESOURCE"


@dataclass(frozen=True, slots=True)
class ResourcePolicy:
    """A policy for all log groups of an account and region, or for the one group in `resource_arn`."""

    KIND: ClassVar[str] = "logs.resource_policy"

    policy_name: str
    document: str
    updated_at: Instant
    resource_arn: str = ""
    revision: str = ""

    @property
    def name(self) -> str:
        """The policy's name, or the group's ARN for the policy of a group."""
        return self.resource_arn or self.policy_name

    @property
    def scope(self) -> str:
        """Whether the policy is for the account or for one group, in AWS's words."""
        return RESOURCE_SCOPE if self.resource_arn else ACCOUNT_SCOPE

    @property
    def statements(self) -> list[Document]:
        """The statements of the policy."""
        statements = load_json(self.document)["Statement"]
        return statements if isinstance(statements, list) else [statements]


def merged(policies: list[ResourcePolicy]) -> str:
    """One policy with the statements of all, empty without a policy."""
    if not policies:
        return ""
    statements = [statement for policy in policies for statement in policy.statements]
    return dump_json({"Version": "2012-10-17", "Statement": statements})
