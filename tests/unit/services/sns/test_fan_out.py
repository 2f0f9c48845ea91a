"""One message into many queues: what it costs, and that nothing is different from a message into one queue."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.documents import dump_json
from redrive.core.scope import Caller, Scope
from redrive.delivery.history.runs import run_of
from redrive.delivery.operation import Answer, Beforehand
from redrive.services.sns.model.envelope import Frame, notification
from redrive.store.api import Transaction

FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
ARN = "arn:aws:sns:us-east-1:000000000000:t:1"
HERE = "arn:aws:sqs:us-east-1:000000000000"
TEXTS = st.text(max_size=20)


@pytest.fixture
def statements(desk: Any) -> list[str]:
    """What the store runs from now on, transactions' frames left out. Ask for it after what prepares the scene."""
    seen: list[str] = []
    desk.world.store.connection.set_trace_callback(lambda sql: None if sql.startswith(FRAME) else seen.append(sql))
    return seen


@pytest.fixture
def wide(desk: Any) -> str:
    """A topic with ten queues, which has published before."""
    topic = str(desk.topic())
    for number in range(10):
        desk.subscribe(topic, desk.queue(f"q{number}"))
    desk.sns.publish(TopicArn=topic, Message="first")
    return topic


def test_message_into_ten_queues_costs_two_statements_for_each(desk: Any, wide: str, statements: list[str]) -> None:
    """The message, and the run with its attempt; no row for the promise, none for the topic or the queues."""
    desk.sns.publish(TopicArn=wide, Message="m")

    assert len(statements) == 20


def test_batch_of_ten_into_ten_queues_costs_two_statements_for_each_delivery(
    desk: Any, wide: str, statements: list[str]
) -> None:
    desk.sns.publish_batch(
        TopicArn=wide, PublishBatchRequestEntries=[{"Id": str(number), "Message": "m"} for number in range(10)]
    )

    assert len(statements) == 200


def test_message_is_signed_once_for_all_queues(desk: Any, wide: str) -> None:
    desk.sns.publish(TopicArn=wide, Message="m")

    signatures = {envelope["Signature"] for number in range(10) for envelope in desk.received(f"q{number}")[1:]}
    assert len(signatures) == 1


def test_queue_that_refuses_does_not_keep_the_others_from_their_messages(desk: Any) -> None:
    topic = desk.topic()
    dead = json.dumps({"deadLetterTargetArn": desk.queue("dead")})
    closed = desk.queue("closed", principal={"Service": "events.amazonaws.com"})
    desk.subscribe(topic, closed, RedrivePolicy=dead)
    for name in ("a", "b"):
        desk.subscribe(topic, desk.queue(name))
    desk.subscribe(topic, f"{HERE}:missing", RedrivePolicy=dead)

    desk.sns.publish(TopicArn=topic, Message="m")
    desk.world.settle()

    assert [desk.texts(name) for name in ("closed", "a", "b")] == [[], ["m"], ["m"]]
    assert desk.texts("dead") == ["m", "m"]


def test_queues_that_are_not_plain_get_the_message_in_the_same_call(desk: Any) -> None:
    """A queue with tags, whose policy may ask for them; one that takes no message of this size is left to retries."""
    topic = desk.topic()
    desk.subscribe(topic, desk.queue("tagged"), RawMessageDelivery="true")
    desk.subscribe(topic, desk.queue("small", MaximumMessageSize="1024"), RawMessageDelivery="true")
    url = desk.world.call("sqs", "GetQueueUrl", QueueName="tagged")["QueueUrl"]
    desk.world.call("sqs", "TagQueue", QueueUrl=url, Tags={"k": "v"})

    desk.sns.publish(TopicArn=topic, Message="x" * 2_000)

    assert [len(desk.take(name)) for name in ("tagged", "small")] == [1, 0]


def test_each_queue_has_a_run_of_the_message(desk: Any) -> None:
    topic = desk.topic()
    arns = [desk.subscribe(topic, desk.queue(name)) for name in ("a", "b")]

    message_id = desk.sns.publish(TopicArn=topic, Message="m")["MessageId"]

    def led_to(tx: Transaction) -> list[str]:
        runs = [run_of(tx, f"{message_id}/{arn.rpartition(':')[2]}") for arn in arns]
        assert {run.facts.execution_id for run in runs if run is not None} == {message_id}
        return [run.records[0].led_to for run in runs if run is not None]

    assert desk.world.store.run(led_to) == [desk.take(name)[0]["MessageId"] for name in ("a", "b")]


@given(
    text=TEXTS, subject=st.none() | TEXTS, attributes=st.dictionaries(TEXTS, TEXTS), signed=st.booleans(), host=TEXTS
)
def test_frame_makes_the_text_of_the_envelope(
    text: str, subject: str | None, attributes: dict[str, str], signed: bool, host: str
) -> None:
    message: dict[str, Any] = {"id": "1", "topic": "t", "at": "now", "text": text}
    if subject is not None:
        message["subject"] = subject
    if attributes:
        message["attributes"] = {name: {"Type": "String", "Value": value} for name, value in attributes.items()}
    if signed:
        message["signature"] = {"version": "1", "url": "u", "texts": {"default": "s"}}

    made = Frame.of(message, "sqs").text(host, ARN)

    assert made == dump_json(notification(message, "sqs", host, ARN))


def test_key_is_made_without_a_transaction_and_once(desk: Any) -> None:
    """The search for the primes takes long, so no step does it: nothing is written before it has ended."""
    topic = desk.topic()
    desk.subscribe(topic, desk.queue())
    caller = Caller(Scope("000000000000", "us-east-1"), "request")
    message = {"TopicArn": topic, "Message": "m"}

    def step(tx: Transaction) -> Answer:
        answer: Answer = desk.world.engine.registry.begin(tx, caller, "sns", "Publish", message)
        return answer

    first = desk.world.store.run(step)
    assert isinstance(first, Beforehand)
    assert desk.take() == []
    first.work()
    second, third = desk.world.store.run(step), desk.world.store.run(step)

    assert isinstance(second, dict)
    assert isinstance(third, dict)
    assert desk.texts() == ["m", "m"]


def test_topics_without_envelopes_need_no_key(desk: Any) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue(), RawMessageDelivery="true")

    desk.sns.publish(TopicArn=topic, Message="m")

    assert desk.world.store.run(lambda tx: tx.facts.get("sns.key")) is None


def test_reset_keeps_the_key_and_its_certificate(desk: Any) -> None:
    def url() -> str:
        topic = desk.topic()
        desk.subscribe(topic, desk.queue())
        desk.sns.publish(TopicArn=topic, Message="m")
        return str(desk.received()[0]["SigningCertURL"])

    before = url()
    desk.world.store.reset()

    assert url() == before
