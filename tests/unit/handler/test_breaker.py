"""A breaker stops calling what fails, and asks again with one probe."""

from __future__ import annotations

import asyncio
import errno
from urllib.error import URLError

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from redrive.handler import CircuitBreaker, CircuitOpen, FunctionFailed, KeyRefused, Ledger, StillRunning
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


class Busy(Exception):
    """What a user's own client raises; nobody here knows it."""


class Refused(Exception):
    """What an HTTP library raises for a status."""

    def __init__(self, status: int) -> None:
        self.status = status


def aws_error(code: str, status: int | None = 400) -> ClientError:
    metadata = {} if status is None else {"ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError({"Error": {"Code": code, "Message": ""}, **metadata}, "PutItem")


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (TimeoutError(), True),
        (OSError(), True),
        (OSError(errno.EIO, "Input/output error"), True),
        (Busy(), True),
        (ValueError("what is no JSON"), True),
        (KeyError("items"), True),
        (Refused(503), True),
        (Refused(501), True),
        (Refused(429), True),
        (Refused(408), True),
        (Refused(304), True),
        (Refused(404), False),
        (Refused(422), False),
        (aws_error("ThrottlingException"), True),
        (aws_error("InternalServerError", 500), True),
        (aws_error("UnknownToUs", 500), True),
        (aws_error("ValidationException"), False),
        (aws_error("ConditionalCheckFailedException"), False),
        (aws_error("ConditionalCheckFailedException", None), False),
        (ParamValidationError(report="no Key"), False),
        (URLError(OSError("unknown host")), True),
        (FunctionFailed("pay", "Unhandled", "Busy", "", ()), True),
        (CircuitOpen("bank", 3), True),
        (StillRunning("order-1", 0), False),
        (KeyRefused("no key"), False),
    ],
)
def test_failure_counts_unless_it_is_known_to_be_the_requests_own(
    breaker: CircuitBreaker, error: Exception, counts: bool
) -> None:
    def fail() -> None:
        raise error

    for _ in range(3):
        with pytest.raises(type(error)):
            breaker.call(fail)

    assert breaker.state is (State.OPEN if counts else State.CLOSED)


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

    def wrong() -> None:
        raise Refused(404)

    with pytest.raises(Refused):
        breaker.call(wrong)

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


def test_block_goes_through_the_breaker(breaker: CircuitBreaker, clock: HandClock) -> None:
    for _ in range(3):
        with pytest.raises(Busy), breaker:
            raise Busy
    with pytest.raises(CircuitOpen), breaker:
        raise AssertionError("the block ran")
    clock.advance(60)

    with breaker as entered:
        assert (entered, breaker.state) == (breaker, State.HALF_OPEN)

    assert breaker.state is State.CLOSED


def test_async_block_goes_through_the_breaker(breaker: CircuitBreaker, clock: HandClock) -> None:
    async def use(error: Exception | None) -> str:
        async with breaker:
            await asyncio.sleep(0)
            if error is not None:
                raise error
        return "ok"

    for _ in range(3):
        with pytest.raises(Busy):
            asyncio.run(use(Busy()))
    with pytest.raises(CircuitOpen):
        asyncio.run(use(None))
    clock.advance(60)

    assert (asyncio.run(use(None)), breaker.state) == ("ok", State.CLOSED)


def test_probes_of_blocks_that_overlap_are_told_apart(breaker: CircuitBreaker, clock: HandClock) -> None:
    """A block that begins while a probe is under way is refused, and its refusal ends no probe."""
    bank = CircuitBreaker("bank", clock=clock)
    trip(breaker)
    clock.advance(60)

    with breaker, bank:
        with pytest.raises(CircuitOpen), breaker:
            raise AssertionError("the block ran")
        assert breaker.state is State.HALF_OPEN

    assert (breaker.state, bank.state) == (State.CLOSED, State.CLOSED)


def test_tasks_of_one_breaker_do_not_take_each_others_probe(clock: HandClock) -> None:
    breaker = CircuitBreaker("payments", failures_max=1, open_s=60, clock=clock)

    async def both() -> None:
        begun, opened = asyncio.Event(), asyncio.Event()

        async def early() -> None:
            async with breaker:  # Admitted while the circuit is closed; ends while a probe is under way.
                begun.set()
                await opened.wait()

        task = asyncio.create_task(early())
        await begun.wait()
        with pytest.raises(Busy):
            async with breaker:
                raise Busy
        clock.advance(60)
        async with breaker:
            opened.set()
            await task
            assert breaker.state is State.HALF_OPEN

    asyncio.run(both())

    assert breaker.state is State.CLOSED


def test_breaker_is_a_decorator(breaker: CircuitBreaker) -> None:
    @breaker
    def plain(fail: bool) -> str:
        if fail:
            raise Busy
        return "ok"

    @breaker
    async def downstream() -> str:
        return "ok"

    assert (plain(False), asyncio.run(downstream()), plain.__name__) == ("ok", "ok", "plain")
    for _ in range(3):
        with pytest.raises(Busy):
            plain(True)
    with pytest.raises(CircuitOpen):
        asyncio.run(downstream())
