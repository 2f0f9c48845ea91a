"""A story says what is equal once."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from redrive.prove.play.events import Delivered, Ended, Ending, Event
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.stage import START
from redrive.prove.tell.story import tell
from tests.unit.prove.conftest import Prover
from tests.unit.prove.truth.known import HANDLERS

TWELVE = tuple(json.dumps({"id": f"order-{number}"}) for number in range(12))


def swallows_each(event: Any, context: Any) -> None:
    for _ in range(12):
        with contextlib.suppress(ClientError):
            boto3.client("dynamodb").put_item(TableName="reports", Item={"id": {"S": "1"}})


def test_twelve_equal_throttled_calls_are_one_step(proved: Prover) -> None:
    verdict = proved(swallows_each)

    assert verdict.counterexample is not None
    (throttled,) = [step.text for step in verdict.counterexample.steps if "throttled" in step.text]
    assert throttled.endswith("(ThrottlingException), 12 times")
    assert not any("is refused" in step.text for step in verdict.counterexample.steps)


def test_run_that_goes_as_an_earlier_one_is_one_step() -> None:
    verdict = prove(subject_of("lock_for_ever:handler", HANDLERS), Options(faults=1, bodies=TWELVE[:1]))

    assert verdict.counterexample is not None
    texts = [step.text for step in verdict.counterexample.steps]
    assert [text.rpartition(", ")[2] for text in texts if "and goes on as run" in text] == ["and goes on as run 2"] * 4
    assert not any(text.startswith("run 3 fails") for text in texts)


def test_run_whose_effect_is_there_once_more_is_told(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        boto3.client("sqs").send_message(QueueUrl="https://sqs.us-east-1.amazonaws.com/0/mails", MessageBody="x")

    verdict = proved(handler)

    assert verdict.counterexample is not None
    assert sum("SendMessage" in step.text for step in verdict.counterexample.steps) == 2


def test_many_messages_of_a_run_are_counted(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        if len(event["Records"]) > 3:
            boto3.client("sqs").send_message(QueueUrl="https://sqs.us-east-1.amazonaws.com/0/mails", MessageBody="x")

    verdict = proved(handler, bodies=TWELVE[:5])

    assert verdict.counterexample is not None
    assert "it is given the 5 messages" in verdict.counterexample.steps[0].text


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        pytest.param(4, ["first", "second", "third", "4th"], id="few are told"),
        pytest.param(22, ["first", "second", "third", "and so on: 18 more runs go on like that", "22nd"], id="many"),
    ],
)
def test_runs_one_after_another_that_go_as_an_earlier_one_are_told_in_short(runs: int, told: list[str]) -> None:
    events: list[Event] = []
    for run in range(1, runs + 1):
        events += [Delivered(START, run, ("message-1",), (run,)), Ended(START, run, Ending.FAILED, "no")]

    begun = [step.text for step in tell(events) if " fails" not in step.text]

    assert len(begun) == len(told)
    assert all(word in text for word, text in zip(told, begun, strict=True))
