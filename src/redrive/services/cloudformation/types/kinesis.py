"""AWS::Kinesis::Stream, AWS::Kinesis::StreamConsumer and AWS::Kinesis::ResourcePolicy.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Kinesis.html
"""

from __future__ import annotations

from redrive.core.clock import format_instant
from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    already_exists,
    exists,
    read,
    tag_changes,
    tags_of,
)
from redrive.services.cloudformation.types.schema import (
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    as_text,
    group,
    listing,
    replacing,
    required,
)

_NAME_LENGTH_MAX = 128
_MISSING = frozenset({"ResourceNotFoundException"})
_RETENTION_HOURS = 24
_RECORD_KIB = 1_024
_ON_DEMAND: Document = {"StreamMode": "ON_DEMAND"}
_PROVISIONED: Document = {"StreamMode": "PROVISIONED"}


def _create_stream(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("Name"), _NAME_LENGTH_MAX)
    if exists(place, _MISSING, "kinesis", "DescribeStreamSummary", StreamName=name):
        raise already_exists("AWS::Kinesis::Stream", name)
    place.call(
        "kinesis", "CreateStream", StreamName=name, ShardCount=properties.get("ShardCount"),
        StreamModeDetails=_mode(properties),
        Tags=tags_of(properties) or None, MaxRecordSizeInKiB=properties.get("MaxRecordSizeInKiB"),
        WarmThroughputMiBps=properties.get("WarmThroughputMiBps"),
    )  # fmt: skip
    arn = _arn(place, name)
    existing = Existing(name, {}, {"Arn": arn})
    _set_retention(place, existing, properties)
    _set_encryption(place, existing, properties)
    _set_metrics(place, existing, properties)
    return Existing(name, properties, {"Arn": arn})


def _mode(properties: Document) -> Document:
    """The mode in the template; without one, a stream with a number of shards is provisioned."""
    given: Document | None = properties.get("StreamModeDetails")
    return given or (_PROVISIONED if "ShardCount" in properties else _ON_DEMAND)


def _arn(place: Place, name: str) -> str:
    described = place.call("kinesis", "DescribeStreamSummary", StreamName=name)
    return str(described["StreamDescriptionSummary"]["StreamARN"])


def _update_stream(place: Place, existing: Existing, properties: Document) -> Existing:
    name, arn, before = existing.physical_id, existing.attributes["Arn"], existing.properties
    mode = _mode(properties)
    if mode != _mode(before):
        place.call("kinesis", "UpdateStreamMode", StreamARN=arn, StreamModeDetails=mode)
    count = properties.get("ShardCount")
    if count is not None and mode == _PROVISIONED and count != before.get("ShardCount"):
        place.call(
            "kinesis", "UpdateShardCount", StreamName=name, TargetShardCount=count, ScalingType="UNIFORM_SCALING"
        )
    _set_retention(place, existing, properties)
    _set_encryption(place, existing, properties)
    _set_metrics(place, existing, properties)
    size = properties.get("MaxRecordSizeInKiB", _RECORD_KIB)
    if size != before.get("MaxRecordSizeInKiB", _RECORD_KIB):
        place.call("kinesis", "UpdateMaxRecordSize", StreamARN=arn, MaxRecordSizeInKiB=size)
    warm = properties.get("WarmThroughputMiBps")
    if warm is not None and warm != before.get("WarmThroughputMiBps"):
        place.call("kinesis", "UpdateStreamWarmThroughput", StreamARN=arn, WarmThroughputMiBps=warm)
    tagged, removed = tag_changes(before, properties)
    if removed:
        place.call("kinesis", "RemoveTagsFromStream", StreamName=name, TagKeys=removed)
    if tagged:
        place.call("kinesis", "AddTagsToStream", StreamName=name, Tags=tagged)
    return Existing(name, properties, existing.attributes)


def _set_retention(place: Place, existing: Existing, properties: Document) -> None:
    before = existing.properties.get("RetentionPeriodHours", _RETENTION_HOURS)
    wanted = properties.get("RetentionPeriodHours", _RETENTION_HOURS)
    if wanted != before:
        verb = "Increase" if wanted > before else "Decrease"
        name = existing.physical_id
        place.call("kinesis", f"{verb}StreamRetentionPeriod", StreamName=name, RetentionPeriodHours=wanted)


def _set_encryption(place: Place, existing: Existing, properties: Document) -> None:
    before, wanted = existing.properties.get("StreamEncryption"), properties.get("StreamEncryption")
    if wanted == before:
        return
    if wanted is not None:
        place.call("kinesis", "StartStreamEncryption", StreamName=existing.physical_id, **wanted)
    elif before is not None:
        place.call("kinesis", "StopStreamEncryption", StreamName=existing.physical_id, **before)


