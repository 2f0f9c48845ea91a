"""Streams, their consumers and their policies in stacks."""

from __future__ import annotations

import json
from typing import Any

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks

POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"AWS": "111111111111"}, "Action": "kinesis:PutRecord",
                   "Resource": "*"}],
}  # fmt: skip


def stream(**properties: Any) -> dict[str, Any]:
    return {"S": {"Type": "AWS::Kinesis::Stream", "Properties": properties}}


def summary(world: World, name: str) -> dict[str, Any]:
    shown: dict[str, Any] = world.client("kinesis").describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]
    return shown


def test_stream_comes_changes_and_goes_with_its_stack(stacks: Stacks, world: World) -> None:
    kinesis = world.client("kinesis")
    first = stream(
        ShardCount="2", RetentionPeriodHours=48, DesiredShardLevelMetrics=["IncomingBytes"],
        StreamEncryption={"EncryptionType": "KMS", "KeyId": "k"}, Tags=[{"Key": "a", "Value": "1"}],
    )  # fmt: skip

    stacks.create("app", first, outputs={"Arn": {"Value": {"Fn::GetAtt": ["S", "Arn"]}}})

    name = stacks.physical_id("app", "S")
    shown = summary(world, name)
    assert (shown["StreamARN"], shown["OpenShardCount"]) == (stacks.outputs("app")["Arn"], 2)
    assert (shown["RetentionPeriodHours"], shown["KeyId"]) == (48, "k")
    assert shown["EnhancedMonitoring"] == [{"ShardLevelMetrics": ["IncomingBytes"]}]
    stacks.update("app", stream(ShardCount=4, MaxRecordSizeInKiB=2048, Tags=[{"Key": "b", "Value": "2"}]))
    shown = summary(world, name)
    assert (shown["OpenShardCount"], shown["RetentionPeriodHours"], "KeyId" in shown) == (4, 24, False)
    assert (shown["EnhancedMonitoring"], shown["MaxRecordSizeInKiB"]) == ([{"ShardLevelMetrics": []}], 2048)
    tags = {tag["Key"] for tag in kinesis.list_tags_for_stream(StreamName=name)["Tags"]}
    assert "b" in tags
    assert "a" not in tags
    stacks.update("app", stream(StreamModeDetails={"StreamMode": "ON_DEMAND"}))
    assert summary(world, name)["StreamModeDetails"] == {"StreamMode": "ON_DEMAND"}
    stacks.delete("app")
    assert kinesis.list_streams()["StreamNames"] == []


def test_stream_with_a_new_name_replaces_the_old(stacks: Stacks, world: World) -> None:
    stacks.create("app", stream(Name="one"))
    stacks.update("app", stream(Name="two"))

    assert world.client("kinesis").list_streams()["StreamNames"] == ["two"]


def test_consumer_and_policy_belong_to_their_stream(stacks: Stacks, world: World) -> None:
    arn = {"Fn::GetAtt": ["S", "Arn"]}
    consumer = {"Type": "AWS::Kinesis::StreamConsumer", "Properties": {"ConsumerName": "c", "StreamARN": arn}}
    policy = {"Type": "AWS::Kinesis::ResourcePolicy", "Properties": {"ResourceArn": arn, "ResourcePolicy": POLICY}}
    kinesis = world.client("kinesis")

    stacks.create(
        "app", {**stream(Name="s", ShardCount=1), "C": consumer, "P": policy},
        outputs={"Status": {"Value": {"Fn::GetAtt": ["C", "ConsumerStatus"]}}, "Ref": {"Value": {"Ref": "C"}}},
    )  # fmt: skip

    stream_arn = summary(world, "s")["StreamARN"]
    (found,) = kinesis.list_stream_consumers(StreamARN=stream_arn)["Consumers"]
    assert stacks.outputs("app") == {"Status": "ACTIVE", "Ref": found["ConsumerARN"]}
    assert json.loads(kinesis.get_resource_policy(ResourceARN=stream_arn)["Policy"]) == POLICY
    stacks.update("app", stream(Name="s", ShardCount=1))
    assert kinesis.list_stream_consumers(StreamARN=stream_arn)["Consumers"] == []
    assert kinesis.get_resource_policy(ResourceARN=stream_arn)["Policy"] == "{}"
