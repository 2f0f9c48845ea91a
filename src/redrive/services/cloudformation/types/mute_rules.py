"""AWS::CloudWatch::AlarmMuteRule.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-alarmmuterule.html
"""

from __future__ import annotations

from redrive.core.clock import Instant, format_instant, parse_instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, tag_changes
from redrive.services.cloudformation.types.schema import TAGS, TEXT, group, listing, replacing, required

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutAlarmMuteRule.html
_NAME_LENGTH_MAX = 255
_OWN = frozenset({"Name", "Tags", "StartDate", "ExpireDate"})


def _put(place: Place, name: str, properties: Document, tags: object = None) -> Existing:
    settings = {key: value for key, value in properties.items() if key not in _OWN}
    place.call(
        "cloudwatch", "PutAlarmMuteRule", Name=name, Tags=tags, StartDate=_instant(properties, "StartDate"),
        ExpireDate=_instant(properties, "ExpireDate"), **settings,
    )  # fmt: skip
    made = place.call("cloudwatch", "GetAlarmMuteRule", AlarmMuteRuleName=name)
    arn = str(made["AlarmMuteRuleArn"])
    attributes = {
        "Arn": arn, "Status": made["Status"], "MuteType": made["MuteType"],
        "LastUpdatedTimestamp": format_instant(made["LastUpdatedTimestamp"]),
    }  # fmt: skip
    return Existing(arn, properties, attributes)


def _create(place: Place, properties: Document) -> Existing:
    return _put(place, place.name(properties.get("Name"), _NAME_LENGTH_MAX), properties, properties.get("Tags"))


def _update(place: Place, existing: Existing, properties: Document) -> Existing:
    changed = _put(place, _name(existing), properties)
    set_tags, removed = tag_changes(existing.properties, properties)
    if removed:
        place.call("cloudwatch", "UntagResource", ResourceARN=existing.physical_id, TagKeys=removed)
    if set_tags:
        tags = [{"Key": key, "Value": value} for key, value in set_tags.items()]
        place.call("cloudwatch", "TagResource", ResourceARN=existing.physical_id, Tags=tags)
    return changed


def _delete(place: Place, existing: Existing) -> None:
    place.call("cloudwatch", "DeleteAlarmMuteRule", AlarmMuteRuleName=_name(existing))


def _name(existing: Existing) -> str:
    return existing.physical_id.rpartition(":")[2]


def _instant(properties: Document, member: str) -> Instant | None:
    """A time such as `2026-01-31T08:00`, in UTC unless it says otherwise. Errors: ServiceError."""
    text = properties.get(member)
    if text is None:
        return None
    try:
        return parse_instant(str(text))
    except ValueError:
        raise ServiceError("ValidationError", f"{member} {text} is no time.") from None


MUTE_RULE = ResourceType(
    name="AWS::CloudWatch::AlarmMuteRule",
    properties={
        "Description": TEXT,
        "ExpireDate": TEXT,
        "MuteTargets": group(AlarmNames=required(listing(TEXT))),
        "Name": replacing(TEXT),
        "Rule": required(
            group(Schedule=required(group(Duration=required(TEXT), Expression=required(TEXT), Timezone=TEXT)))
        ),
        "StartDate": TEXT,
        "Tags": TAGS,
    },
    create=_create,
    update=_update,
    delete=_delete,
    attributes=frozenset({"Arn", "LastUpdatedTimestamp", "MuteType", "Status"}),
    name_property="Name",
    has_tags=True,
    missing=frozenset({"ResourceNotFound", "ResourceNotFoundException"}),
)
