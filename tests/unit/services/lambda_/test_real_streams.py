"""Functions on streams of Kinesis and of DynamoDB, and on filtered queues, as templates and boto3 make them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.handler import TimeWindowEvent, TimeWindowResponse, dynamodb_batch, kinesis_batch
from redrive.testing.world import World

Counts = dict[str, int]

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Clicks: {Type: AWS::Kinesis::Stream, Properties: {Name: clicks, ShardCount: 1}}
  Failed: {Type: AWS::SQS::Queue, Properties: {QueueName: failed}}
  Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: jobs}}
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: orders
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  OnClick:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: on-click
      Runtime: python3.12
      Handler: index.handler
      InlineCode: "def handler(event, context): pass"
      Policies: [{SQSSendMessagePolicy: {QueueName: !GetAtt Failed.QueueName}}]
      Events:
        Clicks:
          Type: Kinesis
          Properties:
            Stream: !GetAtt Clicks.Arn
            StartingPosition: TRIM_HORIZON
            FunctionResponseTypes: [ReportBatchItemFailures]
            MaximumRetryAttempts: 1
            MetricsConfig: {Metrics: [EventCount]}
            DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Failed.Arn}}
  OnOrder:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: on-order
      Runtime: python3.12
      Handler: index.handler
      InlineCode: "def handler(event, context): pass"
      Policies: [{SQSSendMessagePolicy: {QueueName: !GetAtt Failed.QueueName}}]
      Events:
        Orders:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Orders.StreamArn
            StartingPosition: TRIM_HORIZON
            BisectBatchOnFunctionError: true
            MaximumRetryAttempts: 0
            FilterCriteria: {Filters: [{Pattern: '{"eventName": ["INSERT", "REMOVE"]}'}]}
            DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Failed.Arn}}
        Jobs:
          Type: SQS
          Properties:
            Queue: !GetAtt Queue.Arn
            FilterCriteria: {Filters: [{Pattern: '{"body": {"kind": ["job"]}}'}]}
"""


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.deploy(TEMPLATE)
    yield world
    world.close()


def register(world: World, name: str, handler: Any) -> None:
    """Make functions of this name call a handler."""
    world.functions.register(name, handler)


def failures(world: World) -> list[dict[str, Any]]:
    """The records in the on-failure destination."""
    sqs = world.client("sqs")
    found = sqs.receive_message(QueueUrl=sqs.get_queue_url(QueueName="failed")["QueueUrl"], MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in found.get("Messages", [])]


def put(world: World, *keys: str) -> list[str]:
    """Put records into the stream; returns their sequence numbers."""
    kinesis = world.client("kinesis")
    return [
        kinesis.put_record(StreamName="clicks", PartitionKey=key, Data=key.encode())["SequenceNumber"] for key in keys
    ]


def test_function_on_a_stream_of_kinesis_processes_its_records_in_order(world: World) -> None:
    seen: list[str] = []
    register(world, "on-click", kinesis_batch(lambda record: seen.append(record["kinesis"]["partitionKey"])))

    put(world, "a", "b", "c")
    world.settle()

    assert seen == ["a", "b", "c"]


def test_library_for_handlers_reports_the_record_from_which_the_batch_comes_again(world: World) -> None:
    """The records before it are done once; with the retries the rest goes to the destination."""
    seen: list[str] = []

    def one(record: Any) -> None:
        seen.append(record["kinesis"]["partitionKey"])
        assert record["kinesis"]["partitionKey"] != "b"

    register(world, "on-click", kinesis_batch(one, on_failure=lambda *_: None))
    numbers = put(world, "a", "b", "c")

    world.advance(seconds=10)

    (record,) = failures(world)
    assert seen == ["a", "b", "b"]
    assert record["KinesisBatchInfo"]["startSequenceNumber"] == numbers[1]
    assert record["KinesisBatchInfo"]["endSequenceNumber"] == numbers[2]
    assert record["requestContext"]["condition"] == "RetryAttemptsExhausted"


def test_handler_of_a_tumbling_window_is_typed_as_it_is_called(world: World) -> None:
    totals: list[int] = []

    def handler(event: TimeWindowEvent[Counts], context: object) -> TimeWindowResponse[Counts]:
        count = event["state"].get("count", 0) + len(event["Records"])
        if event["isFinalInvokeForWindow"]:
            totals.append(count)
        return {"state": {"count": count}}

    register(world, "on-click", handler)
    functions = world.client("lambda")
    (mapping,) = functions.list_event_source_mappings(FunctionName="on-click")["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], TumblingWindowInSeconds=30)
    for _ in range(3):
        put(world, "a", "b")
        world.advance(seconds=15)

    world.advance(minutes=3)

    assert totals == [4, 2]
    assert failures(world) == []


def test_shard_that_is_split_is_read_before_its_children(world: World) -> None:
    seen: list[str] = []
    register(world, "on-click", kinesis_batch(lambda record: seen.append(record["eventID"].split(":")[0])))
    kinesis = world.client("kinesis")
    put(world, "a", "b")

    kinesis.split_shard(
        StreamName="clicks", ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**127)
    )  # fmt: skip
    world.advance(seconds=1)
    put(world, *map(str, range(10)))
    world.settle()

    assert seen[:2] == ["shardId-000000000000"] * 2
    assert len(seen) == 12
    assert set(seen[2:]) == {"shardId-000000000001", "shardId-000000000002"}


