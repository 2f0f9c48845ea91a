"""AWS::Scheduler::Schedule and AWS::Scheduler::ScheduleGroup.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Scheduler.html
"""

from __future__ import annotations

import re

from redrive.core.clock import Instant, format_instant, parse_instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, tag_changes
from redrive.services.cloudformation.types.schema import (
    INTEGER,
    TAGS,
    TEXT,
    UNAVAILABLE,
    group,
    replacing,
    required,
)

# https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
_NAME_LENGTH_MAX = 64
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_MISSING = frozenset({"ResourceNotFoundException"})

_TARGET = group(
    Arn=required(TEXT),
    RoleArn=required(TEXT),
    DeadLetterConfig=group(Arn=TEXT),
    EcsParameters=UNAVAILABLE,
    EventBridgeParameters=group(DetailType=required(TEXT), Source=required(TEXT)),
    Input=TEXT,
    KinesisParameters=group(PartitionKey=required(TEXT)),
    RetryPolicy=group(MaximumEventAgeInSeconds=INTEGER, MaximumRetryAttempts=INTEGER),
    SageMakerPipelineParameters=UNAVAILABLE,
    SqsParameters=group(MessageGroupId=TEXT),
)


def _parameters(properties: Document, name: str) -> Document:
    """Return all properties of a schedule as parameters of its operations, because an update replaces them all."""
    dates: Document = {key: _instant(key, properties[key]) for key in ("StartDate", "EndDate") if key in properties}
    return {**properties, **dates, "Name": name}


def _instant(key: str, text: str) -> Instant:
    """Parse a date in a template. Its format is stricter than in the operations."""
    misspelt = ServiceError(
        "ValidationException", f"Invalid request provided: {key} needs to follow the format yyyy-MM-ddTHH:mm:ss.SSSZ"
    )
    if _DATE.fullmatch(text) is None:
        raise misspelt
    try:
        return parse_instant(text)
    except ValueError:
        raise misspelt from None


def _create_schedule(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("Name"), _NAME_LENGTH_MAX)
    created = place.call("scheduler", "CreateSchedule", **_parameters(properties, name))
    return Existing(name, properties, {"Arn": created["ScheduleArn"]})


def _update_schedule(place: Place, existing: Existing, properties: Document) -> Existing:
    place.call("scheduler", "UpdateSchedule", **_parameters(properties, existing.physical_id))
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_schedule(place: Place, existing: Existing) -> None:
    group_name = existing.properties.get("GroupName")
    place.call("scheduler", "DeleteSchedule", Name=existing.physical_id, GroupName=group_name)


def _create_group(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("Name"), _NAME_LENGTH_MAX)
    place.call("scheduler", "CreateScheduleGroup", Name=name, Tags=properties.get("Tags"))
    return _read_group(place, name, properties)


def _read_group(place: Place, name: str, properties: Document) -> Existing:
    read = place.call("scheduler", "GetScheduleGroup", Name=name)
    dates = {key: format_instant(read[key]) for key in ("CreationDate", "LastModificationDate")}
    return Existing(name, properties, {"Arn": read["Arn"], "State": read["State"], **dates})


def _update_group(place: Place, existing: Existing, properties: Document) -> Existing:
    arn = existing.attributes["Arn"]
    changed, removed = tag_changes(existing.properties, properties)
    if removed:
        place.call("scheduler", "UntagResource", ResourceArn=arn, TagKeys=removed)
    if changed:
        tags = [{"Key": key, "Value": value} for key, value in changed.items()]
        place.call("scheduler", "TagResource", ResourceArn=arn, Tags=tags)
    return _read_group(place, existing.physical_id, properties)


def _delete_group(place: Place, existing: Existing) -> None:
    place.call("scheduler", "DeleteScheduleGroup", Name=existing.physical_id)


def _is_group_pending(place: Place, existing: Existing) -> bool:
    try:
        state = place.call("scheduler", "GetScheduleGroup", Name=existing.physical_id)["State"]
    except ServiceError as error:
        if error.code in _MISSING:
            return False
        raise
    return bool(state == "DELETING")


SCHEDULE = ResourceType(
    name="AWS::Scheduler::Schedule",
    properties={
        "Description": TEXT,
        "EndDate": TEXT,
        "FlexibleTimeWindow": required(group(Mode=required(TEXT), MaximumWindowInMinutes=INTEGER)),
        "GroupName": replacing(TEXT),
        "KmsKeyArn": TEXT,
        "Name": replacing(TEXT),
        "ScheduleExpression": required(TEXT),
        "ScheduleExpressionTimezone": TEXT,
        "StartDate": TEXT,
        "State": TEXT,
        "Target": required(_TARGET),
    },
    create=_create_schedule,
    update=_update_schedule,
    delete=_delete_schedule,
    attributes=frozenset({"Arn"}),
    name_property="Name",
    missing=_MISSING,
)

SCHEDULE_GROUP = ResourceType(
    name="AWS::Scheduler::ScheduleGroup",
    properties={"Name": replacing(TEXT), "Tags": TAGS},
    create=_create_group,
    update=_update_group,
    delete=_delete_group,
    attributes=frozenset({"Arn", "CreationDate", "LastModificationDate", "State"}),
    name_property="Name",
    has_tags=True,
    missing=_MISSING,
    is_pending=_is_group_pending,
)
