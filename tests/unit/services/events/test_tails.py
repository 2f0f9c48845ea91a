"""Tails: the events that buses accept, with the rules that each matched, for those who ask for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.services.events import limits
from redrive.services.events.model.tail import Tail

ORDER = {"source": ["shop"]}


def start(desk: Any, **params: Any) -> str:
    return str(desk.world.call("redrive", "StartTail", **params)["tail"])


def read(desk: Any, tail: str, **params: Any) -> Any:
    return desk.world.call("redrive", "GetTail", tail=tail, **params)


def seen(answer: Any) -> list[tuple[str, Any, list[str]]]:
    """By event: its bus, its detail, the rules that it matched."""
    return [
        (one["bus"], json.loads(one["event"])["detail"], [rule["name"] for rule in one["rules"]])
        for one in answer["events"]
    ]


def test_tail_shows_events_with_the_rules_and_targets_that_they_matched(bus_desk: Any) -> None:
    arn = bus_desk.queue("q")
    bus_desk.rule(arn, pattern={"detail": {"total": [{"numeric": [">", 100]}]}}, name="large")
    bus_desk.rule(pattern=ORDER, name="all")
    tail = start(bus_desk)

    event_id = bus_desk.put({"total": 120})
    bus_desk.put({"total": 20}, Source="bank")

    answer = read(bus_desk, tail)
    assert seen(answer) == [("default", {"total": 120}, ["all", "large"]), ("default", {"total": 20}, [])]
    assert answer["events"][0]["execution_id"] == json.loads(answer["events"][0]["event"])["id"] == event_id
    assert answer["events"][0]["rules"][1]["targets"] == [{"id": "1", "arn": arn}]


def test_tail_begins_when_it_is_started_and_goes_on_after_what_was_read(bus_desk: Any) -> None:
    bus_desk.put({"n": 0})
    tail = start(bus_desk)
    for n in (1, 2, 3):
        bus_desk.put({"n": n})

    first = read(bus_desk, tail, limit=2)
    bus_desk.world.advance(minutes=5)
    bus_desk.put({"n": 4})
    second = read(bus_desk, tail, after=first["after"])

    assert [detail["n"] for _, detail, _ in seen(first)] == [1, 2]
    assert [detail["n"] for _, detail, _ in seen(second)] == [3, 4]
    assert read(bus_desk, tail, after=second["after"]) == {"events": [], "after": second["after"]}


def test_tail_of_a_bus_shows_that_bus_alone(bus_desk: Any) -> None:
    bus_desk.events.create_event_bus(Name="orders")
    tail = start(bus_desk, bus="orders")

    bus_desk.put({"n": 1})
    bus_desk.put({"n": 2}, EventBusName="orders")

    assert seen(read(bus_desk, tail)) == [("orders", {"n": 2}, [])]


def test_event_of_a_schedule_is_shown_with_its_rule(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"), name="often", ScheduleExpression="rate(1 minute)")
    tail = start(bus_desk)

    bus_desk.world.advance(minutes=1)

    assert seen(read(bus_desk, tail)) == [("default", {}, ["often"])]


def test_tail_keeps_the_latest_events(bus_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redrive.services.events.tailing.TAIL_EVENTS_KEPT", 3)
    tail = start(bus_desk)

    for n in range(5):
        bus_desk.put({"n": n})

    assert [detail["n"] for _, detail, _ in seen(read(bus_desk, tail))] == [2, 3, 4]


def test_tail_ends_when_many_events_come_and_nobody_asks(bus_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redrive.services.events.tailing.TAIL_UNASKED_MAX", 4)
    monkeypatch.setattr(limits, "TAIL_UNASKED_MAX", 4)
    left, asked = start(bus_desk), start(bus_desk)

    for n in range(8):
        bus_desk.put({"n": n})
        read(bus_desk, asked)

    assert len(read(bus_desk, asked)["events"]) == 8
    with pytest.raises(ServiceError, match="There is no tail"):
        read(bus_desk, left)


def test_ended_tail_leaves_nothing_behind(bus_desk: Any) -> None:
    tail = start(bus_desk)
    bus_desk.put({"n": 1})

    bus_desk.world.call("redrive", "EndTail", tail=tail)

    with pytest.raises(ServiceError, match="There is no tail"):
        read(bus_desk, tail)
    assert bus_desk.world.engine.run(lambda tx: tx.archives.content(tail).events) == 0
    assert bus_desk.world.engine.run(lambda tx: list(tx.resources.everywhere(Tail))) == []


def test_event_costs_no_statement_more_while_nobody_tails(bus_desk: Any) -> None:
    def statements() -> list[str]:
        found: list[str] = []
        bus_desk.world.store.connection.set_trace_callback(found.append)
        bus_desk.put({"n": 1})
        bus_desk.world.store.connection.set_trace_callback(None)
        return [text for text in found if "archived_events" in text or "events.tail" in text]

    bus_desk.put({"n": 0})
    never = statements()
    tail = start(bus_desk)
    during = statements()
    bus_desk.world.call("redrive", "EndTail", tail=tail)
    bus_desk.put({"n": 0})

    assert never == statements() == []
    assert during != []


def test_number_of_tails_is_limited(bus_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TAILS_MAX", 2)
    start(bus_desk)
    start(bus_desk)

    with pytest.raises(ServiceError, match="2 tails are open"):
        start(bus_desk)


@pytest.mark.parametrize("after", ["x", "1", "1.x", ".", "1." + "9" * 30])
def test_place_that_no_answer_has_is_refused(bus_desk: Any, after: str) -> None:
    with pytest.raises(ServiceError, match="No tail goes on after"):
        read(bus_desk, start(bus_desk), after=after)
