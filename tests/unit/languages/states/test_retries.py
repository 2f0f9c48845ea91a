"""Retriers and catchers do what AWS's page on errors says, to the second."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.core.entropy import SeededEntropy
from redrive.languages.states import Caught, Failed, RetryAfter, State, decide
from redrive.languages.states.definition import Jitter, Retrier
from redrive.languages.states.retries import delay_s, matches
from tests.unit.languages.states.worlds import FUNCTION, state

ENTROPY = SeededEntropy(1)


def _task(**members: Any) -> State:
    return state({"Type": "Task", "Resource": FUNCTION, "End": True, **members})


def _waits(one: State, error: str) -> list[float]:
    """The waits of a state that fails with one error until it gives up."""
    counts: dict[int, int] = {}
    waits = []
    while isinstance(reaction := decide(one, error, counts, ENTROPY), RetryAfter):
        counts[reaction.retrier_index] = counts.get(reaction.retrier_index, 0) + 1
        waits.append(reaction.seconds)
    return waits


@pytest.mark.parametrize(
    ("retrier", "waits"),
    [
        ({}, [1, 2, 4]),
        ({"MaxAttempts": 0}, []),
        ({"IntervalSeconds": 3, "MaxAttempts": 4, "BackoffRate": 1.5}, [3, 4.5, 6.75, 10.125]),
        ({"IntervalSeconds": 3, "MaxAttempts": 4, "BackoffRate": 2, "MaxDelaySeconds": 5}, [3, 5, 5, 5]),
        ({"IntervalSeconds": 60, "BackoffRate": 1.0}, [60, 60, 60]),
    ],
)
def test_waits_grow_by_the_rate_up_to_the_longest(retrier: dict[str, Any], waits: list[float]) -> None:
    assert _waits(_task(Retry=[{"ErrorEquals": ["E"], **retrier}]), "E") == waits


@settings(max_examples=60)
@given(st.integers(1, 1000), st.integers(0, 8), st.integers(1, 200), st.integers(1, 40), st.booleans())
def test_wait_is_the_product_of_the_definition(
    interval: int, quarters: int, cap: int, retry: int, capped: bool
) -> None:
    rate = 1 + quarters / 4
    retrier = Retrier(("E",), interval, 99, rate, interval + cap if capped else None)
    exact = Fraction(interval) * Fraction(rate) ** (retry - 1)

    expected = min(exact, Fraction(interval + cap if capped else 99_999_999))

    assert delay_s(retrier, retry) == pytest.approx(float(expected))


def test_wait_of_a_hundred_million_retries_is_no_overflow() -> None:
    assert delay_s(Retrier(("E",), 99_999_999, 99_999_999, 1e300), 99_999_999) == 99_999_999
    assert delay_s(Retrier(("E",), 1, 99_999_999, 10.0, 7), 99_999_999) == 7


@given(st.integers(0, 1000))
def test_full_jitter_waits_at_most_as_long_as_none(seed: int) -> None:
    one = _task(Retry=[{"ErrorEquals": ["E"], "IntervalSeconds": 8, "MaxDelaySeconds": 10, "JitterStrategy": "FULL"}])

    reaction = decide(one, "E", {0: 2}, SeededEntropy(seed))

    assert isinstance(reaction, RetryAfter)
    assert 0 <= reaction.seconds <= 10
    assert one.retry[0].jitter is Jitter.FULL


def test_retriers_count_for_themselves() -> None:
    one = _task(Retry=[{"ErrorEquals": ["A"], "MaxAttempts": 1}, {"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}])

    assert decide(one, "A", {1: 2}, ENTROPY) == RetryAfter(1.0, 0)
    assert decide(one, "B", {0: 1, 1: 1}, ENTROPY) == RetryAfter(2.0, 1)
    assert decide(one, "B", {0: 1, 1: 2}, ENTROPY) == Failed()


def test_exhausted_retrier_leaves_the_error_to_the_catchers() -> None:
    one = _task(
        Retry=[{"ErrorEquals": ["A"], "MaxAttempts": 1}, {"ErrorEquals": ["States.ALL"]}],
        Catch=[{"ErrorEquals": ["B"], "Next": "B"}, {"ErrorEquals": ["States.ALL"], "Next": "A"}],
    )

    reaction = decide(one, "A", {0: 1}, ENTROPY)

    assert reaction == Caught(one.catch[1])


def test_error_that_nothing_names_fails_the_state() -> None:
    one = _task(Retry=[{"ErrorEquals": ["A"]}], Catch=[{"ErrorEquals": ["B"], "Next": "B"}])

    assert decide(one, "C", {}, ENTROPY) == Failed()
    assert decide(one, None, {}, ENTROPY) == Failed()


@pytest.mark.parametrize(
    ("pattern", "error", "holds"),
    [
        ("States.ALL", "Custom", True),
        ("States.ALL", "States.Timeout", True),
        ("States.ALL", "States.DataLimitExceeded", False),
        ("States.ALL", "States.Runtime", False),
        ("States.TaskFailed", "Custom", True),
        ("States.TaskFailed", "States.Permissions", True),
        ("States.TaskFailed", "States.Timeout", False),
        ("States.TaskFailed", "States.HeartbeatTimeout", False),
        ("States.TaskFailed", "States.DataLimitExceeded", False),
        ("States.Timeout", "States.HeartbeatTimeout", True),
        ("States.HeartbeatTimeout", "States.HeartbeatTimeout", True),
        ("States.HeartbeatTimeout", "States.Timeout", False),
        ("States.DataLimitExceeded", "States.DataLimitExceeded", True),
        ("Custom", "Custom", True),
        ("Custom", "CustomError", False),
    ],
)
def test_wildcards_match_what_their_rows_say(pattern: str, error: str, *, holds: bool) -> None:
    assert matches((pattern,), error) is holds


def test_runtime_error_is_not_caught_even_by_its_name() -> None:
    one = _task(Retry=[{"ErrorEquals": ["States.Runtime"]}], Catch=[{"ErrorEquals": ["States.Runtime"], "Next": "A"}])

    assert decide(one, "States.Runtime", {}, ENTROPY) == Failed()
