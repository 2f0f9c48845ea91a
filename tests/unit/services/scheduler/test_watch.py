"""What can be seen of schedules, and how they break on order: faults, missed occurrences, triggers, spelling."""

from __future__ import annotations

import io
from itertools import chain
from typing import Any

import pytest

from redrive.core.clock import SECOND_MS, parse_instant
from redrive.core.log import LineLog
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.faults import Fault, SlowCall, add_fault
from redrive.delivery.history.runs import runs_of
from redrive.engine.settings import Settings
from redrive.services.scheduler.misspellings import log_misspellings
from redrive.services.scheduler.model.executions import Execution, ExecutionIds, misspelt_keywords, right_spelling
from redrive.services.scheduler.promises import trigger
from redrive.services.scheduler.watch import find_schedule, missed_by, next_firings, overview
from redrive.store.tables.deliveries import INSIDE, Delivery

SCOPE = Scope("000000000000", "us-east-1")
ONCE = "at(2025-01-01T01:00:00)"


def add_to(desk: Any, code: str, **choices: Any) -> None:
    desk.world.store.run(lambda tx: add_fault(tx, Fault("", "arn:aws:sqs:*:orders", code, "no", **choices)))


def missed(desk: Any, name: str = "nightly") -> list[tuple[str, str, str, str]]:
    rows = desk.world.store.run(lambda tx: missed_by(tx, *find_schedule(tx, SCOPE, name)))
    return [(row["count"], row["first"], row["last"], row["why"]) for row in rows]


def fire(desk: Any) -> str:
    fired = desk.world.store.run(lambda tx: trigger(tx, *find_schedule(tx, SCOPE, "nightly")))
    return str(fired.execution_id)


class TestFaults:
    """A fault on a schedule's target fails the delivery as the target itself would."""

    def test_throttle_is_retried_until_it_is_spent(self, desk: Any) -> None:
        add_to(desk, "ThrottlingException", times=2)
        arn = desk.create(ONCE, Target=desk.target(Input="x"))

        desk.world.advance(hours=2)

        assert [(one.code, one.verdict) for one in desk.attempts(arn)] == [
            ("ThrottlingException", "retry"), ("ThrottlingException", "retry"), ("", "delivered"),
        ]  # fmt: skip
        assert desk.bodies() == ["x"]

    def test_error_of_the_caller_is_dead_lettered_at_once_without_a_condition(self, desk: Any) -> None:
        add_to(desk, "AccessDeniedException", rate=1.0)
        desk.create(ONCE, Target=desk.target(DeadLetterConfig={"Arn": desk.dead}))

        desk.world.advance(hours=1)

        _, attributes = desk.letter()
        assert (attributes["ERROR_CODE"], attributes["ERROR_MESSAGE"]) == ("AccessDeniedException", "no")
        assert attributes["RETRY_ATTEMPTS"] == "0"
        assert "EXHAUSTED_RETRY_CONDITION" not in attributes

    def test_lasting_throttle_exhausts_a_day_of_retries(self, desk: Any) -> None:
        add_to(desk, "ThrottlingException", rate=1.0)
        arn = desk.create(ONCE, Target=desk.target(DeadLetterConfig={"Arn": desk.dead}))

        desk.world.advance(hours=26)

        _, attributes = desk.letter()
        assert attributes["RETRY_ATTEMPTS"] == "185"
        assert attributes["EXHAUSTED_RETRY_CONDITION"] == "MaximumRetryAttempts"
        assert len(desk.attempts(arn)) == 186

    def test_slow_target_gets_its_message_later_in_one_attempt(self, desk: Any) -> None:
        add_to(desk, "", latency_ms=5 * SECOND_MS, times=1)
        arn = desk.create(ONCE, Target=desk.target(Input="<aws.scheduler.attempt-number>"))

        desk.world.advance(hours=2)

        (message,) = desk.take()
        assert message["Attributes"]["SentTimestamp"] == str(parse_instant("2025-01-01T01:00:05Z"))
        assert message["Body"] == "1"
        assert [one.attempt for one in desk.attempts(arn)] == [1]

    def test_slow_target_outlives_the_event_age(self, desk: Any) -> None:
        add_to(desk, "", latency_ms=61 * SECOND_MS, times=1)
        retry, letters = {"MaximumEventAgeInSeconds": 60}, {"Arn": desk.dead}
        desk.create(ONCE, Target=desk.target(RetryPolicy=retry, DeadLetterConfig=letters))

        desk.world.advance(hours=2)

        _, attributes = desk.letter()
        assert attributes["EXHAUSTED_RETRY_CONDITION"] == "MaximumEventAgeInSeconds"
        assert attributes["RETRY_ATTEMPTS"] == "0"
        assert not desk.world.store.run(lambda tx: tx.resources.everywhere(SlowCall))


