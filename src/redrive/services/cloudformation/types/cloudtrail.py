"""AWS::CloudTrail::Trail.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudtrail-trail.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, tag_changes
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    TAGS,
    TEXT,
    UNAVAILABLE,
    group,
    listing,
    replacing,
    required,
)

_NAME_LENGTH_MAX = 128
_MISSING = frozenset({"TrailNotFoundException"})
_KINDS_OF_SELECTORS = ("EventSelectors", "AdvancedEventSelectors")
_OPERATORS = ("Equals", "StartsWith", "EndsWith", "NotEquals", "NotStartsWith", "NotEndsWith")
# The members that CreateTrail and UpdateTrail have as well.
_SETTINGS = (
    "CloudWatchLogsLogGroupArn", "CloudWatchLogsRoleArn", "EnableLogFileValidation", "IncludeGlobalServiceEvents",
    "IsMultiRegionTrail", "IsOrganizationTrail", "S3BucketName", "S3KeyPrefix", "SnsTopicName",
)  # fmt: skip
_DEFAULTS: Document = {
    "CloudWatchLogsLogGroupArn": "", "CloudWatchLogsRoleArn": "", "EnableLogFileValidation": False,
    "IncludeGlobalServiceEvents": True, "IsMultiRegionTrail": False, "KMSKeyId": "", "S3KeyPrefix": "",
    "SnsTopicName": "",
}  # fmt: skip
_ALL_CALLS: Document = {"EventSelectors": [{"ReadWriteType": "All", "IncludeManagementEvents": True}]}


def _settings(properties: Document) -> Document:
    """The members of CreateTrail and UpdateTrail, by the names that these have."""
    settings = {name: properties[name] for name in _SETTINGS if name in properties}
    return {**settings, "KmsKeyId": properties["KMSKeyId"]} if "KMSKeyId" in properties else settings


def _create(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("TrailName"), _NAME_LENGTH_MAX)
    created = place.call(
        "cloudtrail", "CreateTrail", Name=name, TagsList=properties.get("Tags"), **_settings(properties)
    )
    _put_selectors(place, name, properties)
    if properties["IsLogging"]:
        place.call("cloudtrail", "StartLogging", Name=name)
    topic = created.get("SnsTopicARN")
    attributes = {"Arn": created["TrailARN"], **({} if topic is None else {"SnsTopicArn": topic})}
    return Existing(name, properties, attributes)


def _put_selectors(place: Place, name: str, properties: Document) -> None:
    selectors = {kind: properties[kind] for kind in _KINDS_OF_SELECTORS if properties.get(kind)}
    if selectors:
        place.call("cloudtrail", "PutEventSelectors", TrailName=name, **selectors)


def _update(place: Place, existing: Existing, properties: Document) -> Existing:
    """A property that was taken out of the template gets its default again."""
    name, arn, before = existing.physical_id, existing.attributes["Arn"], existing.properties
    gone = {key: value for key, value in _DEFAULTS.items() if key in before and key not in properties}
    place.call("cloudtrail", "UpdateTrail", Name=name, **_settings({**gone, **properties}))
    had_selectors = any(before.get(kind) for kind in _KINDS_OF_SELECTORS)
    has_selectors = any(properties.get(kind) for kind in _KINDS_OF_SELECTORS)
    _put_selectors(place, name, _ALL_CALLS if had_selectors and not has_selectors else properties)
    place.call("cloudtrail", "StartLogging" if properties["IsLogging"] else "StopLogging", Name=name)
    changed, removed = tag_changes(before, properties)
    if removed:
        place.call("cloudtrail", "RemoveTags", ResourceId=arn, TagsList=[{"Key": key} for key in removed])
    if changed:
        tags = [{"Key": key, "Value": value} for key, value in changed.items()]
        place.call("cloudtrail", "AddTags", ResourceId=arn, TagsList=tags)
    return Existing(name, properties, existing.attributes)


def _delete(place: Place, existing: Existing) -> None:
    place.call("cloudtrail", "DeleteTrail", Name=existing.physical_id)


TRAIL = ResourceType(
    name="AWS::CloudTrail::Trail",
    properties={
        "AdvancedEventSelectors": listing(
            group(
                Name=TEXT,
                FieldSelectors=required(
                    listing(group(Field=required(TEXT), **dict.fromkeys(_OPERATORS, listing(TEXT))))
                ),
            )
        ),
        "AggregationConfigurations": UNAVAILABLE,
        "CloudWatchLogsLogGroupArn": TEXT,
        "CloudWatchLogsRoleArn": TEXT,
        "EnableLogFileValidation": BOOLEAN,
        "EventSelectors": listing(
            group(
                DataResources=listing(group(Type=required(TEXT), Values=listing(TEXT))),
                ExcludeManagementEventSources=listing(TEXT),
                IncludeManagementEvents=BOOLEAN,
                ReadWriteType=TEXT,
            )
        ),
        "IncludeGlobalServiceEvents": BOOLEAN,
        "InsightSelectors": UNAVAILABLE,
        "IsLogging": required(BOOLEAN),
        "IsMultiRegionTrail": BOOLEAN,
        "IsOrganizationTrail": BOOLEAN,
        "KMSKeyId": TEXT,
        "S3BucketName": required(TEXT),
        "S3KeyPrefix": TEXT,
        "SnsTopicName": TEXT,
        "Tags": TAGS,
        "TrailName": replacing(TEXT),
    },
    create=_create,
    update=_update,
    delete=_delete,
    attributes=frozenset({"Arn", "SnsTopicArn"}),
    name_property="TrailName",
    has_tags=True,
    missing=_MISSING,
)
