"""Mappings from FIFO queues: each group in order, through failures and redelivery, down to the dead-letter queue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.testing.world import World
from tests.unit.services.lambda_.functions import QUEUE_ARN, START, Rig, answered, archive, raised
from tests.unit.services.lambda_.test_workers import bodies, claim, last_result, next_due, settle

INVALID = "InvalidParameterValueException"
FIFO = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
REPORTS = ["ReportBatchItemFailures"]
VISIBILITY_S = 30


def map_fifo(rig: Rig, **params: Any) -> str:
    """A FIFO queue that is mapped to a function; answers the mapping's UUID."""
    rig.create_queue("orders.fifo", **FIFO)
    rig.create_function()
    arn = f"{QUEUE_ARN}orders.fifo"
    return str(rig.call("CreateEventSourceMapping", EventSourceArn=arn, FunctionName="worker", **params)["UUID"])


def send(rig: Rig, *texts: str) -> None:
    """Send messages whose group is the first letter of their text."""
    for text in texts:
        rig.sqs("SendMessage", QueueUrl="orders.fifo", MessageBody=text, MessageGroupId=text[0])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"MaximumBatchingWindowInSeconds": 5}, "Batching window is not supported for FIFO queues"),
        ({"MaximumBatchingWindowInSeconds": 5, "BatchSize": 100}, "Batching window is not supported for FIFO queues"),
        (
            {"BatchSize": 11},
            "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10",
        ),
    ],
)
def test_fifo_queue_has_no_batching_window_and_batches_of_ten_at_most(
    rig: Rig, params: dict[str, int], message: str
) -> None:
    uuid = map_fifo(rig)
    rig.create_function("other")

    created = rig.refusal(
        "CreateEventSourceMapping", EventSourceArn=f"{QUEUE_ARN}orders.fifo", FunctionName="other", **params
    )
    updated = rig.refusal("UpdateEventSourceMapping", UUID=uuid, **params)

    assert created == updated == (INVALID, message)


def test_record_of_a_fifo_message_has_its_group_its_deduplication_id_and_its_number(rig: Rig) -> None:
    """Source: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html"""
    map_fifo(rig)
    sent = rig.sqs(
        "SendMessage", QueueUrl="orders.fifo", MessageBody="a1", MessageGroupId="a", MessageDeduplicationId="once"
    )

    (attempt,) = claim(rig)

    (record,) = json.loads(attempt.invocation.payload)["Records"]
    assert record["messageId"] == sent["MessageId"]
    assert record["attributes"] == {
        "ApproximateReceiveCount": "1",
        "SentTimestamp": str(START),
        "SenderId": "000000000000",
        "ApproximateFirstReceiveTimestamp": str(START),
        "MessageGroupId": "a",
        "MessageDeduplicationId": "once",
        "SequenceNumber": sent["SequenceNumber"],
    }


def test_batch_holds_what_one_receive_gives_of_several_groups_each_in_order(rig: Rig) -> None:
    map_fifo(rig)
    send(rig, "a1", "b1", "a2", "b2")

    (attempt,) = claim(rig)

    assert [one for one in bodies(attempt) if one[0] == "a"] == ["a1", "a2"]
    assert [one for one in bodies(attempt) if one[0] == "b"] == ["b1", "b2"]


def test_batch_is_one_receive_though_more_messages_would_fit(rig: Rig) -> None:
    map_fifo(rig, BatchSize=3)
    send(rig, "a1", "a2", "a3", "a4", "b1")

    assert [bodies(attempt) for attempt in claim(rig)] == [["a1", "a2", "a3"], ["b1"]]


def test_batches_under_way_are_no_more_than_the_groups(rig: Rig) -> None:
    """While a batch of a group is under way nothing else of that group is received."""
    map_fifo(rig, BatchSize=1)
    send(rig, "a1", "b1", "a2", "b2")

    first, second = claim(rig)
    meanwhile = claim(rig)
    settle(rig, first, answered(None))
    (after,) = claim(rig)

    assert (bodies(first), bodies(second), bodies(after)) == (["a1"], ["b1"], ["a2"])
    assert meanwhile == []


