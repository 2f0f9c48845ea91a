"""AWS::Events::Rule, EventBus and EventBusPolicy.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Events.html
"""

from __future__ import annotations

import json

from redrive.core.documents import Document, dump_json
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    already_exists,
    exists,
    tag_changes,
)
from redrive.services.cloudformation.types.schema import (
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    as_text,
    group,
    listing,
    mapping,
    replacing,
    required,
)

# https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html
_NAME_LENGTH_MAX = 64
_MISSING = frozenset({"ResourceNotFoundException"})
_PARAMETER_BLOCKS = (
    "AppSyncParameters", "BatchParameters", "EcsParameters", "RedshiftDataParameters", "RunCommandParameters",
    "SageMakerPipelineParameters",
)  # fmt: skip
_DEAD_LETTERS = group(Arn=TEXT)
_TARGET = group(
    Arn=required(TEXT),
    Id=required(TEXT),
    DeadLetterConfig=_DEAD_LETTERS,
    HttpParameters=group(
        HeaderParameters=mapping(), PathParameterValues=listing(TEXT), QueryStringParameters=mapping()
    ),
    Input=TEXT,
    InputPath=TEXT,
    InputTransformer=group(InputPathsMap=mapping(), InputTemplate=required(TEXT)),
    KinesisParameters=group(PartitionKeyPath=required(TEXT)),
    RetryPolicy=group(MaximumEventAgeInSeconds=INTEGER, MaximumRetryAttempts=INTEGER),
    RoleArn=TEXT,
    SqsParameters=group(MessageGroupId=required(TEXT)),
    **dict.fromkeys(_PARAMETER_BLOCKS, JSON),
)


def _create_rule(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("Name"), _NAME_LENGTH_MAX)
    bus = properties.get("EventBusName")
    if exists(place, _MISSING, "events", "DescribeRule", Name=name, EventBusName=bus):
        raise already_exists(RULE.name, name)
    return _put_rule(place, name, properties, properties.get("Tags"))


def _put_rule(place: Place, name: str, properties: Document, tags: object) -> Existing:
    bus, pattern = properties.get("EventBusName"), properties.get("EventPattern")
    created = place.call(
        "events", "PutRule", Name=name, EventBusName=bus, Description=properties.get("Description"),
        EventPattern=None if pattern is None else as_text(pattern), State=properties.get("State"),
        ScheduleExpression=properties.get("ScheduleExpression"), RoleArn=properties.get("RoleArn"), Tags=tags,
    )  # fmt: skip
    targets = properties.get("Targets")
    if targets:
        place.call("events", "PutTargets", Rule=name, EventBusName=bus, Targets=[_blocks_read(one) for one in targets])
    return Existing(_rule_id(name, bus), properties, {"Arn": created["RuleArn"], "RuleName": name})


def _blocks_read(target: Document) -> Document:
    """A target whose JSON members are documents, also where the template has them as text."""
    read = {name: value if isinstance(value, dict) else json.loads(str(value)) for name, value in target.items()
            if name in _PARAMETER_BLOCKS}  # fmt: skip
    return {**target, **read}


def _rule_id(name: str, bus: str | None) -> str:
    """What Ref gives: the name; for a rule of another bus, the bus comes first."""
    return name if bus is None or bus.rsplit("/", 1)[-1] == "default" else f"{bus.rsplit('/', 1)[-1]}|{name}"


def _update_rule(place: Place, existing: Existing, properties: Document) -> Existing:
    name = existing.physical_id.rpartition("|")[2]
    kept = {target["Id"] for target in properties.get("Targets", ())}
    _remove_targets(place, name, existing.properties, kept)
    updated = _put_rule(place, name, properties, None)
    _change_tags(place, updated.attributes["Arn"], existing.properties, properties)
    return updated


def _delete_rule(place: Place, existing: Existing) -> None:
    name, bus = existing.physical_id.rpartition("|")[2], existing.properties.get("EventBusName")
    _remove_targets(place, name, existing.properties, set())
    place.call("events", "DeleteRule", Name=name, EventBusName=bus)


def _remove_targets(place: Place, name: str, properties: Document, kept: set[str]) -> None:
    """Remove the targets that the rule has had from its template, except those to keep."""
    ids = [target["Id"] for target in properties.get("Targets", ()) if target["Id"] not in kept]
    if ids:
        place.call("events", "RemoveTargets", Rule=name, EventBusName=properties.get("EventBusName"), Ids=ids)


def _change_tags(place: Place, arn: str, before: Document, after: Document) -> None:
    changed, removed = tag_changes(before, after)
    if removed:
        place.call("events", "UntagResource", ResourceARN=arn, TagKeys=removed)
    if changed:
        tags = [{"Key": key, "Value": value} for key, value in changed.items()]
        place.call("events", "TagResource", ResourceARN=arn, Tags=tags)


