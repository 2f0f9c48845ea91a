"""A stage that is put back is as it was, and goes on as it did."""

from __future__ import annotations

from typing import Any

from redrive.core.clock import DAY_MS
from redrive.delivery.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.prove.stage.stage import START, Stage
from redrive.prove.stage.trigger import bodies_of, usual_trigger


class Keeping:
    """An invoker that keeps what it was given."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []

    def invoke(self, invocation: Invocation) -> InvocationResult:
        self.payloads.append(invocation.payload)
        return InvocationResult(InvocationStatus.OK, b"{}")

    def close(self) -> None:
        """Nothing is running."""


def deliver(stage: Stage, url: str) -> None:
    stage.begin_leg()
    stage.call("sqs", "SendMessage", QueueUrl=url, MessageBody="hello")
    stage.settle()


def test_stage_that_was_put_back_plays_the_same_again() -> None:
    invoker = Keeping()
    stage = Stage(invoker, seed=3)
    trigger = usual_trigger(stage, ("hello",))
    saved = stage.save()

    deliver(stage, trigger.queue_url)
    first = stage.digest()
    stage.move_to(START + DAY_MS)
    stage.load(saved)
    deliver(stage, trigger.queue_url)

    assert stage.now == START
    assert stage.digest() == first
    assert invoker.payloads[0] == invoker.payloads[1]


def test_digest_tells_states_apart() -> None:
    stage = Stage(Keeping(), seed=3)
    trigger = usual_trigger(stage, ("hello",))
    before = stage.digest()

    stage.call("sqs", "SendMessage", QueueUrl=trigger.queue_url, MessageBody="hello")

    assert stage.digest() != before
    assert stage.waiting(trigger.queue_arn, trigger.dead_letter_arn).is_pending


def test_event_of_records_is_its_messages_and_any_other_is_one() -> None:
    event: Any = {"Records": [{"body": "a"}, {"body": "b"}]}

    assert bodies_of(event) == ("a", "b")
    assert bodies_of({"Records": "none"}) == ('{"Records":"none"}',)
    assert bodies_of("text") == ("text",)