def test_group_that_is_held_up_is_due_when_its_first_message_is_visible_again(rig: Rig) -> None:
    map_fifo(rig, BatchSize=1)
    send(rig, "a1", "a2")
    (attempt,) = claim(rig)
    settle(rig, attempt, raised("broken"))

    assert claim(rig) == []

    assert next_due(rig) == VISIBILITY_S * 1000


def test_receive_of_more_than_an_event_holds_is_undone_and_made_smaller(rig: Rig) -> None:
    """No message is received and not run: that would hold up its group and count as a receive."""
    map_fifo(rig)
    send(rig, *(f"a{number}{'x' * 1_000_000}" for number in range(8)))

    (attempt,) = claim(rig, free=10)
    settle(rig, attempt, answered(None))
    (rest,) = claim(rig)

    assert [text[:2] for text in bodies(attempt)] == ["a0", "a1", "a2", "a3", "a4", "a5"]
    assert [text[:2] for text in bodies(rest)] == ["a6", "a7"]
    counts = [one["attributes"]["ApproximateReceiveCount"] for one in json.loads(rest.invocation.payload)["Records"]]
    assert counts == ["1", "1"]


def test_batch_settled_after_its_visibility_timeout_deletes_nothing_and_says_so(rig: Rig) -> None:
    """A FIFO queue refuses receipts that have expired; the messages come again."""
    uuid = map_fifo(rig)
    send(rig, "a1")
    (attempt,) = claim(rig)

    rig.clock.move_to(START + VISIBILITY_S * 1000)
    settle(rig, attempt, answered(None))

    assert rig.count("orders.fifo") == 1
    assert last_result(rig, uuid).startswith("PROBLEM: Value ")
    assert last_result(rig, uuid).endswith(" is invalid. Reason: The receipt handle has expired.")


class Shop:
    """A world with a FIFO queue of orders, its dead-letter queue, and a function that fails as it is told."""

    def __init__(self, **mapping: Any) -> None:
        self.world = World(seed=1)
        self.dead = self._queue("dead.fifo")
        policy = {"deadLetterTargetArn": f"{QUEUE_ARN}dead.fifo", "maxReceiveCount": 3}
        self.orders = self._queue("orders.fifo", RedrivePolicy=json.dumps(policy))
        self.batches: list[list[str]] = []
        self.done: list[str] = []
        self.failing: set[str] = set()
        self.is_broken = False
        self.world.functions.register("worker", self._work)
        self.world.call(
            "lambda", "CreateFunction", FunctionName="worker", Runtime="python3.12", Handler="app.handler",
            Role=self._role(), Code={"ZipFile": archive()},
        )  # fmt: skip
        self.world.call(
            "lambda", "CreateEventSourceMapping", FunctionName="worker", EventSourceArn=f"{QUEUE_ARN}orders.fifo",
            **mapping,
        )  # fmt: skip

    def send(self, *texts: str) -> None:
        """Send messages whose group is the first letter of their text."""
        for text in texts:
            self.world.call("sqs", "SendMessage", QueueUrl=self.orders, MessageBody=text, MessageGroupId=text[0])

    def dead_letters(self) -> list[dict[str, Any]]:
        """What the dead-letter queue gives."""
        answer = self.world.call(
            "sqs", "ReceiveMessage", QueueUrl=self.dead, MaxNumberOfMessages=10, AttributeNames=["All"]
        )
        return list(answer.get("Messages") or ())

    def _work(self, event: Any, context: object) -> dict[str, Any]:
        """Work on the records of a batch until one fails, and report that one and what is left, as AWS advises."""
        records = event["Records"]
        self.batches.append([one["body"] for one in records])
        if self.is_broken:
            raise RuntimeError("broken")
        for position, one in enumerate(records):
            if one["body"] in self.failing:
                return {"batchItemFailures": [{"itemIdentifier": left["messageId"]} for left in records[position:]]}
            self.done.append(one["body"])
        return {"batchItemFailures": []}

    def _queue(self, name: str, **attributes: str) -> str:
        return str(self.world.call("sqs", "CreateQueue", QueueName=name, Attributes=FIFO | attributes)["QueueUrl"])

    def _role(self) -> str:
        trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        allowed = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}
        role = self.world.call("iam", "CreateRole", RoleName="worker", AssumeRolePolicyDocument=_policy(trust))["Role"]
        self.world.call("iam", "PutRolePolicy", RoleName="worker", PolicyName="queues", PolicyDocument=_policy(allowed))
        return str(role["Arn"])


