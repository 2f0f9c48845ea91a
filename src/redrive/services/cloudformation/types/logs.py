"""AWS::Logs::LogGroup, LogStream and ResourcePolicy.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Logs.html
"""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    changed_keys,
    not_updatable,
    tag_changes,
    tags_of,
)
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    UNAVAILABLE,
    listing,
    replacing,
    required,
)

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html
_NAME_LENGTH_MAX = 512
_MISSING = frozenset({"ResourceNotFoundException"})


def _create_group(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("LogGroupName"), _NAME_LENGTH_MAX)
    place.call(
        "logs", "CreateLogGroup", logGroupName=name, kmsKeyId=properties.get("KmsKeyId"),
        tags=tags_of(properties) or None, logGroupClass=properties.get("LogGroupClass"),
        deletionProtectionEnabled=properties.get("DeletionProtectionEnabled"),
    )  # fmt: skip
    _set_retention(place, name, properties.get("RetentionInDays"))
    _set_policies(place, name, {}, properties)
    return Existing(name, properties, _group_attributes(place, name))


def _group_attributes(place: Place, name: str) -> Document:
    return {"Arn": str(Arn("logs", place.caller.region, place.caller.account, f"log-group:{name}:*"))}


def _found_group(place: Place, name: str) -> Document | None:
    groups = place.call("logs", "DescribeLogGroups", logGroupNamePrefix=name)["logGroups"]
    # A group sorts before all those whose names continue its own.
    is_there = any(group["logGroupName"] == name for group in groups)
    return _group_attributes(place, name) if is_there else None


def _set_retention(place: Place, name: str, days: int | None) -> None:
    if days is None:
        place.call("logs", "DeleteRetentionPolicy", logGroupName=name)
    else:
        place.call("logs", "PutRetentionPolicy", logGroupName=name, retentionInDays=days)


def _set_policies(place: Place, name: str, before: Document, after: Document) -> None:
    """Set the field indexes and the resource policy of a group, where they change."""
    indexes = after.get("FieldIndexPolicies") or []
    if indexes != (before.get("FieldIndexPolicies") or []):
        if indexes:
            place.call("logs", "PutIndexPolicy", logGroupIdentifier=name, policyDocument=_json_text(indexes[0]))
        else:
            place.call("logs", "DeleteIndexPolicy", logGroupIdentifier=name)
    policy, arn = after.get("ResourcePolicyDocument"), str(_group_attributes(place, name)["Arn"]).removesuffix(":*")
    if policy != before.get("ResourcePolicyDocument"):
        if policy:
            place.call("logs", "PutResourcePolicy", resourceArn=arn, policyDocument=_json_text(policy))
        else:
            place.call("logs", "DeleteResourcePolicy", resourceArn=arn)


def _json_text(document: object) -> str:
    return document if isinstance(document, str) else dump_json(document)


def _update_group(place: Place, existing: Existing, properties: Document) -> Existing:
    name, changed = existing.physical_id, changed_keys(existing.properties, properties)
    if "RetentionInDays" in changed:
        _set_retention(place, name, properties.get("RetentionInDays"))
    if "DeletionProtectionEnabled" in changed:
        place.call(
            "logs", "PutLogGroupDeletionProtection", logGroupIdentifier=name,
            deletionProtectionEnabled=properties.get("DeletionProtectionEnabled", False),
        )  # fmt: skip
    if "KmsKeyId" in changed:
        key = properties.get("KmsKeyId")
        place.call("logs", "AssociateKmsKey" if key else "DisassociateKmsKey", logGroupName=name, kmsKeyId=key)
    _set_policies(place, name, existing.properties, properties)
    arn = str(existing.attributes["Arn"]).removesuffix(":*")
    set_tags, removed = tag_changes(existing.properties, properties)
    if removed:
        place.call("logs", "UntagResource", resourceArn=arn, tagKeys=removed)
    if set_tags:
        place.call("logs", "TagResource", resourceArn=arn, tags=set_tags)
    return Existing(name, properties, existing.attributes)


def _delete_group(place: Place, existing: Existing) -> None:
    place.call("logs", "DeleteLogGroup", logGroupName=existing.physical_id)


def _create_stream(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("LogStreamName"), _NAME_LENGTH_MAX)
    place.call("logs", "CreateLogStream", logGroupName=properties["LogGroupName"], logStreamName=name)
    return Existing(name, properties, {})


def _delete_stream(place: Place, existing: Existing) -> None:
    group_name = existing.properties["LogGroupName"]
    place.call("logs", "DeleteLogStream", logGroupName=group_name, logStreamName=existing.physical_id)


def _put_policy(place: Place, properties: Document) -> Existing:
    name = properties["PolicyName"]
    place.call("logs", "PutResourcePolicy", policyName=name, policyDocument=properties["PolicyDocument"])
    return Existing(name, properties, {})


def _update_policy(place: Place, existing: Existing, properties: Document) -> Existing:
    return _put_policy(place, {**properties, "PolicyName": existing.physical_id})


def _delete_policy(place: Place, existing: Existing) -> None:
    place.call("logs", "DeleteResourcePolicy", policyName=existing.physical_id)


LOG_GROUP = ResourceType(
    name="AWS::Logs::LogGroup",
    properties={
        "BearerTokenAuthenticationEnabled": UNAVAILABLE,
        "DataProtectionPolicy": UNAVAILABLE,
        "DeletionProtectionEnabled": BOOLEAN,
        "FieldIndexPolicies": listing(JSON),
        "KmsKeyId": TEXT,
        "LogGroupClass": replacing(TEXT),
        "LogGroupName": replacing(TEXT),
        "ResourcePolicyDocument": JSON,
        "RetentionInDays": INTEGER,
        "Tags": TAGS,
    },
    create=_create_group,
    update=_update_group,
    delete=_delete_group,
    attributes=frozenset({"Arn"}),
    name_property="LogGroupName",
    found=_found_group,
    has_tags=True,
    missing=_MISSING,
)

LOG_STREAM = ResourceType(
    name="AWS::Logs::LogStream",
    properties={"LogGroupName": replacing(required(TEXT)), "LogStreamName": replacing(TEXT)},
    create=_create_stream,
    update=not_updatable,
    delete=_delete_stream,
    name_property="LogStreamName",
    missing=_MISSING,
)

RESOURCE_POLICY = ResourceType(
    name="AWS::Logs::ResourcePolicy",
    properties={"PolicyDocument": required(TEXT), "PolicyName": replacing(required(TEXT))},
    create=_put_policy,
    update=_update_policy,
    delete=_delete_policy,
    name_property="PolicyName",
    missing=_MISSING,
)
