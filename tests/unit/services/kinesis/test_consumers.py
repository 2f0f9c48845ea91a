"""Consumers are registered, described by name or ARN, listed in pages, tagged, and deregistered; policies decide."""

from __future__ import annotations

import json

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.testing.world import World
from tests.unit.services.kinesis.conftest import ARN, FIRST, LOW

OTHER = Caller(Scope("111111111111", "us-east-1"), "r")


@pytest.fixture
def consumer(call, stream):
    """The ARN of a consumer of the stream."""
    return str(call("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="app")["Consumer"]["ConsumerARN"])


def policy(*actions: str, resource: str = ARN) -> str:
    statement = {"Effect": "Allow", "Principal": {"AWS": "111111111111"}, "Action": actions, "Resource": resource}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def refused(world: World, operation: str, **params: object) -> str:
    with pytest.raises(ServiceError) as caught:
        world.engine.call(OTHER, "kinesis", operation, params)
    return caught.value.code


def test_registered_consumer_is_described_by_name_and_by_arn(world, call, consumer):
    assert consumer == f"{ARN}/consumer/app:{world.now // 1000}"
    for named in ({"ConsumerARN": consumer}, {"StreamARN": ARN, "ConsumerName": "app"}):
        assert call("DescribeStreamConsumer", **named)["ConsumerDescription"] == {
            "ConsumerName": "app",
            "ConsumerARN": consumer,
            "ConsumerStatus": "ACTIVE",
            "ConsumerCreationTimestamp": world.now,
            "StreamARN": ARN,
        }


def test_name_of_a_consumer_is_used_once(consumer, refusal):
    assert refusal("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="app")[0] == "ResourceInUseException"


def test_stream_has_twenty_consumers(call, stream, refusal):
    for number in range(20):
        call("RegisterStreamConsumer", StreamARN=ARN, ConsumerName=f"c{number:02}")

    assert refusal("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="more")[0] == "LimitExceededException"
    first = call("ListStreamConsumers", StreamARN=ARN, MaxResults=15)
    second = call("ListStreamConsumers", StreamARN=ARN, NextToken=first["NextToken"])
    names = [one["ConsumerName"] for one in (*first["Consumers"], *second["Consumers"])]
    assert names == [f"c{number:02}" for number in range(20)]
    assert ("NextToken" in second, "StreamARN" in first["Consumers"][0]) == (False, False)


def test_deregistered_consumer_is_gone(call, consumer, refusal):
    call("DeregisterStreamConsumer", ConsumerARN=consumer)

    assert refusal("DescribeStreamConsumer", ConsumerARN=consumer)[0] == "ResourceNotFoundException"
    assert refusal("DeregisterStreamConsumer", StreamARN=ARN, ConsumerName="app")[0] == "ResourceNotFoundException"
    assert call("ListStreamConsumers", StreamARN=ARN)["Consumers"] == []


@pytest.mark.parametrize(
    ("named", "code"),
    [
        ({}, "InvalidArgumentException"),
        ({"ConsumerName": "app"}, "InvalidArgumentException"),
        ({"StreamARN": f"{ARN}2", "ConsumerName": "app"}, "ResourceNotFoundException"),
        ({"ConsumerARN": f"{ARN}/consumer/app:1"}, "ResourceNotFoundException"),
    ],
)
def test_consumer_that_is_not_there_is_refused(consumer, refusal, named, code):
    assert refusal("DescribeStreamConsumer", **named)[0] == code


def test_tags_of_streams_and_consumers_come_and_go(call, stream, consumer):
    call("AddTagsToStream", StreamName=stream, Tags={"b": "2", "a": "1"})
    for arn in (ARN, consumer):
        call("TagResource", ResourceARN=arn, Tags={"c": "3", "d": "4"})
        call("UntagResource", ResourceARN=arn, TagKeys=["d", "z"])
    call("RemoveTagsFromStream", StreamName=stream, TagKeys=["b"])

    kept = [{"Key": "a", "Value": "1"}, {"Key": "c", "Value": "3"}]
    assert call("ListTagsForResource", ResourceARN=ARN) == {"Tags": kept}
    assert call("ListTagsForResource", ResourceARN=consumer) == {"Tags": kept[1:]}
    assert call("ListTagsForStream", StreamName=stream, Limit=1) == {"Tags": kept[:1], "HasMoreTags": True}
    assert call("ListTagsForStream", StreamName=stream, ExclusiveStartTagKey="a") == {
        "Tags": kept[1:], "HasMoreTags": False,
    }  # fmt: skip


def test_stream_has_fifty_tags(call, stream, refusal):
    call("AddTagsToStream", StreamName=stream, Tags={str(number): "x" for number in range(50)})

    assert refusal("AddTagsToStream", StreamName=stream, Tags={"more": "x"})[0] == "InvalidArgumentException"


def test_tags_of_what_is_not_here_are_refused(stream, refusal):
    queue = "arn:aws:kinesis:us-east-1:000000000000:queue/q"

    assert refusal("ListTagsForResource", ResourceARN=queue)[0] == "ResourceNotFoundException"
    assert refusal("ListTagsForResource", ResourceARN=f"{ARN}2")[0] == "ResourceNotFoundException"


def test_policy_lets_another_account_write_and_read(world, call, stream):
    call("PutResourcePolicy", ResourceARN=ARN, Policy=policy("kinesis:PutRecord", "kinesis:GetRecords"))
    record = {"StreamARN": ARN, "PartitionKey": "k", "ExplicitHashKey": LOW, "Data": b"x"}

    world.engine.call(OTHER, "kinesis", "PutRecord", record)

    given = {"StreamARN": ARN, "ShardId": FIRST, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = call("GetShardIterator", **given)["ShardIterator"]
    assert refused(world, "GetShardIterator", **given) == "AccessDeniedException"
    read = world.engine.call(OTHER, "kinesis", "GetRecords", {"ShardIterator": iterator, "StreamARN": ARN})
    assert len(read["Records"]) == 1


def test_policy_gives_no_administration_away(world, call, stream):
    call("PutResourcePolicy", ResourceARN=ARN, Policy=policy("kinesis:*"))

    assert refused(world, "DeleteStream", StreamARN=ARN) == "AccessDeniedException"


def test_policy_of_a_consumer_decides_on_the_consumer(world, call, consumer):
    assert refused(world, "DescribeStreamConsumer", ConsumerARN=consumer) == "AccessDeniedException"
    text = policy("kinesis:DescribeStreamConsumer", resource=consumer)
    call("PutResourcePolicy", ResourceARN=consumer, Policy=text)

    world.engine.call(OTHER, "kinesis", "DescribeStreamConsumer", {"ConsumerARN": consumer})


def test_policy_is_returned_replaced_and_deleted(call, stream, refusal):
    assert call("GetResourcePolicy", ResourceARN=ARN) == {"Policy": "{}"}
    for text in (policy("kinesis:PutRecord"), policy("kinesis:GetRecords")):
        call("PutResourcePolicy", ResourceARN=ARN, Policy=text)
        assert call("GetResourcePolicy", ResourceARN=ARN) == {"Policy": text}

    call("DeleteResourcePolicy", ResourceARN=ARN)
    assert call("GetResourcePolicy", ResourceARN=ARN) == {"Policy": "{}"}
    assert refusal("PutResourcePolicy", ResourceARN=ARN, Policy="{")[0] == "InvalidArgumentException"


def test_denial_in_the_policy_binds_the_own_account_but_for_the_policy_itself(call, stream, refusal):
    statement = {"Effect": "Deny", "Principal": "*", "Action": "kinesis:*", "Resource": ARN}
    call("PutResourcePolicy", ResourceARN=ARN, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))

    assert refusal("DescribeStream", StreamName=stream)[0] == "AccessDeniedException"
    call("DeleteResourcePolicy", ResourceARN=ARN)
    call("DescribeStream", StreamName=stream)
