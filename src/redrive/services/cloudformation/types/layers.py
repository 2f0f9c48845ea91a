"""AWS::Lambda::LayerVersion and LayerVersionPermission.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Lambda.html
"""

from __future__ import annotations

import base64

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, not_updatable
from redrive.services.cloudformation.types.schema import (
    TEXT,
    UNAVAILABLE,
    PropertyError,
    always_replacing,
    group,
    listing,
    replacing,
    required,
)

_MISSING = frozenset({"ResourceNotFoundException"})

# https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html
_STATEMENT_ID_LENGTH_MAX = 100
# https://docs.aws.amazon.com/lambda/latest/api/API_PublishLayerVersion.html
_LAYER_NAME_LENGTH_MAX = 140


def _create_layer_version(place: Place, properties: Document) -> Existing:
    """Publish the next version of the layer, which has the template's name or a generated one."""
    name = place.name(properties.get("LayerName"), _LAYER_NAME_LENGTH_MAX)
    content = dict(properties["Content"])
    if "ZipFile" in content:
        content["ZipFile"] = _archive(content["ZipFile"])
    published = place.call("lambda", "PublishLayerVersion", **{**properties, "LayerName": name, "Content": content})
    arn = str(published["LayerVersionArn"])
    return Existing(arn, properties, {"LayerVersionArn": arn})


def _archive(text: str) -> bytes:
    """Decode an archive in base64 in the template, a form that only redrive accepts. Errors: PropertyError."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise PropertyError("Content.ZipFile must be an archive in base64.") from None


def _delete_layer_version(place: Place, existing: Existing) -> None:
    layer, _, version = existing.physical_id.rpartition(":")
    place.call("lambda", "DeleteLayerVersion", LayerName=layer, VersionNumber=int(version))


def _create_layer_permission(place: Place, properties: Document) -> Existing:
    statement_id = place.name(None, _STATEMENT_ID_LENGTH_MAX)
    layer, _, version = properties["LayerVersionArn"].rpartition(":")
    place.call(
        "lambda", "AddLayerVersionPermission", LayerName=layer, VersionNumber=int(version), StatementId=statement_id,
        Action=properties["Action"], Principal=properties["Principal"],
        OrganizationId=properties.get("OrganizationId"),
    )  # fmt: skip
    identifier = f"{properties['LayerVersionArn']}#{statement_id}"
    return Existing(identifier, properties, {"Id": identifier})


def _delete_layer_permission(place: Place, existing: Existing) -> None:
    arn, _, statement_id = existing.physical_id.partition("#")
    layer, _, version = arn.rpartition(":")
    place.call(
        "lambda", "RemoveLayerVersionPermission", LayerName=layer, VersionNumber=int(version), StatementId=statement_id
    )


LAYER_VERSION = ResourceType(
    name="AWS::Lambda::LayerVersion",
    properties={
        "CompatibleArchitectures": replacing(listing(TEXT)),
        "CompatibleRuntimes": replacing(listing(TEXT)),
        "Content": replacing(
            required(
                group(S3Bucket=TEXT, S3Key=TEXT, S3ObjectStorageMode=UNAVAILABLE, S3ObjectVersion=TEXT, ZipFile=TEXT)
            )
        ),
        "Description": replacing(TEXT),
        "LayerName": replacing(TEXT),
        "LicenseInfo": replacing(TEXT),
    },
    create=_create_layer_version,
    update=not_updatable,
    delete=_delete_layer_version,
    attributes=frozenset({"LayerVersionArn"}),
    missing=_MISSING,
)

LAYER_VERSION_PERMISSION = ResourceType(
    name="AWS::Lambda::LayerVersionPermission",
    properties=always_replacing(
        Action=required(TEXT), LayerVersionArn=required(TEXT), OrganizationId=TEXT, Principal=required(TEXT),
    ),
    create=_create_layer_permission,
    update=not_updatable,
    delete=_delete_layer_permission,
    attributes=frozenset({"Id"}),
    missing=_MISSING,
)  # fmt: skip
