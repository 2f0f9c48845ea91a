"""Our lists of properties are held against AWS's own schemas of resource types, as cfn-lint ships them.

A difference that is meant stands in `MEANT` with its reason; one that is gone must leave the table, too.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from redrive.services.cloudformation.types import TYPES
from redrive.services.cloudformation.types.resource import ResourceType
from redrive.services.cloudformation.types.schema import Kind, Properties, Property

Schema = dict[str, Any]

JSON_TYPES = {
    Kind.TEXT: {"string"},
    Kind.INTEGER: {"integer", "number"},
    Kind.NUMBER: {"number"},
    Kind.BOOLEAN: {"boolean"},
    Kind.JSON: {"object"},
    Kind.GROUP: {"object"},
    Kind.MAPPING: {"object"},
    Kind.LISTING: {"array"},
    Kind.UNAVAILABLE: {"string", "integer", "number", "boolean", "object", "array"},
}

MEANT: Mapping[str, str] = {
    "AWS::KMS::Key/KeySpec replaces": "The kind of a key cannot be changed by the API.",
    "AWS::KMS::Key/KeyUsage replaces": "The kind of a key cannot be changed by the API.",
    "AWS::KMS::Key/MultiRegion replaces": "The kind of a key cannot be changed by the API.",
    "AWS::KMS::Key/Origin replaces": "The kind of a key cannot be changed by the API.",
    "AWS::SSM::Parameter attribute Type": "The reference of the type lists it among the return values.",
    "AWS::SSM::Parameter attribute Value": "The reference of the type lists it among the return values.",
    "AWS::StepFunctions::Activity attribute Name": "The reference lists it among the return values.",
    "AWS::DynamoDB::Table/LocalSecondaryIndexes replaces": "DynamoDB's API changes no local index of a table.",
    "AWS::Kinesis::Stream has no attribute WarmThroughputObject": "It has no documentation.",
    "AWS::Kinesis::Stream/RecordDistributionStrategy is not known": "It is newer than the resource's documentation.",
    "AWS::Kinesis::StreamConsumer attribute ConsumerName": "The reference lists it among the return values.",
    "AWS::Kinesis::StreamConsumer attribute StreamARN": "The reference lists it among the return values.",
    "AWS::Kinesis::StreamConsumer/Tags replaces": "Kinesis changes the tags of a consumer.",
    "AWS::Logs::LogGroup/LogGroupClass replaces": "The class of a log group cannot be changed by the API.",
    "AWS::Scheduler::Schedule/GroupName replaces": "The group is part of what names a schedule in the API.",
    "AWS::SNS::Topic attribute TopicName": "The reference of the type lists it among the return values.",
    "AWS::SQS::Queue attribute QueueName": "The reference of the type lists it among the return values.",
    "AWS::Lambda::Function has no attribute SnapStartResponse": "There is no SnapStart here.",
    "AWS::Lambda::Function has no attribute SnapStartResponse.ApplyOn": "There is no SnapStart here.",
    "AWS::Lambda::Function has no attribute SnapStartResponse.OptimizationStatus": "There is no SnapStart here.",
    "AWS::Lambda::LayerVersion/Content/ZipFile is not AWS's": "There is no S3: an archive may stand in the template.",
    "AWS::IAM::AccessKey has no attribute Id": "Ref is the key's id.",
    "AWS::CloudFormation::Macro has no attribute Id": "Ref is the macro's name.",
    "AWS::CloudFormation::Stack has no attribute StackId": "Ref is the nested stack's id.",
    "AWS::CloudFormation::WaitCondition has no attribute Id": "Ref is the condition's id.",
    "AWS::CloudFormation::WaitConditionHandle has no attribute Id": "Ref is what templates use of a handle.",
    "AWS::Events::Connection has no attribute AuthParameters.ConnectivityParameters.ResourceParameters."
    "ResourceAssociationArn": "There are no private connections.",
    "AWS::Events::Connection has no attribute InvocationConnectivityParameters.ResourceParameters."
    "ResourceAssociationArn": "There are no private connections.",
    "AWS::Events::Connection requires AuthParameters": "CreateConnection requires them.",
    "AWS::Events::Connection requires AuthorizationType": "CreateConnection requires it.",
    "AWS::Events::EventBus attribute Name": "The reference of the type lists it among the return values.",
    "AWS::Events::EventBus/EventSourceName replaces": "UpdateEventBus changes no source.",
    **{
        f"AWS::S3::Bucket has no attribute {name}": "There are no tables of S3."
        for name in (
            "MetadataConfiguration.AnnotationTableConfiguration.TableArn",
            "MetadataConfiguration.AnnotationTableConfiguration.TableName",
            "MetadataConfiguration.Destination",
            "MetadataConfiguration.InventoryTableConfiguration.TableArn",
            "MetadataConfiguration.InventoryTableConfiguration.TableName",
            "MetadataConfiguration.JournalTableConfiguration.TableArn",
            "MetadataConfiguration.JournalTableConfiguration.TableName",
            "MetadataTableConfiguration.S3TablesDestination.TableArn",
            "MetadataTableConfiguration.S3TablesDestination.TableNamespace",
        )
    },
    **{
        f"AWS::IAM::ManagedPolicy has no attribute {name}": "It changes after the stack has made the policy."
        for name in (
            "AttachmentCount", "CreateDate", "DefaultVersionId", "IsAttachable", "PermissionsBoundaryUsageCount",
            "UpdateDate",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_type_has_the_properties_of_awss_schema(name: str) -> None:
    found = set(_differences(TYPES[name], _schema_of(name)))

    assert found == {difference for difference in MEANT if difference.startswith((f"{name}/", f"{name} "))}


def test_difference_of_each_kind_is_seen() -> None:
    """The comparison itself: a schema that differs in every way from our type of a queue is told in every way."""
    schema: Schema = {
        "properties": {
            "DelaySeconds": {"type": "string"},
            "QueueName": {"type": "string"},
            "New": {"type": "string"},
        },
        "required": ["New"],
        "readOnlyProperties": ["/properties/Arn"],
    }

    found = set(_differences(TYPES["AWS::SQS::Queue"], schema))

    assert {
        "AWS::SQS::Queue/DelaySeconds is no INTEGER",
        "AWS::SQS::Queue/QueueName replaces",
        "AWS::SQS::Queue/VisibilityTimeout is not AWS's",
        "AWS::SQS::Queue/New is not known",
        "AWS::SQS::Queue requires New",
        "AWS::SQS::Queue attribute QueueUrl",
    } <= found


def _differences(ours: ResourceType, schema: Schema) -> Iterator[str]:
    """Each difference in a sentence that begins with the type's name."""
    read_only = {path.removeprefix("/properties/") for path in schema.get("readOnlyProperties", ())}
    fixed = {
        path.removeprefix("/properties")
        for key in ("createOnlyProperties", "conditionalCreateOnlyProperties")
        for path in schema.get(key, ())
    }
    settable = {name: shape for name, shape in schema["properties"].items() if name not in read_only}
    yield from _properties(ours.name, "", ours.properties, settable, schema, fixed)
    required = {name for name, known in ours.properties.items() if known.is_required}
    yield from (f"{ours.name} requires {name}" for name in required ^ set(schema.get("required", ())))
    attributes = {path.replace("/", ".") for path in read_only}
    yield from (f"{ours.name} attribute {name}" for name in ours.attributes - attributes)
    yield from (f"{ours.name} has no attribute {name}" for name in attributes - ours.attributes)