def _bus_settings(properties: Document) -> Document:
    names = ("DeadLetterConfig", "Description", "KmsKeyIdentifier", "LogConfig")
    return {name: properties[name] for name in names if name in properties}


def _create_bus(place: Place, properties: Document) -> Existing:
    name = properties["Name"]
    created = place.call(
        "events", "CreateEventBus", Name=name, Tags=properties.get("Tags"),
        EventSourceName=properties.get("EventSourceName"), **_bus_settings(properties),
    )  # fmt: skip
    _put_policy(place, name, properties)
    return Existing(name, properties, {"Arn": created["EventBusArn"], "Name": name})


def _update_bus(place: Place, existing: Existing, properties: Document) -> Existing:
    """A property that was taken out of the template is empty again, except for the documents."""
    defaults = {"Description": "", "KmsKeyIdentifier": ""}
    place.call("events", "UpdateEventBus", Name=existing.physical_id, **{**defaults, **_bus_settings(properties)})
    if "Policy" in existing.properties and "Policy" not in properties:
        place.call("events", "RemovePermission", EventBusName=existing.physical_id, RemoveAllPermissions=True)
    _put_policy(place, existing.physical_id, properties)
    _change_tags(place, existing.attributes["Arn"], existing.properties, properties)
    return Existing(existing.physical_id, properties, existing.attributes)


def _put_policy(place: Place, name: str, properties: Document) -> None:
    if "Policy" in properties:
        place.call("events", "PutPermission", EventBusName=name, Policy=as_text(properties["Policy"]))


def _delete_bus(place: Place, existing: Existing) -> None:
    place.call("events", "DeleteEventBus", Name=existing.physical_id)


def _create_policy(place: Place, properties: Document) -> Existing:
    name = place.name(None, _NAME_LENGTH_MAX)
    return _put_statement(place, name, properties)


def _update_policy(place: Place, existing: Existing, properties: Document) -> Existing:
    return _put_statement(place, existing.physical_id, properties)


def _put_statement(place: Place, physical_id: str, properties: Document) -> Existing:
    """Add the statement to the policy of the bus; the other statements stay."""
    bus, sid, statement = properties.get("EventBusName"), properties["StatementId"], properties.get("Statement")
    if statement is None:
        given = {name: properties.get(name) for name in ("Action", "Principal", "Condition")}
        place.call("events", "PutPermission", EventBusName=bus, StatementId=sid, **given)
    else:
        policy = place.call("events", "DescribeEventBus", Name=bus).get("Policy")
        present = json.loads(policy)["Statement"] if policy else []
        others = [one for one in (present if isinstance(present, list) else [present]) if one.get("Sid") != sid]
        document = {"Version": "2012-10-17", "Statement": [*others, {**json.loads(as_text(statement)), "Sid": sid}]}
        place.call("events", "PutPermission", EventBusName=bus, Policy=dump_json(document))
    return Existing(physical_id, properties, {})


def _delete_policy(place: Place, existing: Existing) -> None:
    properties = existing.properties
    place.call(
        "events", "RemovePermission", EventBusName=properties.get("EventBusName"), StatementId=properties["StatementId"]
    )


RULE = ResourceType(
    name="AWS::Events::Rule",
    properties={
        "Description": TEXT,
        "EventBusName": replacing(TEXT),
        "EventPattern": JSON,
        "Name": replacing(TEXT),
        "RoleArn": TEXT,
        "ScheduleExpression": TEXT,
        "State": TEXT,
        "Tags": TAGS,
        "Targets": listing(_TARGET),
    },
    create=_create_rule,
    update=_update_rule,
    delete=_delete_rule,
    attributes=frozenset({"Arn", "RuleName"}),
    name_property="Name",
    has_tags=True,
    missing=_MISSING,
)

EVENT_BUS = ResourceType(
    name="AWS::Events::EventBus",
    properties={
        "DeadLetterConfig": _DEAD_LETTERS,
        "Description": TEXT,
        "EventSourceName": replacing(TEXT),
        "KmsKeyIdentifier": TEXT,
        "LogConfig": group(IncludeDetail=TEXT, Level=TEXT),
        "Name": replacing(required(TEXT)),
        "Policy": JSON,
        "Tags": TAGS,
    },
    create=_create_bus,
    update=_update_bus,
    delete=_delete_bus,
    attributes=frozenset({"Arn", "Name"}),
    name_property="Name",
    has_tags=True,
    missing=_MISSING,
)

EVENT_BUS_POLICY = ResourceType(
    name="AWS::Events::EventBusPolicy",
    properties={
        "Action": TEXT,
        "Condition": group(Key=TEXT, Type=TEXT, Value=TEXT),
        "EventBusName": replacing(TEXT),
        "Principal": TEXT,
        "Statement": JSON,
        "StatementId": replacing(required(TEXT)),
    },
    create=_create_policy,
    update=_update_policy,
    delete=_delete_policy,
    missing=_MISSING,
)
