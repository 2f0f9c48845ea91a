"""How many round trips and statements a batch costs on PostgreSQL. Each flush of a pipeline is a round trip."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from redrive.store.postgres.pipeline import Pipeline
from tests.support.postgresql import database
from tests.support.stores import PostgresWorld

BATCH = 64
TRUST = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
ALLOWED = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}
QUEUE_ARN = "arn:aws:sqs:us-east-1:000000000000:orders"


@dataclass
class Cost:
    """What was sent since the beginning, or since `measured` was called."""

    round_trips: int = 0
    statements: list[str] = field(default_factory=list)

    def measured(self, work: Callable[[], object]) -> Cost:
        """What this work costs."""
        self.round_trips, self.statements = 0, []
        work()
        return Cost(self.round_trips, list(self.statements))


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch) -> Cost:
    counted = Cost()
    flush, queue = Pipeline.flush, Pipeline.queue

    def counting_flush(pipeline: Pipeline) -> None:
        counted.round_trips += pipeline.has_queued
        flush(pipeline)

    def counting_queue(pipeline: Pipeline, sql: str, *rest: Any) -> None:
        counted.statements.append(sql)
        queue(pipeline, sql, *rest)

    monkeypatch.setattr(Pipeline, "flush", counting_flush)
    monkeypatch.setattr(Pipeline, "queue", counting_queue)
    return counted


@pytest.fixture(scope="module")
def world(postgresql_url: str) -> Iterator[PostgresWorld]:
    with database(postgresql_url) as url:
        world = PostgresWorld(url)
        world.call("sqs", "CreateQueue", QueueName="orders")
        world.call("sqs", "CreateQueue", QueueName="orders.fifo", Attributes={"FifoQueue": "true"})
        world.call(
            "dynamodb", "CreateTable", TableName="items", BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        )  # fmt: skip
        world.settle()
        yield world
        world.close()


def send(number: int) -> Mapping[str, object]:
    return {"QueueUrl": "orders", "MessageBody": str(number)}


def send_in_order(number: int) -> Mapping[str, object]:
    ids = {"MessageGroupId": str(number % 4), "MessageDeduplicationId": f"d{number}"}
    return {"QueueUrl": "orders.fifo", "MessageBody": str(number), **ids}


def put(number: int) -> Mapping[str, object]:
    return {"TableName": "items", "Item": {"k": {"S": str(number)}}}


def put_if_new(number: int) -> Mapping[str, object]:
    return {**put(number), "ConditionExpression": "attribute_not_exists(k)"}


def update(number: int) -> Mapping[str, object]:
    return {
        "TableName": "items", "Key": {"k": {"S": str(number)}}, "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }  # fmt: skip


def put_followed(number: int) -> Mapping[str, object]:
    return {**put(number), "TableName": "followed"}


def get(number: int) -> Mapping[str, object]:
    return {"TableName": "items", "Key": {"k": {"S": str(number)}}}


def receive(_: int) -> Mapping[str, object]:
    return {"QueueUrl": "orders"}


@pytest.mark.parametrize(
    ("service", "operation", "params", "round_trips", "statements_each"),
    [
        ("sqs", "SendMessage", send, 1, 1),
        ("sqs", "ReceiveMessage", receive, 2, 1),
        ("dynamodb", "PutItem", put, 2, 2),
        ("dynamodb", "PutItem", put_if_new, 2, 2),
        ("dynamodb", "UpdateItem", update, 2, 2),
        ("dynamodb", "GetItem", get, 2, 1),
    ],
    ids=["send", "receive", "put", "put-if-new", "update", "get"],
)
def test_batch_of_requests_takes_few_round_trips(
    world: PostgresWorld, cost: Cost, service: str, operation: str, params: Callable[[int], Any], round_trips: int,
    statements_each: int,
) -> None:  # fmt: skip
    """However many requests share a batch. The frame is BEGIN, the store's lock, the check of definitions, COMMIT."""
    world.calls(service, operation, [params(number) for number in range(1000, 1004)])

    found = cost.measured(lambda: world.calls(service, operation, [params(number) for number in range(BATCH)]))

    assert found.round_trips <= round_trips
    assert len(found.statements) <= statements_each * BATCH + 6


def test_batch_of_puts_into_a_table_with_a_stream_takes_three_round_trips(world: PostgresWorld, cost: Cost) -> None:
    """Each reads the old item and writes the new one and a record; the four shards are reserved beside the items."""
    world.call(
        "dynamodb", "CreateTable", TableName="followed", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )  # fmt: skip
    world.calls("dynamodb", "PutItem", [put_followed(number) for number in range(1000, 1004)])

    found = cost.measured(lambda: world.calls("dynamodb", "PutItem", [put_followed(number) for number in range(BATCH)]))

    assert found.round_trips <= 3
    assert len(found.statements) <= 3 * BATCH + 6 + 4


def test_batch_of_deletes_takes_two_round_trips(world: PostgresWorld, cost: Cost) -> None:
    world.calls("sqs", "SendMessage", [send(number) for number in range(BATCH)])
    answers: list[Any] = world.calls("sqs", "ReceiveMessage", [receive(number) for number in range(BATCH)])
    handles = [{"QueueUrl": "orders", "ReceiptHandle": answer["Messages"][0]["ReceiptHandle"]} for answer in answers]

    found = cost.measured(lambda: world.calls("sqs", "DeleteMessage", handles))

    assert len(handles) == BATCH
    assert found.round_trips <= 2
    assert len(found.statements) <= BATCH + 6


def test_sends_to_a_fifo_queue_take_a_round_trip_each(world: PostgresWorld, cost: Cost) -> None:
    """They wait for each other, because the queue is reserved. That is the price of the order."""
    world.calls("sqs", "SendMessage", [send_in_order(number) for number in range(1000, 1004)])

    found = cost.measured(lambda: world.calls("sqs", "SendMessage", [send_in_order(number) for number in range(16)]))

    assert found.round_trips <= 16 + 1
    assert len(found.statements) <= 2 * 16 + 6


def create_schedules(world: PostgresWorld, names: Sequence[str]) -> None:
    for name in names:
        target = {"Arn": QUEUE_ARN, "RoleArn": "arn:aws:iam::000000000000:role/r", "Input": "{}"}
        world.call(
            "scheduler", "CreateSchedule", Name=name, ScheduleExpression="rate(1 minute)",
            FlexibleTimeWindow={"Mode": "OFF"}, Target=target,
        )  # fmt: skip
    world.advance(minutes=3)


def test_more_due_schedules_take_hardly_more_round_trips(world: PostgresWorld, cost: Cost) -> None:
    """From the timers to the messages in the queue. What does not grow is asked once for each kind of work."""
    trust, allowed = (json.dumps({"Version": "2012-10-17", "Statement": [one]}) for one in (TRUST, ALLOWED))
    world.call("iam", "CreateRole", RoleName="r", AssumeRolePolicyDocument=trust)
    world.call("iam", "PutRolePolicy", RoleName="r", PolicyName="p", PolicyDocument=allowed)

    create_schedules(world, [f"s{number}" for number in range(4)])
    few = cost.measured(lambda: world.advance(minutes=1))
    create_schedules(world, [f"t{number}" for number in range(20)])
    many = cost.measured(lambda: world.advance(minutes=1))

    assert [sum("INSERT INTO messages" in sql for sql in found.statements) for found in (few, many)] == [4, 24]
    assert few.round_trips <= 65
    assert many.round_trips <= few.round_trips + 8
    assert len(many.statements) <= len(few.statements) + 20 * 10