def _policy(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = Shop(FunctionResponseTypes=REPORTS)
    yield shop
    shop.world.close()


@pytest.fixture
def one_by_one() -> Iterator[Shop]:
    shop = Shop(FunctionResponseTypes=REPORTS, BatchSize=1)
    yield shop
    shop.world.close()


def test_messages_of_a_group_reach_the_function_in_the_order_in_which_they_were_sent(one_by_one: Shop) -> None:
    one_by_one.send("a1", "a2", "b1", "a3", "b2")

    one_by_one.world.settle()

    assert [text for text in one_by_one.done if text[0] == "a"] == ["a1", "a2", "a3"]
    assert [text for text in one_by_one.done if text[0] == "b"] == ["b1", "b2"]


def test_failed_message_holds_up_its_group_and_no_other_until_it_is_done(one_by_one: Shop) -> None:
    one_by_one.failing = {"a1"}
    one_by_one.send("a1", "a2", "b1")

    one_by_one.world.advance(seconds=VISIBILITY_S - 1)
    meanwhile = list(one_by_one.done)
    one_by_one.failing = set()
    one_by_one.world.advance(seconds=1)

    assert meanwhile == ["b1"]
    assert one_by_one.done == ["b1", "a1", "a2"]


def test_reported_failures_are_redelivered_in_order(shop: Shop) -> None:
    shop.failing = {"a2"}
    shop.send("a1", "a2", "a3")
    shop.world.settle()
    shop.send("a4")

    shop.world.advance(seconds=VISIBILITY_S - 1)
    before = list(shop.batches)
    shop.failing = set()
    shop.world.advance(seconds=1)

    assert before == [["a1", "a2", "a3"]]
    assert shop.batches[1:] == [["a2", "a3", "a4"]]
    assert shop.done == ["a1", "a2", "a3", "a4"]


def test_message_of_a_group_that_always_fails_goes_to_the_dlq_and_frees_its_group(shop: Shop) -> None:
    """The dead letter keeps its id and its group; what stood behind it is not lost."""
    shop.failing = {"a1"}
    shop.send("a1")
    shop.world.settle()
    shop.send("a2")

    shop.world.advance(seconds=10 * VISIBILITY_S)

    (letter,) = shop.dead_letters()
    assert shop.batches == [["a1"], ["a1", "a2"], ["a1", "a2"], ["a2"]]
    assert shop.done == ["a2"]
    assert letter["Body"] == "a1"
    assert letter["Attributes"]["MessageGroupId"] == "a"
    assert letter["Attributes"]["DeadLetterQueueSourceArn"] == f"{QUEUE_ARN}orders.fifo"


def test_throwing_function_has_its_whole_batch_redelivered_in_order(shop: Shop) -> None:
    shop.is_broken = True
    shop.send("a1", "a2")
    shop.world.settle()
    shop.is_broken = False

    shop.world.advance(seconds=VISIBILITY_S)

    assert shop.batches == [["a1", "a2"], ["a1", "a2"]]
    assert shop.done == ["a1", "a2"]
