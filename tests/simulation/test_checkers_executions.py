"""The checkers of executions can fail: each history that breaks the policy, or disagrees with a witness, is refused."""

from __future__ import annotations

import pytest

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS, format_instant
from redrive.sim.checkers.executions import TOO_OLD, Ends, Executions, Metrics, RetriedSchedule
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import DeadLettered, Happening, HistoryRead, Measured, Reached
from redrive.sim.checkers.rules import Checker
from redrive.sim.checkers.schedules import Planned
from redrive.store.tables.attempts import AttemptRecord, RunState

AGE_MS = 20 * MINUTE_MS
ALARMS = {
    "bell": RetriedSchedule(
        Planned("bell", "cron(0 * * * ? *)", "UTC", 0, 2 * HOUR_MS), retries_max=2, age_ms_max=AGE_MS
    )
}
DUE = format_instant(HOUR_MS)
FAILED, REFUSED = "ServiceUnavailable", "AccessDeniedException"
LETTER = RunState.DEAD_LETTERED


def record(
    attempt: int, *, late_ms: int = 0, code: str = "", state: RunState = RunState.DELIVERED, wait_ms: int | None = None,
    scheduled_at: int = HOUR_MS,
) -> AttemptRecord:  # fmt: skip
    """An attempt at the occurrence of one o'clock that came so late; with a wait, another was to follow."""
    ended_at = HOUR_MS + late_ms
    next_at = None if wait_ms is None else ended_at + wait_ms
    state = state if wait_ms is None else RunState.RETRYING
    return AttemptRecord(
        f"bell@{format_instant(scheduled_at)}#id", "bell", attempt, ended_at, state, code, next_at=next_at
    )


FIRST = record(1, code=FAILED, wait_ms=SECOND_MS)
SECOND = record(2, late_ms=2 * SECOND_MS, code=FAILED, wait_ms=2 * SECOND_MS)


def holds(checker: Checker, *happenings: Happening) -> bool:
    """Whether the rule holds of this history."""
    try:
        for happening in happenings:
            checker.observe(happening)
        checker.finish(())
    except RuleBroken:
        return False
    return True


def is_within_policy(*records: AttemptRecord) -> bool:
    return holds(Executions(ALARMS, [REFUSED]), HistoryRead("bell", records))


def test_execution_is_delivered_or_given_up_within_its_policy() -> None:
    assert is_within_policy(record(1))
    assert is_within_policy(FIRST, SECOND, record(3, late_ms=4 * SECOND_MS))
    assert is_within_policy(FIRST, SECOND, record(3, late_ms=4 * SECOND_MS, code=FAILED, state=LETTER))
    assert is_within_policy(record(1, code=REFUSED, state=LETTER))
    assert is_within_policy(FIRST, record(2, late_ms=AGE_MS + 1, code=TOO_OLD, state=LETTER))


def test_execution_has_no_attempt_too_many() -> None:
    third = record(3, late_ms=4 * SECOND_MS, code=FAILED, wait_ms=4 * SECOND_MS)

    assert not is_within_policy(FIRST, SECOND, third, record(4, late_ms=8 * SECOND_MS))


def test_execution_has_no_attempt_after_its_age() -> None:
    assert is_within_policy(FIRST, record(2, late_ms=AGE_MS))
    assert not is_within_policy(FIRST, record(2, late_ms=AGE_MS + 1))


def test_retry_is_not_planned_beyond_the_age() -> None:
    late = record(1, late_ms=AGE_MS - SECOND_MS + 1, code=FAILED, wait_ms=SECOND_MS)

    assert not is_within_policy(late, record(2, late_ms=AGE_MS + 1, code=TOO_OLD, state=LETTER))


@pytest.mark.parametrize(("wait_ms", "is_right"), [(899, False), (900, True), (1_100, True), (1_101, False)])
def test_wait_is_the_curve_give_or_take_a_tenth(wait_ms: int, is_right: bool) -> None:
    first = record(1, code=FAILED, wait_ms=wait_ms)

    assert is_within_policy(first, record(2, late_ms=2 * SECOND_MS)) is is_right