class TestMissed:
    """What nobody will fire is on record, one line for each gap."""

    def test_rate_that_fell_behind_records_what_it_left_out(self, desk: Any) -> None:
        desk.create("rate(1 hour)")
        desk.world.settle()
        desk.world.clock.move_to(parse_instant("2025-01-01T05:30:00Z"))

        desk.world.settle()

        why = "nothing ran when they were due"
        assert missed(desk) == [("4", "2025-01-01T01:00:00Z", "2025-01-01T04:00:00Z", why)]

    def test_cron_records_what_was_too_old_to_deliver(self, desk: Any) -> None:
        desk.create("cron(0 * * * ? *)", Target=desk.target(RetryPolicy={"MaximumEventAgeInSeconds": 7200}))
        desk.world.clock.move_to(parse_instant("2025-01-01T05:30:00Z"))

        desk.world.settle()

        why = "nothing ran when they were due"
        assert missed(desk) == [("2", "2025-01-01T02:00:00Z", "2025-01-01T03:00:00Z", why)]
        assert len(desk.bodies()) == 2

    def test_worker_that_is_in_time_records_nothing(self, desk: Any) -> None:
        desk.create("rate(1 hour)")
        desk.create("cron(0 * * * ? *)", Name="cron")

        desk.world.advance(days=2)

        assert missed(desk) == missed(desk, "cron") == []

    def test_disabled_schedule_misses_its_occurrences_while_it_is_and_afterwards(self, desk: Any) -> None:
        desk.create("cron(0 * * * ? *)", State="DISABLED")
        desk.world.advance(hours=3, minutes=30)
        meanwhile = missed(desk)

        desk.scheduler.update_schedule(**desk.params("cron(0 * * * ? *)"))
        desk.world.advance(hours=3)

        assert meanwhile == [("3", "2025-01-01T01:00:00Z", "2025-01-01T03:00:00Z", "the schedule is disabled")]
        assert missed(desk) == [("3", "2025-01-01T01:00:00Z", "2025-01-01T03:00:00Z", "the schedule was disabled")]

    def test_missed_occurrences_are_runs_without_an_attempt(self, desk: Any) -> None:
        arn = desk.create("rate(1 hour)")
        desk.world.settle()
        desk.world.clock.move_to(parse_instant("2025-01-01T05:30:00Z"))
        desk.world.settle()

        runs = desk.world.store.run(lambda tx: runs_of(tx, arn, limit=10))

        assert [(run.state.value, run.records[0].attempt) for run in runs] == [
            ("delivered", 1), ("missed", 0), ("delivered", 1),
        ]  # fmt: skip


class TestTrigger:
    """One occurrence by hand."""

    @pytest.mark.parametrize("state", ["ENABLED", "DISABLED"])
    def test_triggered_occurrences_fire_now_beside_the_others(self, state: str, desk: Any) -> None:
        target = desk.target(Input="<aws.scheduler.execution-id>")
        desk.create("rate(1 hour)", State=state, Target=target, StartDate="2025-01-01T03:00:00Z")

        ids = [fire(desk), fire(desk)]
        desk.world.settle()

        assert sorted(desk.bodies()) == sorted(ids)
        assert ids[0] != ids[1]
        desk.world.advance(hours=3)
        assert len(desk.bodies()) == (1 if state == "ENABLED" else 0)


