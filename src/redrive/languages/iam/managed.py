"""The AWS managed policies that roles around these services use, as data.

The documents are AWS's own, abridged in one place: of ReadOnlyAccess only the actions of services the engine
can meet.
Source: https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html
and docs/semantics/iam-policies.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

from redrive.languages.iam.model import Policy
from redrive.languages.iam.parse import parse_policy


@dataclass(frozen=True, slots=True)
class ManagedPolicy:
    """One policy that AWS keeps. `document` is its JSON text, `version_id` AWS's number of that version."""

    arn: str
    name: str
    path: str
    description: str
    version_id: str
    document: str

    def parsed(self) -> Policy:
        """The document, ready to be evaluated."""
        return parse_policy(self.document)


@cache
def managed_policies() -> Mapping[str, ManagedPolicy]:
    """Every managed policy by ARN. The file is read at the first call."""
    text = resources.files(__package__).joinpath("managed_policies.json").read_text(encoding="utf-8")
    policies = [_managed(entry) for entry in json.loads(text)]
    return MappingProxyType({policy.arn: policy for policy in policies})


def _managed(entry: Mapping[str, object]) -> ManagedPolicy:
    path = str(entry["path"])
    name = str(entry["name"])
    return ManagedPolicy(
        arn=f"arn:aws:iam::aws:policy{path}{name}",
        name=name,
        path=path,
        description=str(entry["description"]),
        version_id=str(entry["version_id"]),
        document=json.dumps(entry["document"], separators=(",", ":")),
    )
