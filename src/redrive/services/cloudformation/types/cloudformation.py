"""AWS::CloudFormation::WaitConditionHandle, and AWS::CDK::Metadata, which does nothing on AWS either.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-waitconditionhandle.html
"""

from __future__ import annotations

from urllib.parse import quote

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, not_updatable
from redrive.services.cloudformation.types.schema import TEXT

# Ours: the id of a resource that exists nowhere else.
_NAME_LENGTH_MAX = 128


def _create_handle(place: Place, properties: Document) -> Existing:
    """A handle is the URL that signals go to. Nobody listens there: wait conditions do not exist here."""
    host = f"cloudformation-waitcondition-{place.caller.region}.s3.amazonaws.com"
    return Existing(f"https://{host}/{quote(place.stack_id, safe='')}/{place.logical_id}", properties, {})


def _delete_handle(place: Place, existing: Existing) -> None:
    """There is nothing to delete: a handle is only a URL."""


def _note_metadata(place: Place, properties: Document) -> Existing:
    """What the CDK tells AWS of its constructs; it is for statistics only."""
    name = place.name(None, _NAME_LENGTH_MAX)
    return Existing(name, properties, {"Id": name})


WAIT_CONDITION_HANDLE = ResourceType(
    name="AWS::CloudFormation::WaitConditionHandle",
    properties={},
    create=_create_handle,
    update=not_updatable,
    delete=_delete_handle,
)

CDK_METADATA = ResourceType(
    name="AWS::CDK::Metadata",
    properties={"Analytics": TEXT, "Modules": TEXT},
    attributes=frozenset({"Id"}),
    create=_note_metadata,
    update=not_updatable,
    delete=_delete_handle,
)