class TestExecutionIds:
    """Whether retries keep the execution id is a switch of the engine."""

    @pytest.mark.parametrize(
        ("ids", "is_same"), [(ExecutionIds.PER_OCCURRENCE, True), (ExecutionIds.PER_ATTEMPT, False)]
    )
    def test_retry_keeps_the_execution_id_if_the_engine_says_so(
        self, ids: ExecutionIds, is_same: bool, new_desk: Any
    ) -> None:
        desk = new_desk(settings=Settings(execution_ids=ids))
        add_to(desk, "ThrottlingException", times=1)
        arn = desk.create(ONCE, Target=desk.target(Input="<aws.scheduler.execution-id>"))

        desk.world.advance(hours=2)

        (seen_by_retry,) = desk.bodies()
        assert desk.attempts(arn)[0].delivery_id.endswith(seen_by_retry) is is_same

    def test_first_attempt_sees_the_occurrences_own_id_and_each_retry_another(self) -> None:
        execution = Execution("arn:s", SCOPE, "own", 0, {})
        promised = Delivery(
            "d", SCOPE, "scheduler", "arn:s", "arn:t", execution.document, RetryPolicy(), INSIDE, due_at=0, first_at=0
        )

        tries = [promised._replace(attempts=attempt) for attempt in (1, 2, 3, 3)]
        seen = [Execution.of(one, ExecutionIds.PER_ATTEMPT).execution_id for one in tries]

        assert seen[0] == "own"
        assert len(set(seen)) == 3


class TestOverview:
    """Schedules at a glance."""

    def test_next_firings_are_told_in_the_schedules_zone_and_in_utc(self, desk: Any) -> None:
        desk.world.advance_to(parse_instant("2025-03-28T12:00:00Z"))
        desk.create("cron(30 9 * * ? *)", ScheduleExpressionTimezone="Europe/London")

        found = desk.world.store.run(lambda tx: next_firings(find_schedule(tx, SCOPE, "nightly")[1], 2))

        assert found == [
            {"local": "2025-03-29T09:30:00+00:00", "utc": "2025-03-29T09:30:00Z"},
            {"local": "2025-03-30T09:30:00+01:00", "utc": "2025-03-30T08:30:00Z"},
        ]

    def test_schedule_that_will_not_fire_has_no_next(self, desk: Any) -> None:
        desk.create("at(2020-01-01T00:00:00)")

        assert desk.world.store.run(lambda tx: next_firings(find_schedule(tx, SCOPE, "nightly")[1], 2)) == []

    def test_misspelt_keyword_is_a_warning_and_a_line_in_the_log_once(self, desk: Any) -> None:
        commits: list[frozenset[str]] = []
        desk.world.store.on_commit(commits.append)
        params = desk.params(Target=desk.target(Input="<aws.scheduler.execution_id>"))
        desk.scheduler.create_schedule(**params)
        desk.scheduler.update_schedule(**params, Description="the same input")

        glance = desk.world.store.run(lambda tx: overview(*find_schedule(tx, SCOPE, "default/nightly")))
        written = io.StringIO()
        log_misspellings(LineLog(desk.world.clock, stream=written), chain.from_iterable(commits))

        wrong, right = "<aws.scheduler.execution_id>", "<aws.scheduler.execution-id>"
        assert glance["warnings"] == [f"{wrong} in the input stays literal; it is spelt {right}"]
        (line,) = written.getvalue().splitlines()
        assert line.endswith(f"schedule={glance['arn']} written={wrong} right={right}")

    @pytest.mark.parametrize(
        ("written", "right"),
        [
            ("<aws.scheduler.execution_id>", "<aws.scheduler.execution-id>"),
            ("<aws.scheduler.scheduleArn>", "<aws.scheduler.schedule-arn>"),
            ("<aws.scheduler.schedule-time>", "<aws.scheduler.scheduled-time>"),
            ("<AWS.Scheduler.attempt-number>", "<aws.scheduler.attempt-number>"),
            ("<aws:scheduler:attempts>", "<aws.scheduler.attempt-number>"),
        ],
    )
    def test_right_spelling_is_the_nearest(self, written: str, right: str) -> None:
        assert misspelt_keywords(f"x {written} y") == [written]
        assert right_spelling(written) == right
