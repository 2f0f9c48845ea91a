"""The changes of a table go into Kinesis data streams, in the transaction that makes the change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import key

STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"


@pytest.fixture
def destination(world, call, orders):
    """The ARN of a Kinesis stream that gets the changes of orders."""
    world.call("kinesis", "CreateStream", StreamName="changes", ShardCount=1)
    call("EnableKinesisStreamingDestination", TableName=orders, StreamArn=STREAM)
    return STREAM


def sent(world: World) -> list[tuple[str, dict[str, Any]]]:
    """The partition keys and the events of all records of the Kinesis stream."""
    shard = world.call("kinesis", "ListShards", StreamARN=STREAM)["Shards"][0]["ShardId"]
    place = {"StreamARN": STREAM, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    position = world.call("kinesis", "GetShardIterator", **place)["ShardIterator"]
    records = world.call("kinesis", "GetRecords", ShardIterator=position, StreamARN=STREAM)["Records"]
    return [(record["PartitionKey"], json.loads(record["Data"])) for record in records]


def test_changes_reach_the_kinesis_stream_in_order(world, call, put, destination):
    put("ann", 1, data={"B": b"\xff"})
    put("ann", 1, data={"B": b"\xff"})
    put("ann", 2)
    call("DeleteItem", TableName="orders", Key=key("ann", 1))

    (first, inserted), (other, _), (last, removed) = sent(world)

    assert first == last != other
    assert (inserted["eventName"], removed["eventName"]) == ("INSERT", "REMOVE")
    assert (inserted["tableName"], inserted["recordFormat"]) == ("orders", "application/json")
    assert inserted["userIdentity"] is None
    assert inserted["dynamodb"]["NewImage"]["data"] == {"B": "/w=="}
    assert removed["dynamodb"]["OldImage"] == inserted["dynamodb"]["NewImage"]
    assert inserted["dynamodb"]["ApproximateCreationDateTime"] == world.now
    assert "SequenceNumber" not in inserted["dynamodb"]


def test_expired_item_names_the_service(world, call, put, destination):
    call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    put("ann", 1, until={"N": str(world.now // 1_000 + 60)})

    world.advance(seconds=300)

    assert sent(world)[1][1]["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def test_precision_is_that_of_the_destination(world, call, put, destination):
    answer = call(
        "UpdateKinesisStreamingDestination", TableName="orders", StreamArn=destination,
        UpdateKinesisStreamingConfiguration={"ApproximateCreationDateTimePrecision": "MICROSECOND"},
    )  # fmt: skip
    put("ann", 1)

    body = sent(world)[0][1]["dynamodb"]
    assert answer["DestinationStatus"] == "UPDATING"
    assert body["ApproximateCreationDateTime"] == world.now * 1_000
    assert body["ApproximateCreationDateTimePrecision"] == "MICROSECOND"


def test_disabled_destination_is_shown_and_gets_nothing(world, call, put, destination):
    answer = call("DisableKinesisStreamingDestination", TableName="orders", StreamArn=destination)
    put("ann", 1)

    described = call("DescribeKinesisStreamingDestination", TableName="orders")["KinesisDataStreamDestinations"]
    assert answer["DestinationStatus"] == "DISABLING"
    assert described == [{"StreamArn": destination, "DestinationStatus": "DISABLED"}]
    assert sent(world) == []


def test_item_is_written_even_if_the_stream_is_gone(world, call, put, destination):
    world.call("kinesis", "DeleteStream", StreamARN=destination)

    put("ann", 1)
    world.advance(seconds=60)

    assert call("Scan", TableName="orders")["Count"] == 1
    counted = world.call(
        "cloudwatch", "GetMetricStatistics", Namespace="AWS/DynamoDB", MetricName="FailedToReplicateRecordCount",
        Dimensions=[
            {"Name": "DelegatedOperation", "Value": "KinesisDataStream"}, {"Name": "TableName", "Value": "orders"},
        ],
        StartTime=world.now - 600_000, EndTime=world.now + 60_000, Period=60, Statistics=["Sum"],
    )["Datapoints"]  # fmt: skip
    assert [point["Sum"] for point in counted] == [1.0]


def test_destination_that_cannot_be_changed_is_refused(world, call, refusal, destination):
    where = {"TableName": "orders", "StreamArn": destination}
    unknown = {"TableName": "orders", "StreamArn": f"{STREAM}-2"}
    exact = {"UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MILLISECOND"}}

    assert refusal("EnableKinesisStreamingDestination", **where)[0] == "ResourceInUseException"
    assert refusal("EnableKinesisStreamingDestination", **unknown)[0] == "ResourceNotFoundException"
    assert refusal("DisableKinesisStreamingDestination", **unknown)[0] == "ValidationException"
    assert "cannot be null" in refusal("UpdateKinesisStreamingDestination", **where)[1]
    assert "No streaming destination" in refusal("UpdateKinesisStreamingDestination", **unknown, **exact)[1]
    assert "already set" in refusal("UpdateKinesisStreamingDestination", **where, **exact)[1]
    assert refusal("DescribeKinesisStreamingDestination", TableName="none")[0] == "ResourceNotFoundException"


def test_table_has_two_destinations_at_most(world, call, refusal, destination):
    for name in ("changes-2", "changes-3"):
        world.call("kinesis", "CreateStream", StreamName=name, ShardCount=1)
    call("EnableKinesisStreamingDestination", TableName="orders", StreamArn=f"{STREAM}-2")

    refused = refusal("EnableKinesisStreamingDestination", TableName="orders", StreamArn=f"{STREAM}-3")

    assert refused[0] == "LimitExceededException"
