"""A gate for events that go to a bus: PutEvents accepts what nobody gets, and the letter would be gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.deadletters.bus_events import WantedEvents
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.gates import Refusal
from redrive.testing.world import World

BUS = Destination(To.BUS, "default")


@pytest.fixture(scope="module")
def gate() -> Iterator[WantedEvents]:
    """A bus with a rule for large orders of the shop, and one for all of the office, which is disabled."""
    world = World(seed=1)
    events = world.client("events")
    pattern = {"source": ["shop"], "detail": {"total": [{"numeric": [">", 100]}]}}
    events.put_rule(Name="large", EventPattern=json.dumps(pattern))
    events.put_rule(Name="office", EventPattern='{"source": ["office"]}', State="DISABLED")
    events.put_rule(Name="nightly", ScheduleExpression="rate(1 day)")
    yield WantedEvents(world.client, world.clock.now)
    world.close()


def asked(gate: WantedEvents, body: object, to: Destination = BUS) -> Refusal | None:
    return gate.refusal(read_letter({"Body": body if isinstance(body, str) else json.dumps(body)}), to)


def event(source: str, detail: object) -> dict[str, Any]:
    return {"source": source, "detail-type": "Order", "detail": detail}


@pytest.mark.parametrize("detail", [{"total": 101}, '{"total": 101}'])
def test_event_that_a_rule_asks_for_goes(gate: WantedEvents, detail: object) -> None:
    assert asked(gate, event("shop", detail)) is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (event("shop", {"total": 100}), "no enabled rule of default asks for `Order` of `shop`: nobody would get it"),
        (event("office", {}), "no enabled rule of default asks for `Order` of `office`"),
        (event("aws.s3", {}), "nobody but AWS may send events of aws.s3: rewrite /source by a patch"),
        (event("shop", "no object"), "the detail of the event is no object"),
        (event("shop", None), "the detail of the event is no object"),
        ("no JSON", "the work is no event"),
        ("[1]", "the work is no event"),
    ],
)
def test_event_that_nobody_would_get_is_refused(gate: WantedEvents, body: object, said: str) -> None:
    refusal = asked(gate, body)

    assert refusal is not None
    assert said in refusal.reason


def test_letter_for_another_destination_is_not_asked(gate: WantedEvents) -> None:
    assert asked(gate, event("office", {}), Destination(To.QUEUE, "orders")) is None


def test_bus_whose_rules_may_not_be_asked_refuses_nothing(gate: WantedEvents) -> None:
    assert asked(gate, event("office", {}), Destination(To.BUS, "unknown")) is None