def _set_metrics(place: Place, existing: Existing, properties: Document) -> None:
    before = set(existing.properties.get("DesiredShardLevelMetrics", ()))
    wanted = set(properties.get("DesiredShardLevelMetrics", ()))
    name = existing.physical_id
    if before - wanted:
        place.call(
            "kinesis", "DisableEnhancedMonitoring", StreamName=name, ShardLevelMetrics=sorted(before - wanted)
        )  # fmt: skip
    if wanted - before:
        place.call("kinesis", "EnableEnhancedMonitoring", StreamName=name, ShardLevelMetrics=sorted(wanted - before))


def _found_stream(place: Place, name: str) -> Document | None:
    described = read(place, _MISSING, "kinesis", "DescribeStreamSummary", StreamName=name)
    return None if described is None else {"Arn": described["StreamDescriptionSummary"]["StreamARN"]}


def _delete_stream(place: Place, existing: Existing) -> None:
    place.call("kinesis", "DeleteStream", StreamName=existing.physical_id, EnforceConsumerDeletion=True)


def _create_consumer(place: Place, properties: Document) -> Existing:
    created = place.call(
        "kinesis", "RegisterStreamConsumer", StreamARN=properties["StreamARN"],
        ConsumerName=properties["ConsumerName"], Tags=tags_of(properties) or None,
    )["Consumer"]  # fmt: skip
    attributes = {
        "ConsumerARN": created["ConsumerARN"],
        "ConsumerCreationTimestamp": format_instant(created["ConsumerCreationTimestamp"]),
        "ConsumerName": created["ConsumerName"],
        "ConsumerStatus": "ACTIVE",
        "StreamARN": properties["StreamARN"],
    }
    return Existing(created["ConsumerARN"], properties, attributes)


def _update_consumer(place: Place, existing: Existing, properties: Document) -> Existing:
    tagged, removed = tag_changes(existing.properties, properties)
    arn = existing.physical_id
    if removed:
        place.call("kinesis", "UntagResource", ResourceARN=arn, TagKeys=removed)
    if tagged:
        place.call("kinesis", "TagResource", ResourceARN=arn, Tags=tagged)
    return Existing(arn, properties, existing.attributes)


def _delete_consumer(place: Place, existing: Existing) -> None:
    place.call("kinesis", "DeregisterStreamConsumer", ConsumerARN=existing.physical_id)


def _create_policy(place: Place, properties: Document) -> Existing:
    arn = properties["ResourceArn"]
    place.call("kinesis", "PutResourcePolicy", ResourceARN=arn, Policy=as_text(properties["ResourcePolicy"]))
    return Existing(arn, properties, {})


def _update_policy(
    place: Place,
    existing: Existing,  # noqa: ARG001 -- the signature of every update.
    properties: Document,
) -> Existing:
    return _create_policy(place, properties)


def _delete_policy(place: Place, existing: Existing) -> None:
    place.call("kinesis", "DeleteResourcePolicy", ResourceARN=existing.physical_id)


STREAM = ResourceType(
    name="AWS::Kinesis::Stream",
    properties={
        "DesiredShardLevelMetrics": listing(TEXT),
        "MaxRecordSizeInKiB": INTEGER,
        "Name": replacing(TEXT),
        "RetentionPeriodHours": INTEGER,
        "ShardCount": INTEGER,
        "StreamEncryption": group(EncryptionType=required(TEXT), KeyId=required(TEXT)),
        "StreamModeDetails": group(StreamMode=required(TEXT)),
        "Tags": TAGS,
        "WarmThroughputMiBps": INTEGER,
    },
    create=_create_stream,
    update=_update_stream,
    delete=_delete_stream,
    attributes=frozenset({"Arn"}),
    name_property="Name",
    found=_found_stream,
    has_tags=True,
    missing=_MISSING,
)

STREAM_CONSUMER = ResourceType(
    name="AWS::Kinesis::StreamConsumer",
    properties={
        "ConsumerName": replacing(required(TEXT)),
        "StreamARN": replacing(required(TEXT)),
        "Tags": TAGS,
    },
    create=_create_consumer,
    update=_update_consumer,
    delete=_delete_consumer,
    attributes=frozenset({"ConsumerARN", "ConsumerCreationTimestamp", "ConsumerName", "ConsumerStatus", "StreamARN"}),
    name_property="ConsumerName",
    has_tags=True,
    missing=_MISSING,
)

STREAM_POLICY = ResourceType(
    name="AWS::Kinesis::ResourcePolicy",
    properties={"ResourceArn": replacing(required(TEXT)), "ResourcePolicy": required(JSON)},
    create=_create_policy,
    update=_update_policy,
    delete=_delete_policy,
    missing=_MISSING,
)
