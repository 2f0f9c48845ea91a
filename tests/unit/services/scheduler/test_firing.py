"""Schedules fire at their instants, in virtual time, and their occurrences reach the queue exactly once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.clock import MINUTE_MS, format_instant, parse_instant
from redrive.delivery.worker import ONE, FreeSlots
from redrive.services.scheduler.workers.schedules import ScheduleWorker


def test_cron_fires_at_its_wall_time_over_days(desk: Any) -> None:
    desk.create("cron(30 9 * * ? *)")

    desk.world.advance(days=3)

    assert desk.sent() == ["2025-01-01T09:30:00Z", "2025-01-02T09:30:00Z", "2025-01-03T09:30:00Z"]


def test_cron_keeps_its_wall_time_when_clocks_go_forward(desk: Any) -> None:
    """A schedule at 09:00 in London fires an hour earlier by UTC once summer time has begun (30 March 2025)."""
    desk.world.advance_to(parse_instant("2025-03-29T00:00:00Z"))
    desk.create("cron(0 9 * * ? *)", ScheduleExpressionTimezone="Europe/London")

    desk.world.advance(days=3)

    assert desk.sent() == ["2025-03-29T09:00:00Z", "2025-03-30T08:00:00Z", "2025-03-31T08:00:00Z"]


def test_cron_in_a_gap_is_skipped_and_in_a_repeated_hour_fires_once(desk: Any) -> None:
    """02:30 in Los Angeles does not exist on 9 March 2025, and 01:30 comes twice on 2 November.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
    """
    desk.world.advance_to(parse_instant("2025-03-08T12:00:00Z"))
    desk.create("cron(30 2 * * ? *)", ScheduleExpressionTimezone="America/Los_Angeles")
    desk.world.advance(days=2)
    in_spring = desk.sent()
    desk.scheduler.delete_schedule(Name="nightly")
    desk.world.advance_to(parse_instant("2025-11-02T00:00:00Z"))
    desk.create("cron(30 1 * * ? *)", ScheduleExpressionTimezone="America/Los_Angeles")
    desk.world.advance(days=1)

    assert in_spring == ["2025-03-10T09:30:00Z"]
    assert desk.sent() == ["2025-11-02T08:30:00Z"]


def test_cron_due_at_the_instant_of_its_creation_waits_for_the_next_time(desk: Any) -> None:
    desk.create("cron(0 0 * * ? *)")

    desk.world.advance(days=1)

    assert desk.sent() == ["2025-01-02T00:00:00Z"]


def test_rate_fires_at_once_and_then_at_even_steps(desk: Any) -> None:
    desk.create("rate(5 minutes)")

    desk.world.advance(minutes=10)

    assert desk.sent() == ["2025-01-01T00:00:00Z", "2025-01-01T00:05:00Z", "2025-01-01T00:10:00Z"]


def test_rate_with_a_start_date_fires_first_at_that_date(desk: Any) -> None:
    desk.create("rate(1 hour)", StartDate="2025-01-01T00:20:00Z", EndDate="2025-01-01T02:20:00Z")

    desk.world.advance(days=1)

    assert desk.sent() == ["2025-01-01T00:20:00Z", "2025-01-01T01:20:00Z"]


def test_one_time_schedule_fires_once_in_its_time_zone(desk: Any) -> None:
    desk.create("at(2025-01-01T12:00:00)", ScheduleExpressionTimezone="Europe/Berlin")

    desk.world.advance(days=2)

    assert desk.sent() == ["2025-01-01T11:00:00Z"]
    assert desk.names() == ["nightly"]


@pytest.mark.parametrize(("time", "fired"), [("2024-12-31T23:59:59", 0), ("2025-01-01T00:00:00", 1)])
def test_one_time_schedule_of_the_past_fires_only_within_its_minute(desk: Any, time: str, fired: int) -> None:
    desk.create(f"at({time})")

    desk.world.advance(minutes=5)

    assert len(desk.sent()) == fired


def test_schedule_fires_at_its_place_in_the_flexible_window(desk: Any) -> None:
    """The invocation comes somewhere within the window; the scheduled time stays the nominal one."""
    window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    target = desk.target(Input="<aws.scheduler.scheduled-time>")
    desk.create("cron(0 6 * * ? *)", FlexibleTimeWindow=window, Target=target)

    desk.world.advance(days=3)

    messages = desk.take()
    assert [message["Body"] for message in messages] == [f"2025-01-0{day}T06:00:00Z" for day in (1, 2, 3)]
    delays = [int(one["Attributes"]["SentTimestamp"]) - parse_instant(one["Body"]) for one in messages]
    assert all(0 <= delay < 15 * MINUTE_MS for delay in delays)
    assert len(set(delays)) == 3


def test_overlapping_flexible_windows_lose_no_occurrence(desk: Any) -> None:
    """Each occurrence is invoked inside its own window, in order, even where the next window has begun."""
    target = desk.target(Input="<aws.scheduler.scheduled-time>", RetryPolicy={"MaximumEventAgeInSeconds": 60})
    window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    desk.create("rate(1 minute)", FlexibleTimeWindow=window, Target=target, EndDate="2025-01-01T01:00:00Z")

    desk.world.advance(hours=2)

    messages = desk.take()
    assert sorted(one["Body"] for one in messages) == [f"2025-01-01T00:{minute:02}:00Z" for minute in range(60)]
    delays = [int(one["Attributes"]["SentTimestamp"]) - parse_instant(one["Body"]) for one in messages]
    assert all(0 <= delay < 15 * MINUTE_MS for delay in delays)


def test_context_attributes_are_replaced_in_the_input(desk: Any) -> None:
    keywords = ("schedule-arn", "scheduled-time", "attempt-number")
    text = " ".join(f"<aws.scheduler.{keyword}>" for keyword in keywords)
    arn = desk.create("rate(1 hour)", Target=desk.target(Input=text))

    desk.world.settle()

    assert desk.bodies() == [f"{arn} 2025-01-01T00:00:00Z 1"]


def test_execution_ids_sort_by_time_and_differ(desk: Any) -> None:
    desk.create("rate(1 minute)", Target=desk.target(Input="<aws.scheduler.execution-id>"))

    desk.world.advance(minutes=20)

    bodies = desk.bodies()
    assert len(set(bodies)) == 21
    assert bodies == sorted(bodies)


def test_misspelt_keyword_is_delivered_literally(desk: Any) -> None:
    desk.create("rate(1 hour)", Target=desk.target(Input="<aws.scheduler.execution_id>"))

    desk.world.settle()

    assert desk.bodies() == ["<aws.scheduler.execution_id>"]


def test_target_without_input_gets_the_default_event(desk: Any) -> None:
    arn = desk.create("rate(1 hour)")

    desk.world.settle()

    (body,) = desk.bodies()
    event = json.loads(body)
    event.pop("id")
    assert event == {
        "version": "0", "detail-type": "Scheduled Event", "source": "aws.scheduler", "account": "000000000000",
        "time": "2025-01-01T00:00:00Z", "region": "us-east-1", "resources": [arn], "detail": "{}",
    }  # fmt: skip


def test_fifo_queue_gets_the_group_of_the_target_and_each_occurrence_once(desk: Any) -> None:
    """Occurrences differ by their scheduled time, so that a queue that goes by content takes them all, in order.

    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_SqsParameters.html
    """
    arn = desk.queue("ordered.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    text = '{"at":"<aws.scheduler.scheduled-time>"}'
    desk.create("rate(1 minute)", Target=desk.target(arn, Input=text, SqsParameters={"MessageGroupId": "ticks"}))

    desk.world.advance(minutes=2)

    messages = desk.take("ordered.fifo")
    times = [json.loads(one["Body"])["at"] for one in messages]
    assert times == [f"2025-01-01T00:0{minute}:00Z" for minute in range(3)]
    assert {one["Attributes"]["MessageGroupId"] for one in messages} == {"ticks"}
    numbers = [one["Attributes"]["SequenceNumber"] for one in messages]
    assert numbers == sorted(set(numbers))


def test_fifo_queue_takes_an_unchanging_input_once_in_five_minutes(desk: Any) -> None:
    """The queue goes by content, and five minutes count from the first: that is SQS's rule, not the schedule's."""
    arn = desk.queue("ordered.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    target = desk.target(arn, Input="tick", SqsParameters={"MessageGroupId": "ticks"})
    desk.create("rate(1 minute)", Target=target, EndDate="2025-01-01T00:08:30Z")

    desk.world.advance(minutes=10)

    assert desk.sent("ordered.fifo") == ["2025-01-01T00:00:00Z", "2025-01-01T00:05:00Z"]


def test_fifo_queue_without_a_way_to_deduplicate_refuses_and_the_dead_letter_says_why(desk: Any) -> None:
    """A target has no deduplication id to give, so the queue must go by content."""
    arn = desk.queue("ordered.fifo", FifoQueue="true")
    target = desk.target(
        arn, Input="tick", SqsParameters={"MessageGroupId": "ticks"}, DeadLetterConfig={"Arn": desk.dead},
        RetryPolicy={"MaximumRetryAttempts": 0},
    )  # fmt: skip
    desk.create("at(2025-01-01T00:00:00)", Target=target)

    desk.world.advance(minutes=1)

    _, attributes = desk.letter()
    assert "ContentBasedDeduplication" in attributes["ERROR_MESSAGE"]
    assert desk.take("ordered.fifo") == []


def test_disabled_schedule_does_not_fire(desk: Any) -> None:
    desk.create("rate(1 minute)", State="DISABLED")

    desk.world.advance(hours=1)

    assert desk.sent() == []
    assert desk.world.engine.next_due(ONE, upkeep=False) is None


def test_enabling_a_schedule_does_not_catch_up(desk: Any) -> None:
    desk.create("cron(0 * * * ? *)")
    desk.scheduler.update_schedule(**desk.params("cron(0 * * * ? *)", State="DISABLED"))
    desk.world.advance(hours=3, minutes=30)

    desk.scheduler.update_schedule(**desk.params("cron(0 * * * ? *)"))
    desk.world.advance(hours=1)

    assert desk.sent() == ["2025-01-01T04:00:00Z"]


def test_deleted_schedule_does_not_fire(desk: Any) -> None:
    desk.create("cron(0 * * * ? *)")

    desk.scheduler.delete_schedule(Name="nightly")
    desk.world.advance(hours=2)

    assert desk.sent() == []


def test_update_that_leaves_the_time_alone_keeps_the_steps_of_a_rate(desk: Any) -> None:
    desk.create("rate(10 minutes)")
    desk.world.advance(minutes=5)

    desk.scheduler.update_schedule(**desk.params("rate(10 minutes)", Description="the same, described"))
    desk.world.advance(minutes=10)

    assert desk.sent() == ["2025-01-01T00:00:00Z", "2025-01-01T00:10:00Z"]


def test_update_of_the_expression_of_a_rate_counts_from_the_update(desk: Any) -> None:
    desk.create("rate(10 minutes)")
    desk.world.advance(minutes=5)

    desk.scheduler.update_schedule(**desk.params("rate(4 minutes)"))
    desk.world.advance(minutes=5)

    assert desk.sent() == ["2025-01-01T00:00:00Z", "2025-01-01T00:05:00Z", "2025-01-01T00:09:00Z"]


def test_update_of_the_end_date_keeps_the_steps_of_a_rate(desk: Any) -> None:
    desk.create("rate(10 minutes)")
    desk.world.advance(minutes=5)

    desk.scheduler.update_schedule(**desk.params("rate(10 minutes)", EndDate="2025-01-01T00:20:00Z"))
    desk.world.advance(hours=1)

    assert desk.sent() == ["2025-01-01T00:00:00Z", "2025-01-01T00:10:00Z"]


def test_delivery_keeps_the_target_of_its_firing(desk: Any) -> None:
    """What a schedule has fired goes to the target it had then, whatever is updated before the delivery."""
    desk.create("at(2025-01-01T01:00:00)", Target=desk.target(Input="old"))
    desk.world.clock.move_to(parse_instant("2025-01-01T01:00:00Z"))
    desk.world.store.run(lambda tx: ScheduleWorker().claim(tx, free=FreeSlots(0)))

    desk.scheduler.update_schedule(**desk.params("rate(1 day)", Target=desk.target(Input="new"), State="DISABLED"))
    desk.world.settle()

    assert desk.bodies() == ["old"]


class TestAfterAnOutage:
    """The clock moves on while nobody works; then the worker comes back."""

    def test_cron_delivers_each_missed_occurrence_of_the_last_day(self, desk: Any) -> None:
        desk.create("cron(0 * * * ? *)", Target=desk.target(Input="<aws.scheduler.scheduled-time>"))
        desk.world.clock.move_to(parse_instant("2025-01-01T05:30:00Z"))

        desk.world.settle()

        assert sorted(desk.bodies()) == [f"2025-01-01T0{hour}:00:00Z" for hour in range(1, 6)]

    def test_rate_delivers_only_its_latest_occurrence(self, desk: Any) -> None:
        desk.create("rate(1 hour)", Target=desk.target(Input="<aws.scheduler.scheduled-time>"))
        desk.world.settle()
        desk.bodies()
        desk.world.clock.move_to(parse_instant("2025-01-01T05:30:00Z"))

        desk.world.settle()

        assert desk.bodies() == ["2025-01-01T05:00:00Z"]
        desk.world.advance(minutes=30)
        assert desk.bodies() == ["2025-01-01T06:00:00Z"]

    def test_rate_that_ended_meanwhile_delivers_its_last_occurrence(self, desk: Any) -> None:
        target = desk.target(Input="<aws.scheduler.scheduled-time>")
        desk.create("rate(1 hour)", Target=target, EndDate="2025-01-01T03:00:00Z")
        desk.world.clock.move_to(parse_instant("2025-01-01T05:30:00Z"))

        desk.world.settle()

        assert desk.bodies() == ["2025-01-01T02:00:00Z"]

    def test_occurrences_older_than_the_event_age_are_not_delivered(self, desk: Any) -> None:
        """The first that was missed is dead-lettered, so that the outage shows; the others are left out."""
        retry, letters = {"MaximumEventAgeInSeconds": 7200}, {"Arn": desk.dead}
        target = desk.target(Input="<aws.scheduler.scheduled-time>", RetryPolicy=retry, DeadLetterConfig=letters)
        desk.create("cron(0 * * * ? *)", Target=target)
        desk.world.clock.move_to(parse_instant("2025-01-05T05:30:00Z"))

        desk.world.settle()

        assert sorted(desk.bodies()) == ["2025-01-05T04:00:00Z", "2025-01-05T05:00:00Z"]
        _, attributes = desk.letter()
        assert attributes["SCHEDULED_TIME"] == "2025-01-01T01:00:00Z"
        assert attributes["EXHAUSTED_RETRY_CONDITION"] == "MaximumEventAgeInSeconds"
        assert attributes["ERROR_CODE"] == "AWS.Scheduler.InternalServerError"
        assert attributes["RETRY_ATTEMPTS"] == "0"

    def test_years_of_absence_are_caught_up_in_few_claims(self, desk: Any) -> None:
        desk.create("cron(* * * * ? *)", Target=desk.target(RetryPolicy={"MaximumEventAgeInSeconds": 60}))
        desk.world.clock.move_to(parse_instant("2035-01-01T00:00:30Z"))

        desk.world.settle()

        assert len(desk.bodies()) == 1
        assert format_instant(desk.world.engine.next_due(ONE, upkeep=False)) == "2035-01-01T00:01:00Z"


def test_many_schedules_due_together_all_fire(desk: Any) -> None:
    """One claim takes a bounded number of schedules; the rest stay due."""
    for number in range(250):
        desk.world.call("scheduler", "CreateSchedule", **desk.params("at(2025-01-01T01:00:00)", Name=f"one-{number}"))

    desk.world.advance(hours=1)

    assert len(desk.sent()) == 250


class TestActionAfterCompletion:
    """ActionAfterCompletion=DELETE. Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-delete.html"""

    def test_one_time_schedule_goes_after_it_has_fired(self, desk: Any) -> None:
        desk.create("at(2025-01-01T01:00:00)", ActionAfterCompletion="DELETE")
        desk.world.advance(minutes=59)
        before = desk.names()

        desk.world.advance(minutes=1)

        assert before == ["nightly"]
        assert desk.names() == []
        assert len(desk.sent()) == 1

    def test_recurring_schedule_goes_after_its_last_occurrence_before_the_end(self, desk: Any) -> None:
        desk.create("cron(0 * * * ? *)", ActionAfterCompletion="DELETE", EndDate="2025-01-01T02:30:00Z")
        desk.world.advance(hours=1, minutes=59)
        before = desk.names()

        desk.world.advance(minutes=1)

        assert before == ["nightly"]
        assert desk.names() == []
        assert len(desk.sent()) == 2

    def test_recurring_schedule_without_an_end_stays(self, desk: Any) -> None:
        desk.create("cron(0 1 1 1 ? 2025)", ActionAfterCompletion="DELETE")

        desk.world.advance(days=2)

        assert desk.names() == ["nightly"]

    def test_one_time_schedule_of_the_past_goes_without_firing(self, desk: Any) -> None:
        desk.create("at(2024-06-01T00:00:00)", ActionAfterCompletion="DELETE")

        desk.world.advance(seconds=1)

        assert desk.names() == []
        assert desk.sent() == []

    def test_schedule_stays_while_its_last_occurrence_is_retried(self, desk: Any) -> None:
        """Only the final outcome of the last occurrence completes a schedule."""
        desk.create("at(2025-01-01T01:00:00)", ActionAfterCompletion="DELETE")
        desk.world.clock.move_to(parse_instant("2025-01-01T01:00:00Z"))
        for _ in range(2):
            desk.world.store.run(lambda tx: ScheduleWorker().claim(tx, free=FreeSlots(0)))
        before = desk.names()

        desk.world.settle()

        assert before == ["nightly"]
        assert desk.names() == []
