"""Rules on a schedule fire in UTC, and send a scheduled event to their targets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.clock import format_instant
from redrive.services.events.model.rule import Rule
from redrive.services.events.model.schedules import planned


def times(desk: Any) -> list[str]:
    """The times of the events in the queue, in order."""
    return sorted(event["time"] for event in desk.received())


def test_rate_fires_an_interval_after_the_rule_and_then_at_each(bus_desk: Any) -> None:
    bus_desk.world.advance(seconds=30)
    arn = bus_desk.rule(bus_desk.queue("q"), ScheduleExpression="rate(5 minutes)")

    bus_desk.world.advance(minutes=11)

    events = bus_desk.received()
    assert sorted(event["time"] for event in events) == ["2025-01-01T00:05:30Z", "2025-01-01T00:10:30Z"]
    shown = {key: events[0][key] for key in ("source", "detail-type", "resources", "detail", "version")}
    assert shown == {
        "source": "aws.events", "detail-type": "Scheduled Event", "resources": [arn], "detail": {}, "version": "0",
    }  # fmt: skip


def test_cron_fires_in_utc(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"), ScheduleExpression="cron(30 6,18 * * ? *)")

    bus_desk.world.advance(days=1)

    assert times(bus_desk) == ["2025-01-01T06:30:00Z", "2025-01-01T18:30:00Z"]


def test_rule_with_pattern_and_schedule_does_both(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"), pattern={"source": ["shop"]}, ScheduleExpression="rate(1 hour)")

    bus_desk.put()
    bus_desk.world.advance(hours=1)

    assert [event["source"] for event in bus_desk.received()] == ["shop", "aws.events"]


def test_disabled_schedule_rests_and_goes_on_in_its_rhythm(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"), ScheduleExpression="rate(1 hour)")
    bus_desk.events.disable_rule(Name="r")
    bus_desk.world.advance(hours=2, minutes=30)
    bus_desk.events.enable_rule(Name="r")

    bus_desk.world.advance(hours=1)

    assert times(bus_desk) == ["2025-01-01T03:00:00Z"]


def test_changed_expression_counts_from_the_change(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"), ScheduleExpression="rate(1 hour)")
    bus_desk.world.advance(minutes=20)
    bus_desk.events.put_rule(Name="r", ScheduleExpression="rate(30 minutes)")

    bus_desk.world.advance(minutes=40)

    assert times(bus_desk) == ["2025-01-01T00:50:00Z"]


def test_same_expression_keeps_its_rhythm_when_the_rule_is_put_again(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"), ScheduleExpression="rate(1 hour)")
    bus_desk.world.advance(minutes=20)
    bus_desk.events.put_rule(Name="r", ScheduleExpression="rate(1 hour)", Description="new")

    bus_desk.world.advance(minutes=40)

    assert times(bus_desk) == ["2025-01-01T01:00:00Z"]


def test_deleted_rule_fires_no_more(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"), ScheduleExpression="rate(1 hour)")
    bus_desk.events.remove_targets(Rule="r", Ids=["1"])
    bus_desk.events.delete_rule(Name="r")

    bus_desk.world.advance(hours=3)

    assert bus_desk.received() == []
    assert bus_desk.world.store.run(lambda tx: tx.timers.next("events.rule")) is None


def test_scheduled_event_reaches_no_other_rule(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"), ScheduleExpression="rate(1 hour)")
    bus_desk.rule(bus_desk.queue("p"), name="other", pattern={"source": ["aws.events"]})

    bus_desk.world.advance(hours=1)

    assert len(bus_desk.bodies()) == 1
    assert bus_desk.bodies("p") == []


def test_outage_is_followed_by_one_event(new_bus_desk: Any) -> None:
    """The clock of a server that was down jumps; the rule fires once, and goes on in its rhythm."""
    desk = new_bus_desk()
    desk.rule(desk.queue("q"), ScheduleExpression="rate(1 hour)")

    desk.world.clock.move_to(desk.world.now + 10 * 3_600_000 + 1)
    desk.world.settle()
    desk.world.advance(hours=1)

    assert times(desk) == ["2025-01-01T01:00:00Z", "2025-01-01T11:00:00Z"]
    desk.world.close()


@pytest.mark.parametrize(("expression", "first", "last", "count"), [
    ("rate(1 hour)", "2025-01-01T02:00:00Z", "2025-01-01T10:00:00Z", 9),
    ("cron(0 * * * ? *)", "2025-01-01T02:00:00Z", "2025-01-01T10:00:00Z", 9),
    ("cron(0 */6 * * ? *)", None, None, 0),
])  # fmt: skip
def test_skipped_instants_of_an_outage_are_recorded_for_each_target(
    expression: str, first: str | None, last: str | None, count: int, bus_desk: Any
) -> None:
    arn = bus_desk.rule(bus_desk.queue("q"), bus_desk.queue("p"), ScheduleExpression=expression)

    bus_desk.world.clock.move_to(bus_desk.world.now + 10 * 3_600_000 + 1)
    bus_desk.world.settle()

    found = bus_desk.world.store.run(lambda tx: tx.attempts.unattempted(arn))
    assert sorted(run.target_arn.rsplit(":", 1)[1] for run, _ in found) == (["p", "q"] if count else [])
    for run, why in found:
        assert (format_instant(run.first_at), format_instant(run.left_out_until), run.left_out) == (first, last, count)
        assert why == "nothing ran when they were due"


@pytest.mark.parametrize("expression", ["cron(0 0 1 1 ? 2020)", "cron(0 0 30 2 ? *)"])
def test_schedule_that_never_fires_has_no_next_instant(expression: str) -> None:
    assert planned(Rule("default", "r", 0, schedule=expression), 1_735_689_600_000).next_at is None


def test_scheduled_event_is_transformed_like_others(bus_desk: Any) -> None:
    template = {"InputTemplate": '{"rule": <aws.events.rule-name>, "event": <aws.events.event.json>}'}
    bus_desk.rule({"Arn": bus_desk.queue("q"), "InputTransformer": template}, ScheduleExpression="rate(1 minute)")

    bus_desk.world.advance(minutes=1)

    (body,) = bus_desk.bodies()
    assert json.loads(body)["event"]["detail"] == {}
