"""AWS::Events::Archive.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-events-archive.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType
from redrive.services.cloudformation.types.schema import INTEGER, JSON, TEXT, as_text, replacing, required

# https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateArchive.html
_NAME_LENGTH_MAX = 48
_MISSING = frozenset({"ResourceNotFoundException"})


def _settings(properties: Document) -> Document:
    pattern = properties.get("EventPattern")
    return {
        "Description": properties.get("Description"),
        "EventPattern": None if pattern is None else as_text(pattern),
        "RetentionDays": properties.get("RetentionDays"),
        "KmsKeyIdentifier": properties.get("KmsKeyIdentifier"),
    }


def _create(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("ArchiveName"), _NAME_LENGTH_MAX)
    created = place.call(
        "events", "CreateArchive", ArchiveName=name, EventSourceArn=properties["SourceArn"], **_settings(properties)
    )
    return Existing(name, properties, {"Arn": created["ArchiveArn"]})


def _update(place: Place, existing: Existing, properties: Document) -> Existing:
    """A property that was taken out of the template gets its default again."""
    defaults = {"Description": "", "EventPattern": "", "RetentionDays": 0}
    given = {name: value for name, value in _settings(properties).items() if value is not None}
    place.call("events", "UpdateArchive", ArchiveName=existing.physical_id, **{**defaults, **given})
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete(place: Place, existing: Existing) -> None:
    place.call("events", "DeleteArchive", ArchiveName=existing.physical_id)


ARCHIVE = ResourceType(
    name="AWS::Events::Archive",
    properties={
        "ArchiveName": replacing(TEXT),
        "Description": TEXT,
        "EventPattern": JSON,
        "KmsKeyIdentifier": TEXT,
        "RetentionDays": INTEGER,
        "SourceArn": replacing(required(TEXT)),
    },
    create=_create,
    update=_update,
    delete=_delete,
    attributes=frozenset({"Arn"}),
    name_property="ArchiveName",
    missing=_MISSING,
)