def _properties(
    type_name: str, path: str, ours: Properties, theirs: Mapping[str, Schema], schema: Schema, fixed: set[str]
) -> Iterator[str]:
    yield from (f"{type_name}{path}/{name} is not known" for name in theirs.keys() - ours.keys())
    for name, known in ours.items():
        here = f"{path}/{name}"
        if name not in theirs:
            yield f"{type_name}{here} is not AWS's"
            continue
        if known.replaces != (here in fixed):
            yield f"{type_name}{here} replaces"
        yield from _property(type_name, here, known, theirs[name], schema, fixed)


def _property(
    type_name: str, path: str, known: Property, given: Schema, schema: Schema, fixed: set[str]
) -> Iterator[str]:
    shapes = list(_alternatives(given, schema))
    if not any(JSON_TYPES[known.kind] & _types(shape) for shape in shapes):
        yield f"{type_name}{path} is no {known.kind.name}"
    if known.members is not None:
        members = {name: each for shape in shapes for name, each in shape.get("properties", {}).items()}
        yield from _properties(type_name, path, known.members, members, schema, fixed)
    if known.item is not None:
        items: Schema = next((shape["items"] for shape in shapes if "items" in shape), {})
        yield from _property(type_name, f"{path}/*", known.item, items, schema, fixed)


def _alternatives(given: Schema, schema: Schema) -> Iterator[Schema]:
    """All shapes that a value may have. One without a type may be anything."""
    if "$ref" in given:
        yield from _alternatives(schema["definitions"][given["$ref"].rpartition("/")[2]], schema)
        return
    yield given
    for key in ("oneOf", "anyOf"):
        for each in given.get(key, ()):
            yield from _alternatives(each, schema)


def _types(shape: Schema) -> set[str]:
    found = shape.get("type", () if "$ref" in shape or "oneOf" in shape else JSON_TYPES[Kind.UNAVAILABLE])
    return {found} if isinstance(found, str) else set(found)


def _schema_of(name: str) -> Schema:
    """AWS's schema of a type, as it is in us-east-1."""
    read: Schema = json.loads((_folder() / "resources" / f"{_digests()[name]}.json").read_text())
    return read


@cache
def _digests() -> Mapping[str, str]:
    read: dict[str, str] = json.loads((_folder() / "providers" / "us-east-1.json").read_text())
    return read


@cache
def _folder() -> Path:
    """Where cfn-lint keeps the schemas; the package itself is not imported, which would take a second."""
    found = importlib.util.find_spec("cfnlint")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "data" / "schemas"
