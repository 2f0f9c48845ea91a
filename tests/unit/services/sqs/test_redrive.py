"""Redrive: a message that was received too often moves to the dead-letter queue when it would be received again."""

from __future__ import annotations

import json

import pytest

from redrive.services.sqs.limits import REDRIVE_ROUNDS_MAX
from redrive.testing.world import World

DLQ_ARN = "arn:aws:sqs:us-east-1:000000000000:dead"
SOURCE_ARN = "arn:aws:sqs:us-east-1:000000000000:source"


@pytest.fixture
def dead(call) -> str:
    url: str = call("CreateQueue", QueueName="dead")["QueueUrl"]
    return url


@pytest.fixture
def source(call, dead) -> str:
    """A queue that gives a message once before it goes to `dead`."""
    policy = json.dumps({"deadLetterTargetArn": DLQ_ARN, "maxReceiveCount": 1})
    url: str = call("CreateQueue", QueueName="source", Attributes={"RedrivePolicy": policy})["QueueUrl"]
    return url


def exhaust(world: World, queue: str, *messages: str) -> None:
    """Send messages and let each be received as often as the queue allows."""
    for body in messages:
        world.call("sqs", "SendMessage", QueueUrl=queue, MessageBody=body)
    world.call("sqs", "ReceiveMessage", QueueUrl=queue, VisibilityTimeout=0, MaxNumberOfMessages=10)


def test_message_reaching_max_receive_count_goes_to_dlq(world, call, source, dead):
    exhaust(world, source, "1")
    assert call("ReceiveMessage", QueueUrl=dead) == {}

    assert call("ReceiveMessage", QueueUrl=source) == {}

    assert call("ReceiveMessage", QueueUrl=dead)["Messages"][0]["Body"] == "1"


def test_dead_letter_keeps_id_attributes_times_and_count(world, call, source, dead):
    attributes = {"x": {"DataType": "String", "StringValue": "y"}}
    sent = call("SendMessage", QueueUrl=source, MessageBody="1", MessageAttributes=attributes)
    world.advance(seconds=1)
    call("ReceiveMessage", QueueUrl=source, VisibilityTimeout=0)
    world.advance(seconds=1)
    call("ReceiveMessage", QueueUrl=source)

    (message,) = call("ReceiveMessage", QueueUrl=dead, AttributeNames=["All"], MessageAttributeNames=["All"])[
        "Messages"
    ]

    assert message["MessageId"] == sent["MessageId"]
    assert message["MessageAttributes"] == attributes
    assert message["Attributes"] == {
        "SenderId": "000000000000",
        "SentTimestamp": "1735689600000",
        "ApproximateFirstReceiveTimestamp": "1735689601000",
        "ApproximateReceiveCount": "2",
        "DeadLetterQueueSourceArn": SOURCE_ARN,
    }


def test_receive_gives_fresh_messages_in_place_of_those_it_moves(world, call, source, dead):
    exhaust(world, source, "a", "b", "c")
    call("SendMessage", QueueUrl=source, MessageBody="fresh")

    received = call("ReceiveMessage", QueueUrl=source, MaxNumberOfMessages=2)["Messages"]

    assert [message["Body"] for message in received] == ["fresh"]
    dead_letters = call("ReceiveMessage", QueueUrl=dead, MaxNumberOfMessages=10)["Messages"]
    assert [message["Body"] for message in dead_letters] == ["a", "b", "c"]


def test_fresh_message_left_visible_is_not_taken_twice_by_a_receive_that_moves_others(world, call, source, dead):
    """A timeout of 0 leaves a message visible, and the receive that moves others claims more than once."""
    exhaust(world, source, "old")
    call("SendMessage", QueueUrl=source, MessageBody="fresh")

    received = call("ReceiveMessage", QueueUrl=source, VisibilityTimeout=0, MaxNumberOfMessages=10)["Messages"]

    assert [message["Body"] for message in received] == ["fresh"]
    dead_letters = call("ReceiveMessage", QueueUrl=dead, MaxNumberOfMessages=10)["Messages"]
    assert [message["Body"] for message in dead_letters] == ["old"]


def test_receive_that_ends_its_rounds_takes_nothing_it_does_not_give(world, call, source):
    """One receive moves a bounded number of messages; what lies behind them is untouched until the next receive."""
    for _ in range(REDRIVE_ROUNDS_MAX):
        call("SendMessage", QueueUrl=source, MessageBody="exhausted")
        call("ReceiveMessage", QueueUrl=source, VisibilityTimeout=1)
    world.advance(seconds=1)
    call("SendMessage", QueueUrl=source, MessageBody="fresh", DelaySeconds=0)

    assert call("ReceiveMessage", QueueUrl=source) == {}

    (message,) = call("ReceiveMessage", QueueUrl=source, AttributeNames=["ApproximateReceiveCount"])["Messages"]
    assert message["Attributes"] == {"ApproximateReceiveCount": "1"}


def test_long_poll_that_ends_its_rounds_looks_again_at_once(world, call, begin, source):
    for _ in range(REDRIVE_ROUNDS_MAX + 1):
        call("SendMessage", QueueUrl=source, MessageBody="exhausted")
        call("ReceiveMessage", QueueUrl=source, VisibilityTimeout=1)
    world.advance(seconds=1)

    assert begin("ReceiveMessage", QueueUrl=source, WaitTimeSeconds=5).again_at == world.now + 1


def test_move_tells_those_who_wait_for_the_dlq(world, call, source):
    exhaust(world, source, "1")
    topics: list[frozenset[str]] = []
    world.store.on_commit(topics.append)

    call("ReceiveMessage", QueueUrl=source)

    assert len(topics) == 1


def test_old_handle_does_not_delete_the_dead_letter(world, call, source, dead):
    call("SendMessage", QueueUrl=source, MessageBody="1")
    handle = call("ReceiveMessage", QueueUrl=source, VisibilityTimeout=0)["Messages"][0]["ReceiptHandle"]
    call("ReceiveMessage", QueueUrl=source)

    call("DeleteMessage", QueueUrl=source, ReceiptHandle=handle)

    assert "Messages" in call("ReceiveMessage", QueueUrl=dead)


def test_message_of_a_queue_whose_dlq_is_gone_stays_receivable(world, call, source, dead):
    exhaust(world, source, "1")
    call("DeleteQueue", QueueUrl=dead)

    received = call("ReceiveMessage", QueueUrl=source, AttributeNames=["ApproximateReceiveCount"])

    assert received["Messages"][0]["Attributes"] == {"ApproximateReceiveCount": "2"}


def test_retention_in_the_dlq_counts_from_the_first_send(world, call, source, dead):
    call("SetQueueAttributes", QueueUrl=dead, Attributes={"MessageRetentionPeriod": "60"})
    exhaust(world, source, "1")
    world.advance(seconds=30)
    call("ReceiveMessage", QueueUrl=source)

    world.advance(seconds=29.999)
    assert "Messages" in call("ReceiveMessage", QueueUrl=dead, VisibilityTimeout=0)
    world.advance(seconds=0.001)
    assert call("ReceiveMessage", QueueUrl=dead) == {}
