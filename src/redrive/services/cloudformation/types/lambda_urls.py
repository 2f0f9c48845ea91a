"""AWS::Lambda::Url and AWS::Lambda::CodeSigningConfig.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Lambda.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, tag_changes, tags_of
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    TAGS,
    TEXT,
    group,
    listing,
    replacing,
    required,
)

_MISSING = frozenset({"ResourceNotFoundException"})


def _create_url(place: Place, properties: Document) -> Existing:
    made = place.call(
        "lambda", "CreateFunctionUrlConfig", FunctionName=properties["TargetFunctionArn"],
        Qualifier=properties.get("Qualifier"), AuthType=properties["AuthType"], Cors=properties.get("Cors"),
        InvokeMode=properties.get("InvokeMode"),
    )  # fmt: skip
    arn = str(made["FunctionArn"])
    return Existing(arn, properties, {"FunctionArn": arn, "FunctionUrl": str(made["FunctionUrl"])})


def _update_url(place: Place, existing: Existing, properties: Document) -> Existing:
    place.call(
        "lambda", "UpdateFunctionUrlConfig", FunctionName=existing.physical_id, AuthType=properties["AuthType"],
        Cors=properties.get("Cors", {}), InvokeMode=properties.get("InvokeMode", "BUFFERED"),
    )  # fmt: skip
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_url(place: Place, existing: Existing) -> None:
    place.call("lambda", "DeleteFunctionUrlConfig", FunctionName=existing.physical_id)


def _signing(properties: Document) -> Document:
    return {
        "AllowedPublishers": properties["AllowedPublishers"],
        "CodeSigningPolicies": properties.get("CodeSigningPolicies", {"UntrustedArtifactOnDeployment": "Warn"}),
        "Description": properties.get("Description", ""),
    }


def _create_signing(place: Place, properties: Document) -> Existing:
    made = place.call("lambda", "CreateCodeSigningConfig", Tags=tags_of(properties) or None, **_signing(properties))[
        "CodeSigningConfig"
    ]
    arn = str(made["CodeSigningConfigArn"])
    attributes: Document = {"CodeSigningConfigArn": arn, "CodeSigningConfigId": str(made["CodeSigningConfigId"])}
    return Existing(arn, properties, attributes)


def _update_signing(place: Place, existing: Existing, properties: Document) -> Existing:
    arn = existing.physical_id
    place.call("lambda", "UpdateCodeSigningConfig", CodeSigningConfigArn=arn, **_signing(properties))
    changed, removed = tag_changes(existing.properties, properties)
    if removed:
        place.call("lambda", "UntagResource", Resource=arn, TagKeys=removed)
    if changed:
        place.call("lambda", "TagResource", Resource=arn, Tags=changed)
    return Existing(arn, properties, existing.attributes)


def _delete_signing(place: Place, existing: Existing) -> None:
    place.call("lambda", "DeleteCodeSigningConfig", CodeSigningConfigArn=existing.physical_id)


URL = ResourceType(
    name="AWS::Lambda::Url",
    properties={
        "AuthType": required(TEXT),
        "Cors": group(
            AllowCredentials=BOOLEAN,
            AllowHeaders=listing(TEXT),
            AllowMethods=listing(TEXT),
            AllowOrigins=listing(TEXT),
            ExposeHeaders=listing(TEXT),
            MaxAge=INTEGER,
        ),
        "InvokeMode": TEXT,
        "Qualifier": replacing(TEXT),
        "TargetFunctionArn": replacing(required(TEXT)),
    },
    create=_create_url,
    update=_update_url,
    delete=_delete_url,
    attributes=frozenset({"FunctionArn", "FunctionUrl"}),
    missing=_MISSING,
)

CODE_SIGNING_CONFIG = ResourceType(
    name="AWS::Lambda::CodeSigningConfig",
    properties={
        "AllowedPublishers": required(group(SigningProfileVersionArns=required(listing(TEXT)))),
        "CodeSigningPolicies": group(UntrustedArtifactOnDeployment=required(TEXT)),
        "Description": TEXT,
        "Tags": TAGS,
    },
    create=_create_signing,
    update=_update_signing,
    delete=_delete_signing,
    attributes=frozenset({"CodeSigningConfigArn", "CodeSigningConfigId"}),
    has_tags=True,
    missing=_MISSING,
)