def test_function_reads_a_stream_through_a_consumer(world: World) -> None:
    kinesis, functions = world.client("kinesis"), world.client("lambda")
    stream_arn = kinesis.describe_stream_summary(StreamName="clicks")["StreamDescriptionSummary"]["StreamARN"]
    consumer = kinesis.register_stream_consumer(StreamARN=stream_arn, ConsumerName="fan-out")["Consumer"]
    (mapping,) = functions.list_event_source_mappings(FunctionName="on-click")["EventSourceMappings"]
    functions.delete_event_source_mapping(UUID=mapping["UUID"])
    seen: list[str] = []
    register(world, "on-click", kinesis_batch(lambda record: seen.append(record["kinesis"]["partitionKey"])))
    world.advance(seconds=1)

    functions.create_event_source_mapping(
        EventSourceArn=consumer["ConsumerARN"], FunctionName="on-click", StartingPosition="LATEST"
    )
    put(world, "a")
    world.settle()

    assert seen == ["a"]


def test_function_on_a_table_sees_the_changes_that_its_filter_lets_pass(world: World) -> None:
    seen: list[Any] = []
    register(
        world,
        "on-order",
        dynamodb_batch(lambda record: seen.append((record["eventName"], record["dynamodb"]["Keys"]["id"]["S"]))),
    )
    table = world.resource("dynamodb").Table("orders")

    table.put_item(Item={"id": "1", "n": 1})
    table.put_item(Item={"id": "1", "n": 2})
    table.delete_item(Key={"id": "1"})
    world.settle()

    assert seen == [("INSERT", "1"), ("REMOVE", "1")]


def test_poison_change_of_a_table_is_isolated_and_told_to_the_destination(world: World) -> None:
    seen: list[list[str]] = []

    def handler(event: Any, context: object) -> None:
        ids = [record["dynamodb"]["Keys"]["id"]["S"] for record in event["Records"]]
        seen.append(ids)
        if "bad" in ids:
            raise ValueError("poison")

    register(world, "on-order", handler)
    table = world.resource("dynamodb").Table("orders")
    with table.batch_writer() as batch:
        for name in ("bad", "good", "fine"):
            batch.put_item(Item={"id": name})

    world.advance(seconds=10)

    (record,) = failures(world)
    info = record["DDBStreamBatchInfo"]
    assert info["batchSize"] == 1
    assert info["approximateArrivalOfFirstRecord"] == info["approximateArrivalOfLastRecord"] == "2025-01-01T00:00:00Z"
    assert ["bad"] in seen
    assert {name for ids in seen for name in ids if "bad" not in ids} == {"good", "fine"}


def test_shards_of_a_table_that_succeed_each_other_are_read_to_the_end(world: World) -> None:
    seen: list[Any] = []
    register(world, "on-order", dynamodb_batch(lambda record: seen.append(record["dynamodb"]["Keys"]["id"]["S"])))
    table = world.resource("dynamodb").Table("orders")

    for number in range(10):
        table.put_item(Item={"id": str(number)})
        world.advance(hours=2)

    assert seen == [str(number) for number in range(10)]


def test_filter_of_a_queue_lets_a_function_see_what_matches(world: World) -> None:
    seen: list[str] = []
    register(world, "on-order", lambda event, context: seen.extend(one["body"] for one in event["Records"]))
    sqs = world.client("sqs")
    url = sqs.get_queue_url(QueueName="jobs")["QueueUrl"]

    for kind in ("job", "joke"):
        sqs.send_message(QueueUrl=url, MessageBody=json.dumps({"kind": kind}))
    world.settle()

    assert seen == ['{"kind": "job"}']


def test_metrics_tell_of_what_was_read_and_of_its_age(world: World) -> None:
    register(world, "on-click", lambda event, context: None)
    put(world, "a", "b")
    world.advance(minutes=2)

    (mapping,) = world.client("lambda").list_event_source_mappings(FunctionName="on-click")["EventSourceMappings"]
    cloudwatch = world.client("cloudwatch")

    def total(name: str, **dimensions: str) -> list[float]:
        points = cloudwatch.get_metric_statistics(
            Namespace="AWS/Lambda", MetricName=name, StartTime=world.now / 1000 - 3_600, EndTime=world.now / 1000,
            Period=3_600,
            Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()], Statistics=["Sum"],
        )["Datapoints"]  # fmt: skip
        return [point["Sum"] for point in points]

    assert total("IteratorAge", FunctionName="on-click") == [0.0]
    assert total("PolledEventCount", EventSourceMappingUUID=mapping["UUID"]) == [2.0]
    assert total("InvokedEventCount", EventSourceMappingUUID=mapping["UUID"]) == [2.0]
    assert total("FailedInvokeEventCount", EventSourceMappingUUID=mapping["UUID"]) == [0.0]
