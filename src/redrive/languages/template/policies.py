"""What happens to a resource that leaves its stack: the words of DeletionPolicy and UpdateReplacePolicy.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-deletionpolicy.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.functions import function_of
from redrive.languages.template.model import Resource
from redrive.languages.template.references import AttributeOf, RefTo, references
from redrive.languages.template.resolve import ResolutionScope, resolve
from redrive.languages.template.source import Node

DELETION = "DeletionPolicy"
REPLACEMENT = "UpdateReplacePolicy"

_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        DELETION: frozenset({"Delete", "Retain", "RetainExceptOnCreate", "Snapshot"}),
        REPLACEMENT: frozenset({"Delete", "Retain", "Snapshot"}),
    }
)


@dataclass(frozen=True, slots=True)
class Policies:
    """The two policies of a resource, as words."""

    deletion: str
    replacement: str


def policies_of(resource: Resource, scope: ResolutionScope, resources: Mapping[str, Resource]) -> Policies:
    """The policies of a resource, their functions resolved. Errors: TemplateError."""
    return Policies(
        _resolved(resource.logical_id, DELETION, resource.deletion_policy, scope, resources),
        _resolved(resource.logical_id, REPLACEMENT, resource.update_replace_policy, scope, resources),
    )


def _resolved(
    name: str, field: str, policy: Node, scope: ResolutionScope, resources: Mapping[str, Resource]
) -> str:  # fmt: skip
    if function_of(policy) is None:
        return checked_policy(name, field, policy)
    named = (found.name for found in references(policy) if isinstance(found, RefTo | AttributeOf))
    if any(other in resources for other in named):
        raise TemplateError(f"Template error: Unsupported expression for {field} in resource {name}")
    word = resolve(policy, scope)
    return "Delete" if word is None else checked_policy(name, field, word)


def checked_policy(name: str, field: str, policy: Node) -> str:
    """The policy of a resource, if it is one of the words for it. Errors: TemplateError."""
    if not isinstance(policy, str) or policy not in _WORDS[field]:
        raise TemplateError(f"Template format error: Unrecognized {field} {policy} for resource {name}")
    return policy
