"""Events of EventBridge as functions get them: sent by put_events through a real bus, direct and wrapped by a queue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, TypedDict

import pytest

from redrive.handler import EventBridgeEvent, SqsRecord, put_events, sqs_batch, wrapped_event
from redrive.testing.world import World
from tests.unit.handler.conftest import HandClock

QUEUE_ARN = "arn:aws:sqs:us-east-1:000000000000:orders"


class Order(TypedDict):
    number: int


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World()) as made:
        events = made.client("events")
        events.put_rule(Name="orders", EventPattern=json.dumps({"source": ["shop"], "detail-type": ["Order Placed"]}))
        policy = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:*", "Resource": "*"}]}
        made.client("sqs").create_queue(QueueName="orders", Attributes={"Policy": json.dumps(policy)})
        events.put_targets(Rule="orders", Targets=[{"Id": "queue", "Arn": QUEUE_ARN}])
        yield made


def entry(number: int, source: str = "shop") -> dict[str, str]:
    return {"Source": source, "DetailType": "Order Placed", "Detail": json.dumps({"number": number})}


def received(world: World) -> list[SqsRecord]:
    """The messages of the queue, as Lambda passes them to a function."""
    world.advance(seconds=1)
    sqs = world.client("sqs")
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    records: list[Any] = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        records += [{"messageId": one["MessageId"], "body": one["Body"]} for one in messages]
    return records


def test_every_event_that_was_reported_as_sent_reaches_the_queue_under_its_id(world: World, clock: HandClock) -> None:
    entries = [entry(number, "aws.shop" if number == 5 else "shop") for number in range(23)]

    report = put_events(world.client("events"), entries, clock=clock, sleep=clock.sleep)

    found = {wrapped_event(record)["id"]: wrapped_event(record)["detail"]["number"] for record in received(world)}
    assert found == {one.event_id: one.place for one in report.sent}
    assert [(one.place, one.code, one.is_retryable) for one in report.left] == [
        (5, "NotAuthorizedForSourceException", False)
    ]


def test_a_batch_handler_is_given_the_events_that_its_queue_wraps(world: World) -> None:
    put_events(world.client("events"), [entry(1), entry(2)])
    seen: list[int] = []

    def charge(record: SqsRecord) -> None:
        event: EventBridgeEvent[Order] = wrapped_event(record)
        seen.append(event["detail"]["number"])

    broken: Any = {"messageId": "m", "body": "{}"}
    answer = sqs_batch(charge)({"Records": [*received(world), broken]}, None)

    assert sorted(seen) == [1, 2]
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m"}]}


@pytest.mark.parametrize("body", ["text", "[]", '{"id": "a", "source": "b", "detail": {}}', '{"rule": "orders"}'])
def test_what_is_no_event_is_refused_by_its_message(body: str) -> None:
    record: Any = {"messageId": "m-1", "body": body}

    with pytest.raises(ValueError, match="message m-1 holds no event of EventBridge"):
        wrapped_event(record)
