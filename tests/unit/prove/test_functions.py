"""A performance runs the handlers of several functions; a function without a handler does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3

from redrive.prove.play.events import Called, Delivered
from redrive.prove.play.faults import Leg
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short
from redrive.prove.process.clients import remembered_clients
from redrive.prove.process.subject import GivenSubject, Subject
from redrive.prove.stage.trigger import SAMPLE_EVENT, Kind, bodies_of, empty_archive, usual_trigger

MAILS = "https://sqs.us-east-1.amazonaws.com/000000000000/mails"


def hands_on(event: Any, context: Any) -> None:
    boto3.client("lambda").invoke(FunctionName="second", InvocationType="Event", Payload=b'{"order": 1}')


def sends(event: Any, context: Any) -> None:
    boto3.client("sqs").send_message(QueueUrl=MAILS, MessageBody=str(event["order"]))


def calls_of(others: dict[str, Subject]) -> Iterator[tuple[Kind, list[str]]]:
    performance = Performance(GivenSubject(hands_on), seed=1, others=others)
    stage = performance.stage
    trigger = usual_trigger(stage, bodies_of(SAMPLE_EVENT))
    stage.call("sqs", "CreateQueue", QueueName="mails")
    stage.call(
        "lambda", "CreateFunction", FunctionName="second", Runtime="python3.12", Handler="index.handler",
        Role="arn:aws:iam::000000000000:role/handler", Code={"ZipFile": empty_archive()},
    )  # fmt: skip
    performance.begin(trigger)
    with remembered_clients(), performance.entered(Short(stage)):
        for _ in range(2):
            events = performance.play(Leg())
            for run in (event for event in events if isinstance(event, Delivered)):
                called = [event for event in events if isinstance(event, Called) and event.run == run.run]
                yield run.kind, [event.call.name for event in called]


def test_the_function_that_a_handler_invokes_runs_its_own_handler() -> None:
    assert list(calls_of({"second": GivenSubject(sends)})) == [
        (Kind.SQS, ["lambda:Invoke:second"]),
        (Kind.LAMBDA, ["sqs:SendMessage:mails"]),
    ]


def test_a_function_without_a_handler_does_nothing() -> None:
    assert list(calls_of({})) == [(Kind.SQS, ["lambda:Invoke:second"])]
