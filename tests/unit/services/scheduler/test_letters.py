"""Dead letters that a queue would refuse as they come: they are made such that it takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.delivery.faults import Fault, add_fault
from redrive.delivery.sources.classify import classify
from redrive.delivery.sources.letters import letter_bytes
from redrive.delivery.sources.targets import Request
from redrive.services.scheduler.model.executions import Execution
from redrive.services.scheduler.model.failures import letter_of

GONE = "arn:aws:sqs:us-east-1:000000000000:gone"
UNWRITABLE = "a\x00b\x1fc\ufffed\uffffe"


def fail_with(desk: Any, message: str) -> None:
    desk.world.store.run(lambda tx: add_fault(tx, Fault("", desk.orders, "Broken", message, rate=1.0)))


@pytest.mark.parametrize("text", ["a\ufffeb", "a\uffffb", "tab\tnewline\n", "ä\U0001f600"])
def test_letter_is_written_whatever_characters_the_input_has(text: str, desk: Any) -> None:
    """What no message may contain is escaped in the letter's JSON, and read again it is the same.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
    """
    desk.create("rate(1 day)", Target=desk.target(GONE, Input=text, DeadLetterConfig={"Arn": desk.dead}))

    desk.world.settle()

    body, _ = desk.letter()
    assert json.loads(body)["MessageBody"] == text


def test_half_a_surrogate_pair_is_escaped_in_letters_and_messages() -> None:
    """A target may answer with it; no message may contain it."""
    failed = classify(ServiceError("Broken", "half \ud800"))
    execution = Execution("arn", Scope("000000000000", "us-east-1"), "id", 0, {})

    letter = letter_of(
        execution, Request("sqs", "sendMessage", {"MessageBody": "a\ud800b"}), failed, exhausted=None, retries=0
    )

    assert letter.body == r'{"MessageBody":"a\ud800b"}'
    assert failed.message == r"half \ud800"


def test_letter_is_written_whatever_the_target_said(desk: Any) -> None:
    fail_with(desk, UNWRITABLE)
    arn = desk.create("rate(1 day)", Target=desk.target(DeadLetterConfig={"Arn": desk.dead}))

    desk.world.settle()

    _, attributes = desk.letter()
    assert attributes["ERROR_MESSAGE"] == r"a\u0000b\u001fc\ufffed\uffffe"
    assert [record.verdict for record in desk.attempts(arn)] == [f"dead-lettered to {desk.dead}"]


def test_long_error_message_is_cut_at_a_thousand_characters(desk: Any) -> None:
    fail_with(desk, "m" * 1_200)
    desk.create("rate(1 day)", Target=desk.target(Input="x", DeadLetterConfig={"Arn": desk.dead}))

    desk.world.settle()

    body, attributes = desk.letter()
    assert attributes["ERROR_MESSAGE"] == "m" * 1_000
    assert attributes["IS_PAYLOAD_TRUNCATED"] == "false"
    assert json.loads(body)["MessageBody"] == "x"


@pytest.mark.parametrize(("input_length", "truncated"), [(1, "false"), (2_000, "true")])
def test_long_error_message_leaves_room_for_the_body_in_a_small_queue(
    input_length: int, truncated: str, desk: Any
) -> None:
    fail_with(desk, "m" * 1_200)
    dead = desk.queue("small", MaximumMessageSize="1024")
    desk.create("rate(1 day)", Target=desk.target(Input="x" * input_length, DeadLetterConfig={"Arn": dead}))

    desk.world.settle()

    (message,) = desk.take("small")
    assert message["Body"].startswith('{"QueueUrl":')
    assert message["MessageAttributes"]["IS_PAYLOAD_TRUNCATED"]["StringValue"] == truncated
    assert 1022 <= letter_bytes(message["Body"], message["MessageAttributes"]) <= 1024
