"""The changes of a table go into Kinesis data streams, in the transaction that makes the change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.limits import Rates
from redrive.engine.settings import DEFAULTS, Settings
from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import key

STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"


@pytest.fixture
def destination(world, call, orders):
    """The ARN of a Kinesis stream that gets the changes of orders."""
    world.call("kinesis", "CreateStream", StreamName="changes", ShardCount=1)
    call("EnableKinesisStreamingDestination", TableName=orders, StreamArn=STREAM)
    return STREAM


@pytest.fixture
def world(request) -> Iterator[World]:
    """A world; with its settings, if a test gives some."""
    world = World(seed=1, settings=getattr(request, "param", DEFAULTS))
    yield world
    world.close()


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


@pytest.fixture
def crowded(world, call, put, destination):
    """The destination, whose shard has taken all that it takes in this second: empty events."""
    records = [{"PartitionKey": "k", "Data": b"{}"}] * 500
    for _ in range(2):
        world.call("kinesis", "PutRecords", StreamARN=STREAM, Records=records)
    return destination


def changes_sent(world: World) -> list[tuple[str, str]]:
    """(number of the order, name of the event) of the records that tell of changes, in order."""
    events = [event for _, event in sent(world) if event]
    return [(event["dynamodb"]["Keys"]["order_no"]["N"], event["eventName"]) for event in events]


def counted(world: World, metric: str) -> float:
    dimensions = {"DelegatedOperation": "KinesisDataStream", "TableName": "orders"}
    points = world.call(
        "cloudwatch", "GetMetricStatistics", Namespace="AWS/DynamoDB", MetricName=metric,
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
        StartTime=world.now - 172_800_000, EndTime=world.now + 60_000, Period=86_400, Statistics=["Sum"],
    )["Datapoints"]  # fmt: skip
    return float(sum(point["Sum"] for point in points))


@pytest.mark.parametrize("world", [Settings(rates=Rates.ALWAYS)], indirect=True)
def test_throttled_record_is_sent_later_and_later_ones_of_its_item_wait(world, call, put, crowded):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/kds_using-shards-and-metrics.html"""
    put("ann", 1)
    put("ann", 1, note={"S": "changed"})
    world.clock.move_to(world.now + 1_000)
    call("DeleteItem", TableName="orders", Key=key("ann", 1))
    put("ann", 2)
    at_once = changes_sent(world)
    world.advance(minutes=2)

    assert at_once == [("2", "INSERT")]
    assert changes_sent(world) == [("2", "INSERT"), ("1", "INSERT"), ("1", "MODIFY"), ("1", "REMOVE")]
    assert (counted(world, "ThrottledPutRecordCount"), counted(world, "FailedToReplicateRecordCount")) == (1.0, 0)


@pytest.mark.parametrize("world", [Settings(rates=Rates.ALWAYS)], indirect=True)
def test_record_that_is_throttled_for_a_day_is_given_up(world, call, put, crowded):
    put("ann", 1)
    world.call("redrive", "AddFault", target=STREAM, error="ProvisionedThroughputExceededException", rate=1.0)
    put("ann", 1, note={"S": "changed"})
    world.advance(hours=23)
    put("ann", 1, note={"S": "changed again"})
    world.advance(hours=2)
    failed = counted(world, "FailedToReplicateRecordCount")
    world.call("redrive", "ClearFaults")
    world.advance(minutes=5)

    assert failed == 2.0
    assert changes_sent(world) == [("1", "MODIFY")]


@pytest.mark.parametrize("world", [Settings(rates=Rates.ALWAYS)], indirect=True)
def test_records_for_a_stream_that_is_gone_are_given_up_together(world, call, put, crowded):
    put("ann", 1)
    put("ann", 1, note={"S": "changed"})
    world.call("kinesis", "DeleteStream", StreamARN=STREAM)
    world.advance(minutes=1)

    assert counted(world, "FailedToReplicateRecordCount") == 2.0


def test_destination_outlives_its_stream(world, call, put, destination):
    world.call("kinesis", "DeleteStream", StreamARN=destination)
    world.advance(minutes=1)
    put("ann", 1)
    status = call("DescribeKinesisStreamingDestination", TableName="orders")["KinesisDataStreamDestinations"]
    world.call("kinesis", "CreateStream", StreamName="changes", ShardCount=1)
    world.advance(minutes=1)

    put("ann", 2)

    assert [one["DestinationStatus"] for one in status] == ["ACTIVE"]
    keys = [event["dynamodb"]["Keys"] for _, event in sent(world)]
    assert keys == [{"customer": {"S": "ann"}, "order_no": {"N": "2"}}]


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
