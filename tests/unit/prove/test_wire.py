"""The shortened way through the engine and the whole wire give a handler the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Attr
from botocore.exceptions import ClientError, ConnectionClosedError

from redrive.prove.play.events import Called
from redrive.prove.play.faults import Fault, Leg, Strike
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short, Wire
from redrive.prove.process.clients import remembered_clients
from redrive.prove.process.subject import GivenSubject
from redrive.prove.stage.tables import Improvised
from redrive.prove.stage.trigger import usual_trigger

Seen = list[Any]


def play(handler: Callable[[Any, Any], Any], transport: type[Short | Wire], *strikes: Strike) -> list[Called]:
    """The calls of one leg."""
    performance = Performance(GivenSubject(handler), seed=1, improvised=Improvised(("{}",)))
    performance.begin(usual_trigger(performance.stage, ("{}",)))
    with remembered_clients(), performance.entered(transport(performance.stage)):
        events = performance.play(Leg(strikes=strikes))
    performance.close()
    return [event for event in events if isinstance(event, Called)]


def calls_of(seen: Seen) -> Callable[[Any, Any], None]:
    """A handler that makes calls of several protocols and keeps what it is told."""

    def handler(event: Any, context: Any) -> None:
        dynamodb, sqs, scheduler = boto3.client("dynamodb"), boto3.client("sqs"), boto3.client("scheduler")
        item = {"id": {"S": "a"}, "n": {"N": "1"}}
        unless_there = "attribute_not_exists(id)"
        for call in (
            lambda: dynamodb.put_item(TableName="things", Item=item, ConditionExpression=unless_there),
            lambda: dynamodb.put_item(
                TableName="things",
                Item=item,
                ConditionExpression=unless_there,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            ),
            lambda: dynamodb.get_item(TableName="things", Key={"id": {"S": "a"}}),
            lambda: sqs.send_message(QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/q", MessageBody="é"),
            lambda: scheduler.list_schedules(MaxResults=5, NamePrefix="a b"),
            lambda: boto3.client("sts").get_caller_identity(),
            lambda: boto3.client("sns").publish(TopicArn="arn:aws:sns:us-east-1:000000000000:t", Message="m"),
        ):
            try:
                answer: Any = call()  # type: ignore[no-untyped-call]
            except ClientError as error:
                answer = error.response
            answer.pop("ResponseMetadata")
            seen.append({name: value for name, value in answer.items() if name != "MessageId"})

    return handler


def test_search_and_wire_give_the_same_answers() -> None:
    short: Seen = []
    wire: Seen = []

    play(calls_of(short), Short)
    play(calls_of(wire), Wire)

    assert short == wire
    assert short[1]["Error"]["Code"] == "ConditionalCheckFailedException"
    assert short[1]["Item"] == {"id": {"S": "a"}, "n": {"N": "1"}}


def add(event: Any, context: Any) -> None:
    boto3.client("dynamodb").update_item(
        TableName="totals", Key={"id": {"S": "all"}}, UpdateExpression="ADD n :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )  # fmt: skip


@pytest.mark.parametrize("transport", [Short, Wire])
@pytest.mark.parametrize(
    ("fault", "times", "outcome"),
    [
        (Fault.CRASH_BEFORE, 0, ""),
        (Fault.CRASH_AFTER, 1, ""),
        (Fault.LOST, 1, ConnectionClosedError.__name__),
        (Fault.LOST_AND_RETRIED, 2, ""),
        (Fault.THROTTLED, 0, "ThrottlingException"),
    ],
)
def test_fault_takes_effect_as_often_on_both_ways(
    transport: type[Short | Wire], fault: Fault, times: int, outcome: str
) -> None:
    (call,) = play(add, transport, Strike(0, fault))

    assert (call.times, call.outcome) == (times, outcome)


def test_resource_and_its_own_types_are_understood() -> None:
    """boto3.resource takes Python's values and condition objects; what is seen is what is sent."""

    def handler(event: Any, context: Any) -> None:
        table = boto3.resource("dynamodb").Table("things")
        table.put_item(Item={"id": "a", "n": 1}, ConditionExpression=Attr("id").not_exists())
        assert table.get_item(Key={"id": "a"})["Item"] == {"id": "a", "n": 1}

    put, get = play(handler, Short)

    assert put.call.params["Item"] == {"id": {"S": "a"}, "n": {"N": "1"}}
    assert put.call.name == "dynamodb:PutItem:things"
    assert get.outcome == ""


def test_answer_that_a_handler_changes_is_whole_when_it_is_given_again() -> None:
    seen: list[str] = []

    def handler(event: Any, context: Any) -> None:
        for answer in (
            boto3.client("sts").get_caller_identity(),
            boto3.client("lambda").list_event_source_mappings()["EventSourceMappings"][0],
        ):
            seen.append(repr(answer))
            answer.clear()

    performance = Performance(GivenSubject(handler), seed=1)
    performance.begin(usual_trigger(performance.stage, ("{}",)))
    before = performance.save()
    with remembered_clients(), performance.entered(Short(performance.stage)):
        performance.play(Leg())
        performance.load(before)
        performance.play(Leg())
    performance.close()

    assert len(seen) == 4
    assert seen[:2] == seen[2:]
    assert "Account" in seen[0]
    assert "datetime" in seen[1]


def test_questions_that_are_equal_in_python_alone_are_not_taken_for_each_other() -> None:
    refused: list[bool] = []

    def handler(event: Any, context: Any) -> None:
        for reads_all in (True, 1):
            try:
                boto3.client("dynamodb").scan(TableName="things", ConsistentRead=reads_all)
                refused.append(False)
            except ClientError:
                refused.append(True)

    play(handler, Short)

    assert refused == [False, True]
