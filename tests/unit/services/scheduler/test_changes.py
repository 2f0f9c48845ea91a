"""Changing, deleting and making anew a schedule around the instants at which it is due: nothing twice, nothing lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.clock import format_instant, parse_instant
from redrive.core.scope import Scope
from redrive.delivery.faults import Fault, add_fault
from redrive.services.scheduler.watch import find_schedule, missed_by

SCOPE = Scope("000000000000", "us-east-1")
ID, TIME = "<aws.scheduler.execution-id>", "<aws.scheduler.scheduled-time>"
LATER = parse_instant("2026-01-01T00:00:00Z")
HOURLY = "cron(0 * * * ? *)"
NOON = "cron(0 12 * * ? *)"
WINDOW = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 60}


def create(desk: Any, expression: str, input: str = TIME, **more: Any) -> str:
    params = desk.params(expression, Target=desk.target(Input=input), **more)
    return str(desk.world.call("scheduler", "CreateSchedule", **params)["ScheduleArn"])


def update(desk: Any, expression: str, input: str = TIME, **more: Any) -> None:
    params = desk.params(expression, Target=desk.target(Input=input), **more)
    desk.world.call("scheduler", "UpdateSchedule", **params)


def outage_until(desk: Any, time: str, *, more_ms: int = 0) -> None:
    """Let time pass while nobody works."""
    desk.world.clock.move_to(parse_instant(time) + more_ms)


def missed(desk: Any, name: str = "nightly") -> list[tuple[str, str, str, str]]:
    rows = desk.world.store.run(lambda tx: missed_by(tx, *find_schedule(tx, SCOPE, name)))
    return [(row["count"], row["first"], row["last"], row["why"]) for row in rows]


class TestFiredOnce:
    """An occurrence that was fired is not fired again, whatever becomes of its schedule."""

    def test_one_time_schedule_does_not_fire_again_when_its_end_date_changes(self, desk: Any) -> None:
        create(desk, "at(2025-01-01T00:10:00)", ID)
        desk.world.advance(minutes=10, seconds=20)

        update(desk, "at(2025-01-01T00:10:00)", ID, EndDate=LATER)
        desk.world.settle()

        assert len(desk.bodies()) == 1

    def test_one_time_schedule_does_not_fire_again_when_it_is_disabled_and_enabled(self, desk: Any) -> None:
        create(desk, "at(2025-01-01T00:10:00)", ID)
        desk.world.advance(minutes=10, seconds=20)

        update(desk, "at(2025-01-01T00:10:00)", ID, State="DISABLED")
        update(desk, "at(2025-01-01T00:10:00)", ID)
        desk.world.settle()

        assert len(desk.bodies()) == 1
        assert missed(desk) == []

    @pytest.mark.parametrize("changes", [[{"EndDate": LATER}], [{"State": "DISABLED"}, {}]])
    def test_rate_does_not_fire_again_when_it_changes_in_the_millisecond_of_its_firing(
        self, changes: list[dict[str, Any]], desk: Any
    ) -> None:
        create(desk, "rate(1 hour)", ID)
        desk.world.settle()

        for change in changes:
            update(desk, "rate(1 hour)", ID, **change)
        desk.world.settle()

        assert len(desk.bodies()) == 1
        assert missed(desk) == []

    def test_stack_update_does_not_fire_a_one_time_schedule_again(self, desk: Any) -> None:
        def template(end: str) -> str:
            properties = {
                "Name": "nightly", "ScheduleExpression": "at(2025-01-01T00:10:00)", "EndDate": end,
                "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": desk.target(Input=ID),
            }  # fmt: skip
            return json.dumps(
                {"Resources": {"Nightly": {"Type": "AWS::Scheduler::Schedule", "Properties": properties}}}
            )

        stack = desk.world.client("cloudformation")
        stack.create_stack(StackName="s", TemplateBody=template("2026-01-01T00:00:00.000Z"))
        desk.world.advance(minutes=10, seconds=5)

        stack.update_stack(StackName="s", TemplateBody=template("2027-01-01T00:00:00.000Z"))
        desk.world.advance(minutes=1)

        assert stack.describe_stacks(StackName="s")["Stacks"][0]["StackStatus"] == "UPDATE_COMPLETE"
        assert len(desk.bodies()) == 1


class TestDueBeforeTheChange:
    """What would have been fired before a change is fired as it would have been, even if nobody was there to do it."""

    @pytest.mark.parametrize(
        "change",
        [
            {"Description": "x"}, {"EndDate": LATER}, {"ScheduleExpressionTimezone": "Europe/London"},
            {"State": "DISABLED"},
        ],
        ids=["description", "end", "zone", "disabled"],
    )  # fmt: skip
    def test_occurrences_of_an_outage_are_delivered_before_the_change(self, change: dict[str, Any], desk: Any) -> None:
        create(desk, HOURLY)
        outage_until(desk, "2025-01-01T05:30:00Z")

        update(desk, HOURLY, **change)
        desk.world.settle()

        assert sorted(desk.bodies()) == [f"2025-01-01T0{hour}:00:00Z" for hour in range(1, 6)]
        assert missed(desk) == []

    def test_occurrence_that_was_due_before_the_change_has_the_old_target(self, desk: Any) -> None:
        create(desk, HOURLY, "old")
        outage_until(desk, "2025-01-01T01:00:00Z", more_ms=3)

        update(desk, "cron(0,30 * * * ? *)", "new")
        desk.world.advance(minutes=45)

        assert desk.bodies() == ["old", "new"]

    def test_occurrence_that_was_due_before_the_deletion_is_delivered(self, desk: Any) -> None:
        create(desk, HOURLY)
        outage_until(desk, "2025-01-01T01:00:00Z", more_ms=3)

        desk.world.call("scheduler", "DeleteSchedule", Name="nightly")
        desk.world.advance(hours=3)

        assert desk.bodies() == ["2025-01-01T01:00:00Z"]

    def test_occurrence_that_was_due_before_its_group_was_deleted_is_delivered(self, desk: Any) -> None:
        desk.world.call("scheduler", "CreateScheduleGroup", Name="g")
        create(desk, HOURLY, GroupName="g")
        outage_until(desk, "2025-01-01T01:00:00Z", more_ms=3)

        desk.world.call("scheduler", "DeleteScheduleGroup", Name="g")
        desk.world.advance(hours=3)

        assert desk.bodies() == ["2025-01-01T01:00:00Z"]
        assert desk.names() == []

    def test_rate_that_fell_behind_leaves_out_the_same_when_it_is_changed_first(self, desk: Any) -> None:
        create(desk, "rate(1 hour)")
        desk.world.settle()
        outage_until(desk, "2025-01-01T05:30:00Z")

        update(desk, "rate(1 hour)", EndDate=LATER)
        desk.world.advance(minutes=31)

        assert desk.bodies() == [f"2025-01-01T0{hour}:00:00Z" for hour in (0, 5, 6)]
        why = "nothing ran when they were due"
        assert missed(desk) == [("4", "2025-01-01T01:00:00Z", "2025-01-01T04:00:00Z", why)]


class TestInsideTheWindow:
    """Inside its window an occurrence belongs to the schedule as it has become."""

    @pytest.mark.parametrize(
        "change",
        [
            {"EndDate": LATER}, {"ScheduleExpressionTimezone": "Etc/UTC"}, {"Description": "x"},
            {"ScheduleExpression": "cron(0 12 ? * * *)"}, {"StartDate": parse_instant("2025-01-01T12:00:00Z")},
        ],
        ids=["end", "zone", "description", "expression", "start"],
    )  # fmt: skip
    def test_occurrence_that_the_change_leaves_is_delivered_to_the_new_target(
        self, change: dict[str, Any], desk: Any
    ) -> None:
        create(desk, NOON, "old", FlexibleTimeWindow=WINDOW)
        desk.world.advance_to(parse_instant("2025-01-01T12:00:01Z"))

        update(desk, NOON, f"new {TIME}", FlexibleTimeWindow=WINDOW, **change)
        desk.world.advance(hours=1)

        assert desk.bodies() == ["new 2025-01-01T12:00:00Z"]
        assert missed(desk) == []

    def test_one_time_schedule_that_goes_when_completed_fires_first(self, desk: Any) -> None:
        at = "at(2025-01-01T00:10:00)"
        choices: dict[str, Any] = {"FlexibleTimeWindow": WINDOW, "ActionAfterCompletion": "DELETE"}
        create(desk, at, **choices)
        desk.world.advance(minutes=12)
        assert desk.bodies() == []

        update(desk, at, ScheduleExpressionTimezone="Etc/UTC", **choices)
        desk.world.advance(hours=2)

        assert desk.bodies() == ["2025-01-01T00:10:00Z"]
        assert desk.names() == []

    def test_window_that_is_taken_away_lets_the_occurrence_out_at_once(self, desk: Any) -> None:
        create(desk, NOON, FlexibleTimeWindow=WINDOW)
        desk.world.advance_to(parse_instant("2025-01-01T12:00:01Z"))

        update(desk, NOON)
        desk.world.settle()

        assert desk.sent() == ["2025-01-01T12:00:01Z"]

    def test_occurrence_that_the_change_leaves_out_is_missed(self, desk: Any) -> None:
        create(desk, NOON, FlexibleTimeWindow=WINDOW)
        desk.world.advance_to(parse_instant("2025-01-01T12:00:01Z"))

        update(desk, HOURLY)
        desk.world.advance(hours=1)

        assert desk.bodies() == ["2025-01-01T13:00:00Z"]
        why = "the schedule was changed before they were invoked"
        assert missed(desk) == [("1", "2025-01-01T12:00:00Z", "2025-01-01T12:00:00Z", why)]

    def test_disabling_inside_the_window_is_missing_the_occurrence(self, desk: Any) -> None:
        create(desk, NOON, FlexibleTimeWindow=WINDOW)
        desk.world.advance_to(parse_instant("2025-01-01T12:00:01Z"))

        update(desk, NOON, FlexibleTimeWindow=WINDOW, State="DISABLED")
        desk.world.advance(hours=2)
        meanwhile = missed(desk)
        update(desk, NOON, FlexibleTimeWindow=WINDOW)
        desk.world.advance(hours=2)

        noon = "2025-01-01T12:00:00Z"
        assert desk.bodies() == []
        assert meanwhile == [("1", noon, noon, "the schedule is disabled")]
        assert missed(desk) == [("1", noon, noon, "the schedule was disabled")]

    def test_one_time_schedule_that_is_enabled_within_its_minute_fires_and_misses_nothing(self, desk: Any) -> None:
        at = "at(2025-01-01T00:10:00)"
        create(desk, at, FlexibleTimeWindow=WINDOW)
        desk.world.advance(minutes=10, seconds=5)
        assert desk.bodies() == []

        update(desk, at, FlexibleTimeWindow=WINDOW, State="DISABLED")
        update(desk, at, FlexibleTimeWindow=WINDOW)
        desk.world.advance(hours=1)

        assert desk.bodies() == ["2025-01-01T00:10:00Z"]
        assert missed(desk) == []

    def test_deleting_inside_the_window_is_missing_the_occurrence(self, desk: Any) -> None:
        arn = create(desk, NOON, FlexibleTimeWindow=WINDOW)
        desk.world.advance_to(parse_instant("2025-01-01T12:00:01Z"))

        desk.world.call("scheduler", "DeleteSchedule", Name="nightly")
        desk.world.advance(hours=2)

        assert desk.bodies() == []
        (record,) = desk.attempts(arn)
        assert record.verdict == "missed: the schedule was deleted before they were invoked"
        assert (record.left_out, record.left_out_until) == (1, parse_instant("2025-01-01T12:00:00Z"))


class TestMissedWhileDisabled:
    """A disabled schedule misses what its expression says."""

    def test_rate_misses_the_steps_that_it_would_have_made(self, desk: Any) -> None:
        create(desk, "rate(10 minutes)")
        desk.world.advance(minutes=5)

        update(desk, "rate(10 minutes)", State="DISABLED")
        desk.world.advance(minutes=30)
        meanwhile = missed(desk)
        update(desk, "rate(10 minutes)")
        desk.world.advance(minutes=10)

        span = ("3", "2025-01-01T00:10:00Z", "2025-01-01T00:30:00Z")
        assert meanwhile == [(*span, "the schedule is disabled")]
        assert missed(desk) == [(*span, "the schedule was disabled")]
        assert desk.sent() == ["2025-01-01T00:00:00Z", "2025-01-01T00:35:00Z", "2025-01-01T00:45:00Z"]

    def test_occurrence_at_the_instant_of_enabling_is_missed(self, desk: Any) -> None:
        create(desk, HOURLY, State="DISABLED")
        desk.world.advance(hours=1)

        update(desk, HOURLY)
        desk.world.advance(hours=1)

        assert desk.bodies() == ["2025-01-01T02:00:00Z"]
        assert missed(desk) == [("1", "2025-01-01T01:00:00Z", "2025-01-01T01:00:00Z", "the schedule was disabled")]

    def test_one_time_schedule_of_the_past_is_missed(self, desk: Any) -> None:
        create(desk, "at(2024-12-31T23:00:00)")
        desk.world.advance(minutes=5)

        time = "2024-12-31T23:00:00Z"
        assert missed(desk) == [("1", time, time, "it was over when the schedule was made or changed")]

    def test_one_time_schedule_that_has_fired_or_was_missed_once_is_not_missed_again(self, desk: Any) -> None:
        create(desk, "at(2025-01-01T00:10:00)", Name="fired")
        create(desk, "at(2025-01-01T00:10:00)", State="DISABLED")
        desk.world.advance(minutes=30)
        update(desk, "at(2025-01-01T00:10:00)")

        assert missed(desk, "fired") == []
        assert [why for *_, why in missed(desk)] == ["the schedule was disabled"]


class TestMadeAnew:
    """A schedule that is made anew under the name of one that was deleted has nothing to do with it."""

    def test_recreated_schedule_has_ids_of_its_own_in_the_same_millisecond(self, desk: Any) -> None:
        create(desk, "rate(1 hour)", ID)
        desk.world.settle()

        desk.world.call("scheduler", "DeleteSchedule", Name="nightly")
        create(desk, "rate(1 hour)", ID)
        desk.world.settle()

        assert len(set(desk.bodies())) == 2

    def test_recreated_schedule_delivers_its_own_while_the_old_one_retries(self, desk: Any) -> None:
        fault = Fault("", desk.orders, "InternalServerError", "no", times=1)
        desk.world.store.run(lambda tx: add_fault(tx, fault))
        create(desk, "rate(1 hour)", "old")
        desk.world.settle()

        desk.world.call("scheduler", "DeleteSchedule", Name="nightly")
        create(desk, "rate(1 hour)", "new")
        desk.world.advance(seconds=30)

        assert sorted(desk.bodies()) == ["new", "old"]

    def test_same_seed_gives_recreated_schedules_the_same_ids(self, new_desk: Any) -> None:
        bodies = []
        for desk in (new_desk(), new_desk()):
            create(desk, "rate(1 hour)", ID)
            desk.world.call("scheduler", "DeleteSchedule", Name="nightly")
            create(desk, "rate(1 hour)", ID)
            desk.world.settle()
            bodies.append(desk.bodies())

        assert bodies[0] == bodies[1]
        assert len(set(bodies[0])) == len(bodies[0])


def test_occurrences_of_overlapping_windows_survive_an_update_in_order(desk: Any) -> None:
    """The change comes while some have been invoked and some wait in their windows."""
    window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    choices: dict[str, Any] = {"FlexibleTimeWindow": window, "EndDate": parse_instant("2025-01-01T01:00:00Z")}
    create(desk, "cron(* * * * ? *)", **choices)
    desk.world.advance(minutes=30)

    update(desk, "cron(* * * * ? *)", ScheduleExpressionTimezone="Etc/UTC", **choices)
    desk.world.advance(hours=2)

    times = [format_instant(parse_instant("2025-01-01T00:00:00Z") + minute * 60_000) for minute in range(1, 60)]
    assert sorted(desk.bodies()) == times
    assert missed(desk) == []
