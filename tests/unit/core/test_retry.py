"""What follows from an attempt, as rules over all policies. The rules stand in docs/semantics/delivery.md."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import DAY_MS, MINUTE_MS, SECOND_MS
from redrive.core.retry import (
    Backoff,
    Delivered,
    Exhausted,
    Failed,
    FailureKind,
    GiveUp,
    Outcome,
    RetryAt,
    RetryPolicy,
    Succeeded,
    Verdict,
    decide,
)

START = 1_735_689_600_000
TRANSIENT = Failed("ServiceException", "Try again.", FailureKind.TRANSIENT)
THROTTLED = Failed("ThrottlingException", "Rate exceeded.", FailureKind.THROTTLED)
PERMANENT = Failed("ResourceNotFoundException", "Gone.", FailureKind.PERMANENT)

policies = st.builds(
    RetryPolicy,
    retries_max=st.integers(0, 185),
    age_ms_max=st.integers(60 * SECOND_MS, DAY_MS),
    backoff=st.builds(Backoff, first_ms=st.integers(1, 60_000), cap_ms=st.integers(1, 600_000)),
    throttles_count=st.just(value=True),
)
spreads = st.floats(-1, 1)


def instants(policy: RetryPolicy, outcome: Outcome, spread: float = 0.0) -> tuple[list[int], Verdict]:
    """The instants of all attempts when each has this outcome, and the verdict on the last."""
    attempts, now = [START], START
    for failures in range(1_000):
        verdict = decide(
            policy, failures=failures, attempts=failures + 1, first_at=START, now=now, outcome=outcome, spread=spread
        )
        if not isinstance(verdict, RetryAt):
            return attempts, verdict
        now = verdict.at
        attempts.append(now)
    raise AssertionError("retries without end")


def test_waits_double_from_one_second_up_to_eight_minutes() -> None:
    """1 s, 2 s, 4 s … 256 s, then 480 s each."""
    waits = [Backoff().wait_ms(failures, spread=0) // SECOND_MS for failures in range(1, 13)]

    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 480, 480, 480]


def test_waits_spread_by_a_tenth_both_ways() -> None:
    assert Backoff().wait_ms(20, spread=-1) == 432 * SECOND_MS
    assert Backoff().wait_ms(20, spread=1) == 528 * SECOND_MS


def test_waits_of_given_steps_repeat_the_last() -> None:
    backoff = Backoff(steps_ms=(1_000, 5_000), jitter=0)

    assert [backoff.wait_ms(failures, spread=0.5) for failures in (1, 2, 3, 9)] == [1_000, 5_000, 5_000, 5_000]


def test_default_policy_fits_185_retries_into_a_day() -> None:
    """AWS's two defaults, 185 retries and 24 hours, meet on one curve: the retries end shortly before the day does."""
    attempts, verdict = instants(RetryPolicy(), TRANSIENT)

    assert len(attempts) == 1 + 185
    assert verdict == GiveUp(Exhausted.ATTEMPTS)
    assert DAY_MS - 60 * MINUTE_MS < attempts[-1] - START <= DAY_MS


