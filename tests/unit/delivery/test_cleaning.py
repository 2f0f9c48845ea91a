"""What was purged or deleted is out of sight at once; its rows go in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from redrive.delivery.upkeep.cleaning import CLEANING, ROWS_PER_STEP_MAX
from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord, RunState
from redrive.testing.world import World
from tests.unit.store.conftest import write_down

MANY = 4 * ROWS_PER_STEP_MAX + 3
ATTRIBUTES = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")


@pytest.fixture
def world() -> World:
    return World()


def rows(world: World, table: str) -> int:
    return len(world.store.rows([table])[0])


def largest_step(world: World, work: Callable[[], object], table: str) -> int:
    """The most rows of a table that went in one transaction while this worked."""
    found, before = [0], [rows(world, table)]
    run = world.engine.run

    def counted(step: Any) -> Any:
        result = run(step)
        after = rows(world, table)
        found.append(before[0] - after)
        before[0] = after
        return result

    world.engine.run = counted
    work()
    world.engine.run = run
    return max(found)


def send(world: World, url: str, count: int, **ids: str) -> None:
    for first in range(0, count, 10):
        batch = range(first, min(count, first + 10))
        entries = [
            {"Id": str(n), "MessageBody": str(n)} | ({"MessageDeduplicationId": f"d{n}", **ids} if ids else {})
            for n in batch
        ]
        world.call("sqs", "SendMessageBatch", QueueUrl=url, Entries=entries)


def create(world: World, name: str = "orders", **attributes: str) -> str:
    return str(world.call("sqs", "CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"])


def receive(world: World, url: str) -> list[dict[str, Any]]:
    return list(world.call("sqs", "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []))


def test_purge_of_many_messages_is_seen_at_once_and_spares_what_is_sent_after_it(world: World) -> None:
    url = create(world)
    send(world, url, MANY)
    held = receive(world, url)

    world.call("sqs", "PurgeQueue", QueueUrl=url)
    send(world, url, 3)

    seen = world.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=ATTRIBUTES)["Attributes"]
    assert [seen[name] for name in ATTRIBUTES] == ["3", "0"]
    assert sorted(message["Body"] for message in receive(world, url)) == ["0", "1", "2"]
    world.call("sqs", "DeleteMessage", QueueUrl=url, ReceiptHandle=held[0]["ReceiptHandle"])
    world.settle()
    assert rows(world, "messages") == 3


def test_purge_forgets_a_bounded_number_of_messages_in_each_transaction(world: World) -> None:
    url = create(world)
    send(world, url, MANY)

    def purge() -> None:
        world.call("sqs", "PurgeQueue", QueueUrl=url)
        world.settle()

    assert largest_step(world, purge, "messages") == ROWS_PER_STEP_MAX
    assert rows(world, "messages") == 0
    assert world.store.run(lambda tx: tx.timers.next(CLEANING)) is None


def test_purge_of_few_messages_leaves_nothing_to_do(world: World) -> None:
    url = create(world)
    send(world, url, 20)

    world.call("sqs", "PurgeQueue", QueueUrl=url)

    assert rows(world, "messages") == 0
    assert world.store.run(lambda tx: tx.timers.next(CLEANING)) is None


def test_fifo_queue_forgets_what_was_sent_before_a_purge_of_many(world: World) -> None:
    url = create(world, "orders.fifo", FifoQueue="true")
    send(world, url, MANY, MessageGroupId="g")
    first = world.call(
        "sqs", "SendMessage", QueueUrl=url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="once"
    )
    world.call("sqs", "PurgeQueue", QueueUrl=url)

    again = world.call(
        "sqs", "SendMessage", QueueUrl=url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="once"
    )
    world.call("sqs", "SendMessage", QueueUrl=url, MessageBody="y", MessageGroupId="g", MessageDeduplicationId="other")

    assert again["MessageId"] != first["MessageId"]
    assert [message["Body"] for message in receive(world, url)] == ["x", "y"]


def test_dead_letters_and_moved_messages_go_into_a_purged_queue(world: World) -> None:
    dead = create(world, "dead")
    send(world, dead, MANY)
    world.call("sqs", "PurgeQueue", QueueUrl=dead)
    policy = '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1}'
    url = create(world, "source", VisibilityTimeout="0", RedrivePolicy=policy)
    send(world, url, 1)

    receive(world, url)
    receive(world, url)

    assert [message["Body"] for message in receive(world, dead)] == ["0"]


def test_queue_of_the_same_name_begins_empty_while_the_old_one_is_cleaned(world: World) -> None:
    url = create(world)
    send(world, url, MANY)

    def delete() -> None:
        world.call("sqs", "DeleteQueue", QueueUrl=url)
        create(world)
        assert receive(world, url) == []
        world.settle()

    assert largest_step(world, delete, "messages") == ROWS_PER_STEP_MAX
    assert rows(world, "messages") == 0


def test_deleted_table_is_cleaned_in_pieces(world: World) -> None:
    world.call(
        "dynamodb", "CreateTable", TableName="things", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )  # fmt: skip
    for number in range(ROWS_PER_STEP_MAX + 20):
        world.call("dynamodb", "PutItem", TableName="things", Item={"id": {"N": str(number)}})

    def delete() -> None:
        world.call("dynamodb", "DeleteTable", TableName="things")
        world.settle()

    assert largest_step(world, delete, "items") == ROWS_PER_STEP_MAX
    assert rows(world, "items") == 0


def test_deleted_log_group_is_cleaned_in_pieces(world: World) -> None:
    world.call("logs", "CreateLogGroup", logGroupName="g")
    world.call("logs", "CreateLogStream", logGroupName="g", logStreamName="s")
    events = [{"timestamp": world.now, "message": str(number)} for number in range(ROWS_PER_STEP_MAX + 20)]
    world.call("logs", "PutLogEvents", logGroupName="g", logStreamName="s", logEvents=events)

    def delete() -> None:
        world.call("logs", "DeleteLogGroup", logGroupName="g")
        world.settle()

    assert largest_step(world, delete, "log_events") == ROWS_PER_STEP_MAX
    assert rows(world, "log_events") == 0


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
def test_hourly_sweep_of_expired_messages_takes_pieces(world: World, name: str) -> None:
    fifo = {"FifoQueue": "true"} if name.endswith("fifo") else {}
    url = create(world, name, MessageRetentionPeriod="60", **fifo)
    send(world, url, 2 * ROWS_PER_STEP_MAX + 3, **({"MessageGroupId": "g"} if fifo else {}))

    def sweep() -> None:
        world.advance(hours=1, moved=lambda _: None)

    assert largest_step(world, sweep, "messages") == ROWS_PER_STEP_MAX
    assert rows(world, "messages") == 0


def test_sweep_of_attempts_forgets_the_oldest_and_the_runs_that_are_over(world: World) -> None:
    def record(tx: Transaction) -> None:
        for number in range(5):
            state = RunState.DROPPED if number % 2 else RunState.DELIVERED
            write_down(tx, AttemptRecord(f"d{number}", "arn", 1, number, state))

    world.store.run(record)

    swept = world.store.run(lambda tx: tx.attempts.sweep(4, limit=3))

    assert swept == 3
    assert (rows(world, "attempts"), rows(world, "runs")) == (0, 2)
    assert world.store.run(lambda tx: tx.attempts.oldest()) == 2
