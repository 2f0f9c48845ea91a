"""A breaker stops calling what fails, and asks again with one probe."""

from __future__ import annotations

import asyncio

import pytest

from redrive.handler import CircuitBreaker, CircuitOpen, Ledger
from redrive.handler.breaker import State
from tests.unit.handler.conftest import HandClock


def fails() -> None:
    raise TimeoutError


def works() -> str:
    return "ok"


@pytest.fixture
def breaker(clock: HandClock) -> CircuitBreaker:
    return CircuitBreaker("payments", failures_max=3, open_s=60, probe_s=10, clock=clock)


def trip(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        with pytest.raises(TimeoutError):
            breaker.call(fails)


def test_circuit_opens_after_so_many_failures_in_a_row(breaker: CircuitBreaker) -> None:
    trip(breaker)

    with pytest.raises(CircuitOpen) as refused:
        breaker.call(works)

    assert (breaker.state, refused.value.retry_after_s) == (State.OPEN, 60)


def test_success_between_failures_starts_the_count_anew(breaker: CircuitBreaker) -> None:
    for function in (fails, fails, works, fails, fails):
        try:
            breaker.call(function)
        except TimeoutError:
            continue

    assert breaker.state is State.CLOSED


def test_failure_that_says_nothing_about_the_downstream_does_not_count(breaker: CircuitBreaker) -> None:
    for _ in range(5):
        with pytest.raises(ValueError):
            breaker.call(int, "x")

    assert breaker.state is State.CLOSED


def test_probe_that_succeeds_closes_the_circuit(breaker: CircuitBreaker, clock: HandClock) -> None:
    trip(breaker)
    clock.advance(60)

    assert breaker.call(works) == "ok"

    assert breaker.state is State.CLOSED


def test_probe_that_fails_opens_the_circuit_for_the_whole_time_again(breaker: CircuitBreaker, clock: HandClock) -> None:
    trip(breaker)
    clock.advance(60)
    with pytest.raises(TimeoutError):
        breaker.call(fails)
    clock.advance(59.999)

    with pytest.raises(CircuitOpen):
        breaker.call(works)


def test_probe_whose_request_was_wrong_closes_the_circuit_too(breaker: CircuitBreaker, clock: HandClock) -> None:
    """The downstream answered."""
    trip(breaker)
    clock.advance(60)

    with pytest.raises(ValueError):
        breaker.call(int, "x")

    assert breaker.state is State.CLOSED


def test_one_probe_at_a_time_in_all_processes_together(ledger: Ledger, clock: HandClock) -> None:
    """Two breakers on one ledger are two processes."""
    one, other = (
        CircuitBreaker("payments", failures_max=1, open_s=60, probe_s=10, cells=ledger, clock=clock)  # type: ignore[arg-type]
        for _ in range(2)
    )
    with pytest.raises(TimeoutError):
        one.call(fails)
    with pytest.raises(CircuitOpen):
        other.call(works)
    clock.advance(60)

    def probing() -> str:
        assert one.state is State.HALF_OPEN
        with pytest.raises(CircuitOpen):
            other.call(works)
        return "probed"

    assert one.call(probing) == "probed"
    assert other.call(works) == "ok"


def test_probe_that_never_comes_back_is_given_up(ledger: Ledger, clock: HandClock) -> None:
    one, other = (
        CircuitBreaker("payments", failures_max=1, open_s=60, probe_s=10, cells=ledger, clock=clock)  # type: ignore[arg-type]
        for _ in range(2)
    )
    with pytest.raises(TimeoutError):
        one.call(fails)
    clock.advance(60)

    def killed() -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        one.call(killed)
    with pytest.raises(CircuitOpen):
        other.call(works)
    clock.advance(10)

    assert other.call(works) == "ok"


def test_call_from_before_the_circuit_opened_says_nothing_about_now(breaker: CircuitBreaker) -> None:
    def slow() -> str:
        trip(breaker)
        return "late"

    assert breaker.call(slow) == "late"

    assert breaker.state is State.OPEN


def test_probe_that_was_given_up_changes_nothing_when_it_comes_back(clock: HandClock, breaker: CircuitBreaker) -> None:
    trip(breaker)
    clock.advance(60)

    def slow() -> str:
        clock.advance(10)
        with pytest.raises(TimeoutError):
            breaker.call(fails)  # The next probe; it opens the circuit anew.
        return "late"

    breaker.call(slow)

    assert breaker.state is State.OPEN


def test_decorated_functions_go_through_the_breaker(breaker: CircuitBreaker) -> None:
    @breaker.protect
    async def downstream(fail: bool) -> str:
        if fail:
            raise TimeoutError
        return "ok"

    @breaker.protect
    def plain() -> str:
        return "ok"

    assert (asyncio.run(downstream(False)), plain()) == ("ok", "ok")
    for _ in range(3):
        with pytest.raises(TimeoutError):
            asyncio.run(downstream(True))
    with pytest.raises(CircuitOpen):
        asyncio.run(downstream(False))
    with pytest.raises(CircuitOpen):
        plain()


def test_breaker_that_never_closes_is_refused() -> None:
    with pytest.raises(ValueError):
        CircuitBreaker("x", failures_max=0)
