"""Mappings from streams in stacks."""

from __future__ import annotations

from typing import Any

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks, trust_for


def parts(**settings: Any) -> dict[str, Any]:
    """A stream, a function with its role, and a mapping with these settings."""
    return {
        "Stream": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": "clicks", "ShardCount": 1}},
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": trust_for("lambda.amazonaws.com"),
                "ManagedPolicyArns": ["arn:aws:iam::aws:policy/service-role/AWSLambdaKinesisExecutionRole"],
            },
        },
        "Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "FunctionName": "worker", "Runtime": "python3.12", "Handler": "index.handler",
                "Role": {"Fn::GetAtt": ["Role", "Arn"]}, "Code": {"ZipFile": "def handler(event, context): pass"},
            },
        },
        "Mapping": {
            "Type": "AWS::Lambda::EventSourceMapping",
            "Properties": {
                "EventSourceArn": {"Fn::GetAtt": ["Stream", "Arn"]}, "FunctionName": {"Ref": "Function"},
                "StartingPosition": "LATEST", **settings,
            },
        },
    }  # fmt: skip


def test_settings_of_a_mapping_come_and_go_with_their_properties(stacks: Stacks, world: World) -> None:
    """A mapping whose property is removed has AWS's default for streams again."""
    functions = world.client("lambda")
    settings = {
        "BatchSize": 7, "BisectBatchOnFunctionError": True, "MaximumRecordAgeInSeconds": 60, "MaximumRetryAttempts": 2,
        "ParallelizationFactor": 3, "TumblingWindowInSeconds": 5,
        "FilterCriteria": {"Filters": [{"Pattern": '{"data": {"a": [1]}}'}]},
    }  # fmt: skip

    stacks.create("shop", parts(**settings), Capabilities=["CAPABILITY_IAM"])
    (first,) = functions.list_event_source_mappings()["EventSourceMappings"]
    stacks.update("shop", parts(), Capabilities=["CAPABILITY_IAM"])
    (second,) = functions.list_event_source_mappings()["EventSourceMappings"]

    assert {name: first[name] for name in settings} == settings
    assert second["UUID"] == first["UUID"]
    assert "FilterCriteria" not in second
    assert [second[name] for name in settings if name != "FilterCriteria"] == [100, False, -1, -1, 1, 0]
