"""Work that nobody has run is never taken for done, however its coroutine came to be returned."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from typing import Any

import pytest

from redrive.handler import (
    CircuitBreaker,
    MemoryLedger,
    Status,
    dynamodb_batch,
    idempotent,
    kinesis_batch,
    path,
    retry,
    retry_call,
    sqs_batch,
)
from tests.unit.handler.conftest import HandClock
from tests.unit.handler.test_batch import change, failures, kinesis, message


class Work:
    """Does its work only if its coroutine is awaited, and hides that in various ways."""

    def __init__(self) -> None:
        self.runs = 0

    async def run(self, record: object) -> int:
        self.runs += 1
        return self.runs

    def by_lambda(self) -> Callable[[Any], object]:
        return lambda record: self.run(record)  # noqa: PLW0108 - What users write.

    def by_decorator(self) -> Callable[[Any], object]:
        @functools.wraps(self.run)
        def logged(record: object) -> object:
            return self.run(record)

        return logged

    def by_forgotten_await(self) -> Callable[[Any], object]:
        async def forgetful(record: object) -> object:
            return self.run(record)

        return forgetful

    def by_task(self) -> Callable[[Any], object]:
        async def forgetful(record: object) -> object:
            return asyncio.ensure_future(self.run(record))

        return forgetful

    def by_generator(self) -> Callable[[Any], object]:
        def yielding(record: object):
            yield self.run(record)

        return yielding


class AsyncCallable:
    """An object whose calls make coroutines, which shows."""

    def __init__(self) -> None:
        self.runs = 0

    async def __call__(self, record: object) -> int:
        self.runs += 1
        if self.runs < 3:
            raise ConnectionResetError
        return self.runs


HIDING = [Work.by_lambda, Work.by_decorator, Work.by_forgotten_await, Work.by_task, Work.by_generator]
BATCHES: list[tuple[Callable[..., Any], dict[str, object], str]] = [
    (sqs_batch, message("1", {"id": "a"}), "1"),
    (kinesis_batch, kinesis(10), "10"),
    (dynamodb_batch, change(10), "10"),
]


@pytest.mark.parametrize("hidden", HIDING)
@pytest.mark.parametrize(("batch", "record", "identifier"), BATCHES)
def test_record_whose_work_was_not_run_comes_again(hidden, batch, record: dict[str, object], identifier: str) -> None:
    errors: list[Exception] = []

    answer = batch(hidden(Work()), on_failure=lambda _, error: errors.append(error))({"Records": [record]}, None)

    assert answer == failures(identifier)
    assert ["has not been run" in str(error) for error in errors] == [True]


def test_record_handler_with_an_async_call_runs() -> None:
    work = AsyncCallable()
    records = [message(str(number)) for number in range(3)]

    assert sqs_batch(work, concurrency=1)({"Records": records}, None) == failures("0", "1")
    assert work.runs == 3


@pytest.mark.parametrize("hidden", HIDING)
def test_execution_whose_work_was_not_run_has_failed(hidden, clock: HandClock) -> None:
    ledger = MemoryLedger(clock=clock)
    run = idempotent(key=path("body.id"), ledger=ledger)(hidden(Work()))

    answer = sqs_batch(run, on_failure=lambda *_: None)({"Records": [message("1", {"id": "a"})]}, None)

    record = ledger.read("a")
    assert record is not None
    assert (answer, record.status) == (failures("1"), Status.FAILED)
    assert "has not been run" in str(record.attempts[0].error)


def test_idempotent_function_behind_a_plain_decorator_comes_again(clock: HandClock) -> None:
    ledger, work = MemoryLedger(clock=clock), Work()
    run = idempotent(key=path("body.id"), ledger=ledger)(work.run)

    @functools.wraps(run)
    def logged(record: Any) -> object:
        return run(record)

    answer = sqs_batch(logged, on_failure=lambda *_: None)({"Records": [message("1", {"id": "a"})]}, None)

    assert (answer, work.runs, ledger.read("a")) == (failures("1"), 0, None)


def test_idempotent_object_with_an_async_call_runs(clock: HandClock) -> None:
    ledger = MemoryLedger(clock=clock)
    run = idempotent(key=path("id"), ledger=ledger)(AsyncCallable())

    async def thrice() -> list[object]:
        return await asyncio.gather(*(run({"id": str(number)}) for number in range(3)), return_exceptions=True)

    assert 3 in asyncio.run(thrice())


@pytest.mark.parametrize("hidden", [Work.by_lambda, Work.by_decorator, Work.by_generator])
def test_retry_of_what_only_makes_a_coroutine_is_refused(hidden) -> None:
    """The coroutine would fail outside of the retry, and nothing would be tried again."""
    function = hidden(Work())

    with pytest.raises(TypeError, match="has not been run"):
        retry()(function)({})
    with pytest.raises(TypeError, match="has not been run"):
        retry_call(lambda: function({}))


def test_retry_of_an_object_with_an_async_call_tries_again(clock: HandClock) -> None:
    work = AsyncCallable()

    assert asyncio.run(retry(sleep_async=clock.sleep_async, random=lambda: 0.5)(work)({})) == 3
    assert clock.slept == [0.05, 0.1]


def test_breaker_takes_no_coroutine_for_a_success(clock: HandClock) -> None:
    breaker = CircuitBreaker("payments", failures_max=1, clock=clock)
    with pytest.raises(TimeoutError):
        breaker.call(timeout)
    clock.advance(60)

    with pytest.raises(TypeError, match="has not been run"):
        breaker.call(Work().by_lambda(), {})

    assert breaker.state == "HALF_OPEN"


def timeout() -> None:
    raise TimeoutError


def test_async_function_is_still_run_once(clock: HandClock) -> None:
    ledger, work = MemoryLedger(clock=clock), Work()
    handler = sqs_batch(idempotent(key=path("body.id"), ledger=ledger)(work.run))
    event = {"Records": [message("1", {"id": "a"}), message("2", {"id": "a"})]}

    assert json.dumps(handler(event, None)) in {json.dumps(failures()), json.dumps(failures("2"))}
    assert handler(event, None) == failures()
    assert work.runs == 1
