"""The records of a batch that was given up come back as the function got them, while the stream has them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.deadletters.causes import cause_of
from redrive.deadletters.contents import Contents, is_elsewhere
from redrive.deadletters.destinations import Destination, To, usual
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.findings import Answer
from redrive.deadletters.letter import Batch, Failure, Form, Letter, Origin, Work
from redrive.deadletters.outcomes import Accepted, Parcel, Refused, SendOutcome, Unknown
from redrive.deadletters.parcels import parcel_of
from redrive.deadletters.plan import Action, Rule
from redrive.deadletters.preflight import Gates, Preflight
from redrive.deadletters.putting import put as put_parcel
from redrive.deadletters.sending import Sender
from redrive.deadletters.sorting import Sends
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


def test_batch_that_does_not_say_its_records_is_refused(world: World) -> None:
    letter = read_letter({"MessageId": "m", "Body": '{"KinesisBatchInfo": {"batchSize": 2}, "requestContext": {}}'})

    found = Streams(world.client, world.clock.now).finding(letter)

    assert (letter.origin, found.answer) == (Origin.STREAM, Answer.REFUSE)
    assert "does not say which records" in found.detail


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


def sent(world: World, letter: Letter, to: Destination, contents: Contents | None = None) -> SendOutcome:
    """What becomes of a letter that is sent with its work, wherever that stands."""
    contents = contents or Contents(world.client, Streams(world.client, world.clock.now))
    parcel = parcel_of(letter, Sends(Rule(cause_of(letter), Action.REDRIVE), to, ""), contents)
    if isinstance(parcel, Refused):
        return parcel
    (outcome,) = Sender(world.client).send(to, [parcel])
    return outcome


def given_up(world: World, count: int, mended: Any) -> Letter:
    """The letter of a batch whose function fails at first, and is mended then."""
    handlers: list[Any] = [lambda event, _: event["nothing"]]

    def handler(event: Any, context: Any) -> Any:
        return handlers[-1](event, context)

    world.functions.register("failing", handler)
    put(world, count)
    letter, _ = the_letter(world)
    handlers.append(mended)
    return letter


def test_batch_goes_back_to_its_function_as_the_mapping_gave_it(world: World) -> None:
    got: list[Any] = []
    letter = given_up(world, 3, lambda event, _: got.append(event))
    to = usual(letter, list)

    assert isinstance(to, Destination)
    assert isinstance(sent(world, letter, to), Accepted)
    (event,) = got
    assert [base64.b64decode(one["kinesis"]["data"]).decode() for one in event["Records"]] == [
        "click 0", "click 1", "click 2"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("handler", "code"),
    [
        (lambda event, _: {"batchItemFailures": [{"itemIdentifier": "1"}]}, "BatchItemFailures"),
        (lambda event, _: event["nothing"], "KeyError"),
    ],
)
def test_answer_of_the_function_decides_whether_a_batch_is_done(world: World, handler: Any, code: str) -> None:
    letter = given_up(world, 2, handler)

    found = sent(world, letter, Destination(To.FUNCTION, "failing"))

    assert isinstance(found, Refused)
    assert found.code == code


def test_batch_goes_to_another_stream_record_by_record(world: World) -> None:
    put(world, 3)
    letter, _ = the_letter(world)
    kinesis = world.client("kinesis")
    kinesis.create_stream(StreamName="aside", ShardCount=1)
    world.advance(minutes=1)

    found = sent(world, letter, Destination(To.STREAM, "aside"))

    shard = kinesis.get_shard_iterator(
        StreamName="aside", ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    records = kinesis.get_records(ShardIterator=shard)["Records"]
    assert isinstance(found, Accepted)
    assert [(one["PartitionKey"], one["Data"]) for one in records] == [("a", f"click {n}".encode()) for n in range(3)]


def test_batch_goes_to_a_queue_as_one_message(world: World) -> None:
    put(world, 2)
    letter, _ = the_letter(world)
    sqs = world.client("sqs")
    url = sqs.create_queue(QueueName="aside")["QueueUrl"]

    assert isinstance(sent(world, letter, Destination(To.QUEUE, url)), Accepted)
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert len(json.loads(message["Body"])["Records"]) == 2


def test_batch_whose_records_are_gone_is_refused(world: World) -> None:
    put(world, 2)
    letter, _ = the_letter(world)
    world.advance(hours=25)

    found = sent(world, letter, Destination(To.FUNCTION, "failing"))

    assert isinstance(found, Refused)
    assert "the stream has 0 of 2 records" in found.message


def test_large_body_is_read_from_its_object_for_a_function_alone(world: World) -> None:
    s3 = world.client("s3")
    s3.create_bucket(Bucket="large")
    s3.put_object(Bucket="large", Key="k", Body=b'{"order": 1}')
    pointer = '["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "large", "s3Key": "k"}]'
    letter = read_letter({"MessageId": "m-1", "Body": pointer})
    got: list[Any] = []
    world.functions.register("failing", lambda event, _: got.append(event))

    outcome = sent(world, letter, Destination(To.FUNCTION, "failing"))
    world.advance(seconds=1)

    assert isinstance(outcome, Accepted)
    assert got == [{"order": 1}]
    assert not is_elsewhere(letter, Destination(To.QUEUE, "orders"))


class Partial:
    """Kinesis that accepts some records of each request, and at last none."""

    def __init__(self, accepts: Sequence[int]) -> None:
        self._accepts = iter(accepts)

    def put_records(self, *, Records: Sequence[Any], **_: Any) -> Any:  # noqa: N803 - boto3's name.
        accepted = next(self._accepts, 0)
        good = [{"SequenceNumber": str(number)} for number in range(min(accepted, len(Records)))]
        bad = {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "slow down"}
        return {"Records": [*good, *[bad] * (len(Records) - len(good))]}


@pytest.mark.parametrize(
    ("accepts", "outcome"), [((5,), Accepted), ((2, 1, 2), Accepted), ((), Refused), ((2,), Unknown)]
)
def test_batch_that_a_stream_takes_in_part_is_not_sent_twice(accepts: Sequence[int], outcome: type) -> None:
    work = Work("", Form.BATCH, batch=Batch("arn:aws:kinesis:r:1:stream/s", "shard", "1", "5", 5, None))
    letter = Letter("m-1", Origin.STREAM, "", Failure(), work)
    records = [{"kinesis": {"data": "YQ==", "partitionKey": "a"}}] * 5

    found = put_parcel(Partial(accepts), "s", Parcel(letter, json.dumps({"Records": records})))

    assert isinstance(found, outcome)
