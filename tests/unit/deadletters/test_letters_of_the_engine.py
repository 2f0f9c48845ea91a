"""Letters that the engine has written: each kind of source is recognised, with its error and its work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.letter import Form, Letter, Origin
from redrive.testing.world import World

ACCOUNT = "us-east-1:000000000000"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A day in which nothing works."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AWS_DEFAULT_REGION", "us-east-1")
        world = World(seed=1)
        world.deploy(Path(__file__).with_name("sources.yaml"))
        orders = world.client("sqs").get_queue_url(QueueName="orders")["QueueUrl"]
        world.client("sqs").send_message(QueueUrl=orders, MessageBody="order 1")
        world.client("events").put_events(Entries=[{"Source": "shop", "DetailType": "Order", "Detail": '{"id": 1}'}])
        for function in ("failing", "recorded"):
            world.client("lambda").invoke(FunctionName=function, InvocationType="Event", Payload=b'{"id": 1}')
        world.client("kinesis").put_record(StreamName="clicks", PartitionKey="a", Data=b"click")
        world.client("sns").publish(TopicArn=f"arn:aws:sns:{ACCOUNT}:alerts", Message="hello")
        for _ in range(3):
            received(world, "orders")
            world.advance(minutes=30)
        yield world
        world.close()


def received(world: World, queue: str) -> list[Letter]:
    sqs = world.client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"]
    )
    return [read_letter(message) for message in answer.get("Messages", [])]


def the_letter(world: World, queue: str) -> Letter:
    letter = received(world, queue)[0]
    assert letter.message_id
    assert letter.receipt
    assert letter.sent_at
    return letter


def test_message_of_a_queue(world: World) -> None:
    letter = the_letter(world, "dead-of-queue")

    assert (letter.origin, letter.source_arn) == (Origin.QUEUE, f"arn:aws:sqs:{ACCOUNT}:orders")
    assert (letter.work.text, letter.failure.condition, letter.failure.attempts) == ("order 1", "maxReceiveCount", 2)


def test_occurrence_of_a_schedule(world: World) -> None:
    letter = the_letter(world, "dead-of-schedule")

    assert letter.origin is Origin.SCHEDULE
    assert letter.source_arn == f"arn:aws:scheduler:{ACCOUNT}:schedule/default/nightly"
    assert json.loads(json.loads(letter.work.text)["MessageBody"]) == {"execution_id": letter.work.id}
    assert letter.work.due_at
    assert letter.failure.code


def test_event_of_a_rule(world: World) -> None:
    letter = the_letter(world, "dead-of-rule")

    assert (letter.origin, letter.source_arn) == (Origin.RULE, f"arn:aws:events:{ACCOUNT}:rule/orders")
    assert json.loads(letter.work.text)["id"] == letter.work.id
    assert (letter.work.form, letter.work.target_arn) == (Form.EVENT, f"arn:aws:sqs:{ACCOUNT}:nowhere")
    assert letter.failure.code == "NO_RESOURCE"


def test_event_of_a_function(world: World) -> None:
    letter = the_letter(world, "dead-of-function")

    assert (letter.origin, letter.work.text, letter.failure.message) == (Origin.FUNCTION, '{"id": 1}', "'order'")


def test_event_of_a_function_that_a_topic_has_passed_on(world: World) -> None:
    letter = the_letter(world, "dead-of-topic")

    assert (letter.origin, letter.wraps) == (Origin.FUNCTION, (Form.NOTIFICATION,))
    assert (letter.work.text, letter.failure.message) == ('{"id": 1}', "'order'")


def test_record_of_an_invocation(world: World) -> None:
    letter = the_letter(world, "dead-of-destination")

    assert letter.origin is Origin.DESTINATION
    assert letter.source_arn == f"arn:aws:lambda:{ACCOUNT}:function:recorded:$LATEST"
    assert (letter.work.text, letter.failure.code) == ('{"id":1}', "KeyError")
    assert (letter.failure.condition, letter.failure.attempts) == ("RetriesExhausted", 3)
    assert any("index.py" in line for line in letter.failure.trace)


def test_batch_of_a_stream(world: World) -> None:
    letter = the_letter(world, "dead-of-stream")

    batch = letter.work.batch
    assert letter.origin is Origin.STREAM
    assert batch is not None
    assert (batch.stream_arn, batch.count) == (f"arn:aws:kinesis:{ACCOUNT}:stream/clicks", 1)
    assert batch.first == batch.last


def test_notification_of_a_topic(world: World) -> None:
    letter = the_letter(world, "dead-of-subscription")

    assert (letter.origin, letter.source_arn) == (Origin.SUBSCRIPTION, f"arn:aws:sns:{ACCOUNT}:alerts")
    assert json.loads(letter.work.text)["Message"] == "hello"