def test_age_of_a_minute_leaves_room_for_five_retries() -> None:
    attempts, verdict = instants(RetryPolicy(age_ms_max=MINUTE_MS), TRANSIENT)

    assert [(at - START) // SECOND_MS for at in attempts] == [0, 1, 3, 7, 15, 31]
    assert verdict == GiveUp(Exhausted.AGE)


def test_no_retries_means_one_attempt() -> None:
    attempts, verdict = instants(RetryPolicy(retries_max=0), TRANSIENT)

    assert attempts == [START]
    assert verdict == GiveUp(Exhausted.ATTEMPTS)


def test_permanent_failure_is_given_up_at_once_without_a_condition() -> None:
    attempts, verdict = instants(RetryPolicy(), PERMANENT)

    assert attempts == [START]
    assert verdict == GiveUp(None)


@given(policy=policies, spread=spreads, attempts=st.integers(1, 500))
def test_success_is_delivered_whatever_the_policy(policy: RetryPolicy, spread: float, attempts: int) -> None:
    verdict = decide(
        policy, failures=attempts - 1, attempts=attempts, first_at=START, now=START + 2 * DAY_MS,
        outcome=Succeeded({}), spread=spread,
    )  # fmt: skip

    assert verdict == Delivered()


@given(policy=policies, outcome=st.sampled_from([TRANSIENT, THROTTLED]), spread=spreads)
def test_retries_never_exceed_the_policy(policy: RetryPolicy, outcome: Failed, spread: float) -> None:
    """No more retries than MaximumRetryAttempts, and none later than MaximumEventAgeInSeconds."""
    attempts, verdict = instants(policy, outcome, spread)

    assert len(attempts) - 1 <= policy.retries_max
    assert attempts[-1] <= START + policy.age_ms_max
    assert isinstance(verdict, GiveUp)
    assert verdict.exhausted is not None


@given(policy=policies, spread=spreads)
def test_attempts_are_given_up_for_the_bound_that_was_reached(policy: RetryPolicy, spread: float) -> None:
    attempts, verdict = instants(policy, TRANSIENT, spread)

    by_attempts = len(attempts) - 1 == policy.retries_max
    assert verdict == GiveUp(Exhausted.ATTEMPTS if by_attempts else Exhausted.AGE)


@given(failures=st.integers(1, 10_000), spread=spreads)
def test_a_wait_is_within_a_tenth_of_the_curve(failures: int, spread: float) -> None:
    base = min(480, 2 ** (failures - 1)) * SECOND_MS

    assert 0.9 * base <= Backoff().wait_ms(failures, spread) <= 1.1 * base


@given(failures=st.integers(1, 1_000))
def test_a_wait_is_never_shorter_than_the_one_before(failures: int) -> None:
    assert Backoff().wait_ms(failures, spread=0) <= Backoff().wait_ms(failures + 1, spread=0)


def test_a_retry_at_the_very_end_of_the_age_is_made() -> None:
    """The bound is inclusive: a retry exactly as old as the event may get is made, a millisecond later it is not."""
    policy = RetryPolicy(backoff=Backoff(steps_ms=(1_000,), jitter=0), age_ms_max=MINUTE_MS)
    last = START + MINUTE_MS - 1_000

    in_time = decide(policy, failures=0, attempts=1, first_at=START, now=last, outcome=TRANSIENT, spread=0)
    too_late = decide(policy, failures=0, attempts=1, first_at=START, now=last + 1, outcome=TRANSIENT, spread=0)

    assert in_time == RetryAt(START + MINUTE_MS, counted=True)
    assert too_late == GiveUp(Exhausted.AGE)


def test_throttles_that_do_not_count_are_bounded_by_age_alone() -> None:
    policy = RetryPolicy(retries_max=0, throttles_count=False)

    verdict = decide(policy, failures=0, attempts=3, first_at=START, now=START, outcome=THROTTLED, spread=0)
    late = decide(policy, failures=0, attempts=3, first_at=START, now=START + DAY_MS, outcome=THROTTLED, spread=0)

    assert verdict == RetryAt(START + 4_000, counted=False)
    assert late == GiveUp(Exhausted.AGE)


@pytest.mark.parametrize(("outcome", "wait_ms"), [(THROTTLED, 9_000), (TRANSIENT, 1_000)])
def test_throttles_wait_by_their_own_curve_if_there_is_one(outcome: Failed, wait_ms: int) -> None:
    policy = RetryPolicy(throttle_backoff=Backoff(steps_ms=(9_000,), jitter=0))

    verdict = decide(policy, failures=0, attempts=1, first_at=START, now=START, outcome=outcome, spread=0)

    assert verdict == RetryAt(START + wait_ms, counted=True)


@given(policies, spreads, st.integers(0, 2 * DAY_MS))
def test_wait_that_a_target_asks_for_bounds_the_next_attempt_from_below(
    policy: RetryPolicy, spread: float, wait_ms: int
) -> None:
    """The backoff alone decides where it is longer. An attempt that would then come too late is not made."""
    policy = replace(policy, retries_max=max(1, policy.retries_max))
    outcome = Failed("Http503", "", FailureKind.TRANSIENT, wait_ms=wait_ms)

    verdict = decide(policy, failures=0, attempts=1, first_at=START, now=START, outcome=outcome, spread=spread)

    longer_ms = max(wait_ms, policy.backoff.wait_ms(1, spread))
    is_late = longer_ms > policy.age_ms_max
    assert verdict == (GiveUp(Exhausted.AGE) if is_late else RetryAt(START + longer_ms, counted=True))
