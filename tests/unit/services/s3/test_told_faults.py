"""Faults of what S3 tells: the same record twice, another order, late; and nothing else is struck."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from redrive.core.clock import SECOND_MS
from redrive.services.s3.model.keys import sequencer_of
from redrive.services.s3.model.sequencer import is_later
from tests.unit.services.s3.notified import PUT, Uploads, on


@pytest.fixture
def uploads() -> Iterator[Uploads]:
    made = Uploads()
    made.configure(QueueConfigurations=[on(made.queue(), "s3:ObjectCreated:*", "s3:ObjectRemoved:*")])
    made.bodies()
    yield made
    made.world.close()


def test_duplicate_is_the_same_record_with_the_same_sequencer(uploads: Uploads) -> None:
    uploads.disturb("duplicate", latency_ms=5 * SECOND_MS)

    uploads.happen(PUT)
    at_once = uploads.bodies()
    uploads.world.advance(seconds=5)

    assert len(at_once) == 1
    assert uploads.bodies() == at_once


def test_duplicate_without_a_span_comes_in_the_same_transaction(uploads: Uploads) -> None:
    uploads.disturb("duplicate")

    uploads.happen(PUT)

    assert uploads.keys() == ["in/a.csv"] * 2


def test_duplicate_on_the_bus_is_another_event_with_the_same_detail(uploads: Uploads) -> None:
    bus = uploads.queue("bus", principal={"Service": "events.amazonaws.com"}, condition={"Null": {"x": "true"}})
    uploads.call("PutRule", "events", Name="s3", EventPattern=json.dumps({"source": ["aws.s3"]}))
    uploads.call("PutTargets", "events", Rule="s3", Targets=[{"Id": "1", "Arn": bus}])
    uploads.configure(EventBridgeConfiguration={})
    uploads.disturb("duplicate", latency_ms=5 * SECOND_MS)

    uploads.happen(PUT)
    uploads.world.advance(seconds=6)

    first, second = uploads.bodies("bus")
    assert first["detail"] == second["detail"]
    assert first["time"] == second["time"]
    assert first["id"] != second["id"]


def test_delayed_notification_comes_after_exactly_that_time(uploads: Uploads) -> None:
    uploads.disturb("delay", latency_ms=60 * SECOND_MS, times=1)

    uploads.happen(PUT, replace(PUT, key="in/b.csv"))
    at_once = uploads.keys()
    uploads.world.advance(seconds=59.999)
    before = uploads.keys()
    uploads.world.advance(seconds=0.001)

    assert (at_once, before, uploads.keys()) == (["in/b.csv"], [], ["in/a.csv"])


def test_reordered_notifications_come_in_another_order_within_the_span(uploads: Uploads) -> None:
    sent = [f"in/{number}" for number in range(10)]
    uploads.disturb("reorder", latency_ms=10 * SECOND_MS)

    uploads.happen(*(replace(PUT, key=key) for key in sent))
    uploads.world.advance(seconds=10)

    came = uploads.keys()
    assert sorted(came) == sent
    assert came != sent


def test_same_seed_disturbs_in_the_same_way() -> None:
    assert _order_of_a_shuffle() == _order_of_a_shuffle()


def _order_of_a_shuffle() -> list[str]:
    made = Uploads()
    made.configure(QueueConfigurations=[on(made.queue())])
    made.bodies()
    made.disturb("reorder", latency_ms=10 * SECOND_MS)
    made.disturb("duplicate", latency_ms=10 * SECOND_MS, rate=0.5)
    made.happen(*(replace(PUT, key=str(number)) for number in range(8)))
    made.world.advance(seconds=30)
    came = made.keys()
    made.world.close()
    return came


@pytest.mark.parametrize(
    ("target", "event", "is_struck"),
    [
        ("arn:aws:s3:::uploads/*", "", True),
        ("arn:aws:s3:::uploads/in/*", "s3:ObjectCreated:*", True),
        ("arn:aws:s3:::uploads/in/*", "ObjectCreated:Put", True),
        ("arn:aws:s3:::uploads/out/*", "", False),
        ("arn:aws:s3:::other/*", "", False),
        ("arn:aws:s3:::uploads/*", "ObjectRemoved:*", False),
    ],
)
def test_fault_strikes_the_objects_and_events_that_it_names(
    target: str, event: str, is_struck: bool, uploads: Uploads
) -> None:
    uploads.disturb("duplicate", target=target, event=event)

    uploads.happen(PUT)

    assert len(uploads.keys()) == 1 + is_struck


def test_fault_strikes_so_many_notifications_and_no_more(uploads: Uploads) -> None:
    uploads.disturb("duplicate", times=2)

    uploads.happen(PUT, PUT, PUT)

    assert len(uploads.keys()) == 5


def test_fault_of_s3_strikes_no_other_delivery(uploads: Uploads) -> None:
    uploads.disturb("delay", target="*", latency_ms=60 * SECOND_MS)
    topic = uploads.call("CreateTopic", "sns", Name="t")["TopicArn"]
    queue = uploads.queue("other", principal={"Service": "sns.amazonaws.com"}, condition={"Null": {"x": "true"}})
    uploads.call("Subscribe", "sns", TopicArn=topic, Protocol="sqs", Endpoint=queue)

    uploads.call("Publish", "sns", TopicArn=topic, Message="hello")
    uploads.world.settle()

    assert [envelope["Message"] for envelope in uploads.bodies("other")] == ["hello"]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [("0055AED6DCD90281E5", "0055AED6DCD90281E6"), ("0A", "0A1"), ("0055aed6", "0055AED7"), ("0A", "0B0000")],
)
def test_sequencers_are_compared_after_filling_up_on_the_right(earlier: str, later: str) -> None:
    assert is_later(later, earlier)
    assert not is_later(earlier, later)
    assert not is_later(earlier, earlier + "0")


def test_sequencers_of_growing_numbers_grow() -> None:
    made: list[Any] = [sequencer_of(number) for number in (1, 15, 16, 2**40, 2**63)]

    assert [len(one) for one in made] == [16] * 5
    assert all(is_later(second, first) for first, second in itertools.pairwise(made))
