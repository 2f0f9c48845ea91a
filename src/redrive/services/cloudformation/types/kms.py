"""AWS::KMS::Key and AWS::KMS::Alias.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_KMS.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    changed_keys,
    tag_changes,
    tags_of,
)
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    as_text,
    replacing,
    required,
)

_MISSING = frozenset({"NotFoundException"})


def _create_key(place: Place, properties: Document) -> Existing:
    policy = properties.get("KeyPolicy")
    tags = [{"TagKey": key, "TagValue": value} for key, value in tags_of(properties).items()]
    made = place.call(
        "kms", "CreateKey", Description=properties.get("Description"), KeySpec=properties.get("KeySpec"),
        KeyUsage=properties.get("KeyUsage"), MultiRegion=properties.get("MultiRegion"),
        Origin=properties.get("Origin"), Policy=None if policy is None else as_text(policy),
        BypassPolicyLockoutSafetyCheck=properties.get("BypassPolicyLockoutSafetyCheck"), Tags=tags or None,
    )["KeyMetadata"]  # fmt: skip
    key_id = made["KeyId"]
    if properties.get("EnableKeyRotation"):
        _set_rotation(place, key_id, properties)
    if properties.get("Enabled") is False:
        place.call("kms", "DisableKey", KeyId=key_id)
    return Existing(key_id, properties, {"Arn": made["Arn"], "KeyId": key_id})


def _set_rotation(place: Place, key_id: str, properties: Document) -> None:
    if not properties.get("EnableKeyRotation"):
        place.call("kms", "DisableKeyRotation", KeyId=key_id)
        return
    days = properties.get("RotationPeriodInDays")
    place.call("kms", "EnableKeyRotation", KeyId=key_id, RotationPeriodInDays=days)


def _update_key(place: Place, existing: Existing, properties: Document) -> Existing:
    key_id, changed = existing.physical_id, changed_keys(existing.properties, properties)
    if "Enabled" in changed and properties.get("Enabled") is not False:
        place.call("kms", "EnableKey", KeyId=key_id)
    if "Description" in changed:
        place.call("kms", "UpdateKeyDescription", KeyId=key_id, Description=properties.get("Description", ""))
    if "KeyPolicy" in changed and "KeyPolicy" in properties:
        place.call(
            "kms", "PutKeyPolicy", KeyId=key_id, Policy=as_text(properties["KeyPolicy"]),
            BypassPolicyLockoutSafetyCheck=properties.get("BypassPolicyLockoutSafetyCheck"),
        )  # fmt: skip
    if changed & {"EnableKeyRotation", "RotationPeriodInDays"}:
        _set_rotation(place, key_id, properties)
    tags, removed = tag_changes(existing.properties, properties)
    if removed:
        place.call("kms", "UntagResource", KeyId=key_id, TagKeys=removed)
    if tags:
        given = [{"TagKey": key, "TagValue": value} for key, value in tags.items()]
        place.call("kms", "TagResource", KeyId=key_id, Tags=given)
    if "Enabled" in changed and properties.get("Enabled") is False:
        place.call("kms", "DisableKey", KeyId=key_id)
    return Existing(key_id, properties, existing.attributes)


def _delete_key(place: Place, existing: Existing) -> None:
    days = existing.properties.get("PendingWindowInDays")
    place.call("kms", "ScheduleKeyDeletion", KeyId=existing.physical_id, PendingWindowInDays=days)


def _create_alias(place: Place, properties: Document) -> Existing:
    name = properties["AliasName"]
    place.call("kms", "CreateAlias", AliasName=name, TargetKeyId=properties["TargetKeyId"])
    return Existing(name, properties, {})


def _update_alias(place: Place, existing: Existing, properties: Document) -> Existing:
    place.call("kms", "UpdateAlias", AliasName=existing.physical_id, TargetKeyId=properties["TargetKeyId"])
    return Existing(existing.physical_id, properties, {})


def _delete_alias(place: Place, existing: Existing) -> None:
    place.call("kms", "DeleteAlias", AliasName=existing.physical_id)


KEY = ResourceType(
    name="AWS::KMS::Key",
    properties={
        "BypassPolicyLockoutSafetyCheck": BOOLEAN,
        "Description": TEXT,
        "EnableKeyRotation": BOOLEAN,
        "Enabled": BOOLEAN,
        "KeyPolicy": JSON,
        "KeySpec": replacing(TEXT),
        "KeyUsage": replacing(TEXT),
        "MultiRegion": replacing(BOOLEAN),
        "Origin": replacing(TEXT),
        "PendingWindowInDays": INTEGER,
        "RotationPeriodInDays": INTEGER,
        "Tags": TAGS,
    },
    create=_create_key,
    update=_update_key,
    delete=_delete_key,
    attributes=frozenset({"Arn", "KeyId"}),
    has_tags=True,
    missing=_MISSING | {"KMSInvalidStateException"},
)

KEY_ALIAS = ResourceType(
    name="AWS::KMS::Alias",
    properties={"AliasName": replacing(required(TEXT)), "TargetKeyId": required(TEXT)},
    create=_create_alias,
    update=_update_alias,
    delete=_delete_alias,
    name_property="AliasName",
    missing=_MISSING,
)
