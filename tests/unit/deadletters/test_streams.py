"""The records of a batch that was given up come back as the function got them, while the stream has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.findings import Answer
from redrive.deadletters.letter import Batch, Letter
from redrive.deadletters.preflight import Gates, Preflight
from redrive.deadletters.streams import Streams
from redrive.testing.world import World

TEMPLATE = """
Resources:
  Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: dead}}
  Clicks: {Type: AWS::Kinesis::Stream, Properties: {Name: clicks, ShardCount: 1, RetentionPeriodHours: 24}}
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: orders
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: '2012-10-17'
        Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: sts:AssumeRole}]
      Policies:
        - PolicyName: all
          PolicyDocument: {Version: '2012-10-17', Statement: [{Effect: Allow, Action: '*', Resource: '*'}]}
  Function:
    Type: AWS::Lambda::Function
    Properties:
      FunctionName: failing
      Runtime: python3.12
      Handler: index.handler
      Role: !GetAtt Role.Arn
      Timeout: 5
      Code:
        ZipFile: |
          import json
          def handler(event, context):
              print("EVENT " + json.dumps(event))
              raise KeyError("order")
  OfClicks:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: !Ref Function
      EventSourceArn: !GetAtt Clicks.Arn
      StartingPosition: TRIM_HORIZON
      MaximumRetryAttempts: 0
      MaximumBatchingWindowInSeconds: 10
      DestinationConfig: {OnFailure: {Destination: !GetAtt Dead.Arn}}
  OfOrders:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: !Ref Function
      EventSourceArn: !GetAtt Orders.StreamArn
      StartingPosition: TRIM_HORIZON
      MaximumRetryAttempts: 0
      MaximumBatchingWindowInSeconds: 10
      DestinationConfig: {OnFailure: {Destination: !GetAtt Dead.Arn}}
"""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A stream and a table, whose function fails and says what it got."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    world = World(seed=1)
    world.deploy(TEMPLATE)
    yield world
    world.close()


def the_letter(world: World) -> tuple[Letter, Batch]:
    world.advance(minutes=1)
    url = world.client("sqs").get_queue_url(QueueName="dead")["QueueUrl"]
    answer = world.client("sqs").receive_message(QueueUrl=url, MessageSystemAttributeNames=["All"])
    letter = read_letter(answer["Messages"][0])
    assert letter.work.batch is not None
    return letter, letter.work.batch


def events_seen(world: World) -> list[Any]:
    found = world.client("logs").filter_log_events(logGroupName="/aws/lambda/failing", filterPattern="EVENT")["events"]
    return [json.loads(one["message"].removeprefix("EVENT ")) for one in found]


def put(world: World, count: int) -> None:
    for number in range(count):
        world.client("kinesis").put_record(StreamName="clicks", PartitionKey="a", Data=f"click {number}".encode())


def test_batch_of_kinesis_is_fetched_as_the_function_got_it(world: World) -> None:
    put(world, 3)
    _, batch = the_letter(world)
    put(world, 2)

    found = Streams(world.client, world.clock.now).fetch(batch)

    (seen,) = events_seen(world)
    without_role = [{name: one[name] for name in one if name != "invokeIdentityArn"} for one in seen["Records"]]
    assert found.event["Records"] == without_role
    assert (len(found.records), found.missing) == (3, 0)
    assert batch.arrived_at is not None
    assert found.until == batch.arrived_at + 24 * HOUR_MS


def test_batch_of_a_table_is_fetched_as_the_function_got_it(world: World) -> None:
    table = world.client("dynamodb")
    table.put_item(TableName="orders", Item={"id": {"S": "o-1"}, "seal": {"B": b"\x00\xff"}, "all": {"BS": [b"a"]}})
    table.delete_item(TableName="orders", Key={"id": {"S": "o-1"}})
    _, batch = the_letter(world)

    found = Streams(world.client, world.clock.now).fetch(batch)

    (seen,) = events_seen(world)
    assert found.event == seen
    assert found.missing == 0
    assert batch.arrived_at is not None
    assert found.until == batch.arrived_at + DAY_MS


def test_batch_is_gone_when_the_stream_has_dropped_it(world: World) -> None:
    put(world, 3)
    letter, batch = the_letter(world)
    streams = Streams(world.client, world.clock.now)

    before = streams.finding(letter)
    world.advance(hours=25)
    after = streams.finding(letter)

    assert batch.arrived_at is not None
    assert (before.answer, before.until) == (Answer.GO, batch.arrived_at + 24 * HOUR_MS)
    assert (after.answer, after.reason) == (Answer.REFUSE, "the stream has dropped all records")


def test_batch_that_is_there_in_part_is_refused(world: World) -> None:
    put(world, 3)
    letter, batch = the_letter(world)
    longer = replace(letter, work=replace(letter.work, batch=replace(batch, count=5)))

    found = Streams(world.client, world.clock.now).finding(longer)

    assert (found.answer, found.reason) == (Answer.REFUSE, "the stream has dropped some records")
    assert found.detail.startswith("2 of 5 records")


def test_stream_that_does_not_exist_has_no_records(world: World) -> None:
    put(world, 1)
    _, batch = the_letter(world)
    gone = replace(batch, stream_arn=f"{batch.stream_arn}-gone")

    found = Streams(world.client, world.clock.now).fetch(gone)

    assert (found.records, found.missing) == ((), 1)
    assert found.why


def test_stream_that_may_not_be_read_is_told(world: World) -> None:
    put(world, 1)
    letter, _ = the_letter(world)

    class Denied:
        """Kinesis without permission."""

        def describe_stream_summary(self, **_: Any) -> Any:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DescribeStreamSummary")

    found = Streams(lambda _: Denied(), world.clock.now).finding(letter)

    assert (found.answer, found.reason) == (Answer.REFUSE, "the stream may not be read: AccessDeniedException")


def test_preflight_asks_the_stream_of_a_batch(world: World) -> None:
    put(world, 1)
    letter, _ = the_letter(world)
    streams = Streams(world.client, world.clock.now)

    ((*with_it,),) = Preflight(world.client, world.clock.now, Gates(stream=streams.finding)).examine([letter])
    ((*without,),) = Preflight(world.client, world.clock.now, Gates()).examine([letter])

    assert [one.answer for one in with_it if one.gate == "stream"] == [Answer.GO]
    assert [one.answer for one in without if one.gate == "stream"] == [Answer.CAUTION]
    assert [one for one in with_it if one.gate == "whole"] == []