def test_retry_does_not_come_before_it_is_due() -> None:
    assert not is_within_policy(FIRST, record(2, late_ms=SECOND_MS - 1))


def test_execution_is_given_up_only_for_a_reason() -> None:
    assert not is_within_policy(record(1, code=FAILED, state=LETTER))
    assert not is_within_policy(record(1, late_ms=AGE_MS, code=TOO_OLD, state=LETTER))


def test_execution_ends_once_and_attempts_are_counted() -> None:
    assert not is_within_policy(FIRST)
    assert not is_within_policy(record(1), record(1))
    assert not is_within_policy(FIRST, record(3, late_ms=2 * SECOND_MS))


def test_each_instant_has_an_execution_or_was_left_out() -> None:
    missed = AttemptRecord(
        f"bell@{DUE}#id", "bell", 0, HOUR_MS + AGE_MS, RunState.MISSED, left_out=1, left_out_until=HOUR_MS
    )
    soon = missed._replace(ended_at=HOUR_MS + AGE_MS - 1)

    assert is_within_policy(missed)
    assert not is_within_policy()
    assert not is_within_policy(soon)
    assert not is_within_policy(missed, record(1))
    assert not is_within_policy(record(1), record(1, scheduled_at=HOUR_MS + MINUTE_MS))


def reached(attempt: int = 1, *, id: str = "m-1", at: int = HOUR_MS) -> Reached:
    return Reached("bell", DUE, attempt, id, at)


def buried(retries: int = 0, id: str = "m-1") -> DeadLettered:
    return DeadLettered("bell", DUE, retries, id)


def test_what_was_delivered_is_at_its_target_once() -> None:
    delivered = HistoryRead("bell", [FIRST, record(2, late_ms=2 * SECOND_MS)])

    assert holds(Ends(ALARMS), reached(2), reached(2), delivered)
    assert not holds(Ends(ALARMS), delivered)
    assert not holds(Ends(ALARMS), reached(1), delivered)
    assert not holds(Ends(ALARMS), reached(2), reached(2, id="another"), delivered)
    assert not holds(Ends(ALARMS), reached())


def test_what_was_dead_lettered_is_in_its_queue_once() -> None:
    given_up = HistoryRead("bell", [FIRST, record(2, late_ms=2 * SECOND_MS, code=REFUSED, state=LETTER)])

    assert holds(Ends(ALARMS), buried(1), given_up)
    assert not holds(Ends(ALARMS), given_up)
    assert not holds(Ends(ALARMS), buried(2), given_up)
    assert not holds(Ends(ALARMS), buried(1), buried(1, "another"), given_up)
    assert not holds(Ends(ALARMS), buried(1), reached(), given_up)
    assert not holds(Ends(ALARMS), reached(), buried(), HistoryRead("bell", [record(1)]))


def test_target_is_reached_early_only_by_what_a_clock_is_off() -> None:
    early = reached(at=HOUR_MS - 2 * SECOND_MS)
    delivered = HistoryRead("bell", [record(1)])

    assert holds(Ends(ALARMS, skew_ms=2 * SECOND_MS), early, delivered)
    assert not holds(Ends(ALARMS, skew_ms=2 * SECOND_MS - 1), early, delivered)


@pytest.mark.parametrize(
    ("metric", "happened"),
    [
        ("InvocationAttemptCount", 2),
        ("TargetErrorCount", 2),
        ("TargetErrorThrottledCount", 1),
        ("InvocationDroppedCount", 1),
        ("InvocationsSentToDeadLetterCount", 1),
        ("InvocationsFailedToBeSentToDeadLetterCount", 0),
    ],
)
def test_metric_is_what_happened(metric: str, happened: int) -> None:
    throttled = record(2, late_ms=2 * SECOND_MS, code="ThrottlingException", wait_ms=2 * SECOND_MS)
    too_old = record(3, late_ms=AGE_MS + 1, code=TOO_OLD, state=LETTER)
    history = HistoryRead("bell", [FIRST, throttled, too_old])

    for measured in (happened - 1, happened, happened + 1):
        checker = Metrics("alarms", throttled=["ThrottlingException"], permanent=[REFUSED])
        assert holds(checker, history, Measured(metric, measured)) is (measured == happened)
