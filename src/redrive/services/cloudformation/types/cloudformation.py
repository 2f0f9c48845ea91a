"""AWS::CDK::Metadata, which has no effect on AWS either.

Source: https://docs.aws.amazon.com/cdk/v2/guide/cli.html#version-reporting
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, not_updatable
from redrive.services.cloudformation.types.schema import TEXT

# Ours: the id of a resource that exists only in its stack.
_NAME_LENGTH_MAX = 128


def _delete_metadata(place: Place, existing: Existing) -> None:
    """There is nothing to delete."""


def _note_metadata(place: Place, properties: Document) -> Existing:
    """Record the CDK's statistics about its constructs; they have no effect."""
    name = place.name(None, _NAME_LENGTH_MAX)
    return Existing(name, properties, {"Id": name})


CDK_METADATA = ResourceType(
    name="AWS::CDK::Metadata",
    properties={"Analytics": TEXT, "Modules": TEXT},
    attributes=frozenset({"Id"}),
    create=_note_metadata,
    update=not_updatable,
    delete=_delete_metadata,
)
