"""The AWS managed policies that roles around these services use, as data.

The documents are AWS's own, except that ReadOnlyAccess has only the actions of services that occur in the engine. AWS
has many more policies: a policy without a document here can be attached, too, and allows nothing.
Source: https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html
and docs/semantics/iam-policies.md
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType

from redrive.languages.iam.model import Policy
from redrive.languages.iam.parse import parse_policy

_PREFIX = "arn:aws:iam::aws:policy/"

# https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreatePolicy.html: the pattern of PolicyName, after a path.
_ARN = re.compile(r"arn:aws:iam::aws:policy(/(?:[A-Za-z0-9_+=,.@-]+/)*)([A-Za-z0-9_+=,.@-]{1,128})")

UNKNOWN_KEPT = 256
NOTHING = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"none:null","Resource":"*"}]}'
"""The document of an unknown policy: no service has this action, so the policy allows nothing."""


@dataclass(frozen=True, slots=True)
class ManagedPolicy:
    """One of AWS's managed policies. `document` is its JSON text, `version_id` is AWS's number of that version."""

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


def is_unknown(arn: str) -> bool:
    """Whether this is the ARN of an AWS managed policy without a document here, or of one that does not exist on AWS.

    A known name under another path is not: no two AWS managed policies have the same name.
    """
    matched = _ARN.fullmatch(arn) if arn.startswith(_PREFIX) else None
    return matched is not None and matched[2] not in _known_names()


@cache
def _known_names() -> frozenset[str]:
    return frozenset(policy.name for policy in managed_policies().values())


@lru_cache(maxsize=UNKNOWN_KEPT)
def unknown_policy(arn: str) -> ManagedPolicy:
    """The substitute for an AWS managed policy without a document here: it has the name, and allows nothing."""
    matched = _ARN.fullmatch(arn)
    assert matched is not None, "only ARNs that are unknown come here"
    return ManagedPolicy(
        arn=arn, name=matched[2], path=matched[1], description=warning_of(arn), version_id="v1", document=NOTHING
    )


def warning_of(arn: str) -> str:
    """The warning at the attachment of an unknown policy, with similar names of known policies."""
    name = arn.rpartition("/")[2]
    known = {policy.name: policy.arn for policy in managed_policies().values()}
    likely = [known[each] for each in get_close_matches(name, known, n=1, cutoff=0.8)]
    hint = f" Did you mean {likely[0]}?" if likely else ""
    return f"redrive has no document of the AWS managed policy {name}: it allows nothing here.{hint}"


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
