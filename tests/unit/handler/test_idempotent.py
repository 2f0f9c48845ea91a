"""Decorated functions run once for each key, whatever becomes of the deliveries that bring it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_type

import pytest

from redrive.handler import (
    Fresh,
    KeyRefused,
    KeyShared,
    LeaseLost,
    Ledger,
    MemoryLedger,
    OutsideExecution,
    PayloadChanged,
    ResultNotStorable,
    Status,
    StillRunning,
    current_execution,
    idempotent,
    invocation,
    path,
    sqs_message_id,
)
from tests.unit.handler.conftest import START, FakeContext, HandClock


def test_function_runs_once_and_its_result_is_replayed(ledger: Ledger) -> None:
    runs: list[str] = []

    @idempotent(key=path("order"), ledger=ledger)
    def place(event: dict[str, str]) -> dict[str, int]:
        runs.append(event["order"])
        return {"total": len(runs)}

    answers = [place({"order": "a"}), place({"order": "a"}), place({"order": "b"}), place(event={"order": "a"})]

    assert answers == [{"total": 1}, {"total": 1}, {"total": 2}, {"total": 1}]
    assert runs == ["a", "b"]


def test_async_function_runs_once_and_its_result_is_replayed(ledger: Ledger) -> None:
    runs: list[str] = []

    @idempotent(key=path("order"), ledger=ledger)
    async def place(event: dict[str, str]) -> int:
        await asyncio.sleep(0)
        runs.append(current_execution().key)
        return len(runs)

    async def twice() -> list[int]:
        return [await place({"order": "a"}), await place({"order": "a"})]

    assert asyncio.run(twice()) == [1, 1]
    assert runs == ["a"]


def test_exception_is_recorded_and_leaves_as_it_is(ledger: Ledger) -> None:
    @idempotent(key=path("order"), ledger=ledger)
    def place(event: dict[str, str]) -> None:
        raise LookupError("no such article")

    with pytest.raises(LookupError, match="no such article"):
        place({"order": "a"})

    record = ledger.read("a")
    assert record is not None
    assert (record.status, record.attempts[0].error) == (Status.FAILED, "LookupError: no such article")


def test_exception_of_an_async_function_is_recorded(ledger: Ledger) -> None:
    @idempotent(key=path("order"), ledger=ledger)
    async def place(event: dict[str, str]) -> None:
        raise LookupError("no such article")

    with pytest.raises(LookupError):
        asyncio.run(place({"order": "a"}))

    record = ledger.read("a")
    assert record is not None
    assert record.status is Status.FAILED


def test_function_that_failed_runs_again_as_the_next_attempt(ledger: Ledger) -> None:
    @idempotent(key=path("order"), ledger=ledger)
    def place(event: dict[str, str]) -> int:
        if current_execution().attempt == 1:
            raise LookupError
        return current_execution().attempt

    with pytest.raises(LookupError):
        place({"order": "a"})

    assert place({"order": "a"}) == 2


def test_killed_process_leaves_the_execution_to_the_delivery_after_its_lease(ledger: Ledger, clock: HandClock) -> None:
    """What ends a process passes by every `except Exception`; nothing is recorded, and nothing is lost."""
    kills = [True, False]

    @idempotent(key=path("order"), ledger=ledger, lease=timedelta(seconds=30))
    def place(event: dict[str, str]) -> str:
        if kills.pop(0):
            raise SystemExit
        return "placed"

    with pytest.raises(SystemExit):
        place({"order": "a"})
    with pytest.raises(StillRunning) as deferred:
        place({"order": "a"})
    clock.advance(30)

    assert deferred.value.until == START + 30_000
    assert place({"order": "a"}) == "placed"


def test_lease_is_the_remaining_time_of_the_invocation_and_a_second(ledger: Ledger, clock: HandClock) -> None:
    seen: list[int | None] = []

    @idempotent(key=path("order"), ledger=ledger)
    def handler(event: dict[str, str], context: object = None) -> None:
        record = ledger.read(event["order"])
        assert record is not None
        seen.append(record.lease_ends_at)

    handler({"order": "a"}, FakeContext(START + 3_000, clock))
    with invocation(FakeContext(START + 4_000, clock)):
        handler({"order": "b"})
    handler({"order": "c"}, FakeContext(START - 5_000, clock))
    handler({"order": "d"})

    assert seen == [START + 4_000, START + 5_000, START + 1_000, START + 900_000]


def test_run_that_was_taken_over_answers_with_what_the_other_recorded(clock: HandClock) -> None:
    ledger = MemoryLedger(clock=clock)

    @idempotent(key=path("order"), ledger=ledger)
    def place(event: dict[str, str]) -> str:
        clock.advance(1_000)
        answer = ledger.begin("a")
        assert isinstance(answer, Fresh)
        ledger.finish(answer.token, "the other's")
        return "mine"

    assert place({"order": "a"}) == "the other's"


def test_run_that_was_taken_over_by_one_still_running_is_lost(clock: HandClock) -> None:
    ledger = MemoryLedger(clock=clock)

    @idempotent(key=path("order"), ledger=ledger)
    def place(event: dict[str, str]) -> str:
        clock.advance(1_000)
        ledger.begin("a")
        return "mine"

    with pytest.raises(LeaseLost):
        place({"order": "a"})

    record = ledger.read("a")
    assert record is not None
    assert (record.status, record.attempts_made) == (Status.RUNNING, 2)


def test_skip_takes_for_done_a_duplicate_of_a_running_execution(ledger: Ledger) -> None:
    """What "skip" loses: had the running one died, this delivery would have been the one to do the work."""
    ledger.begin("a")

    @idempotent(key=path("order"), ledger=ledger, on_running="skip")
    def place(event: dict[str, str]) -> str | None:
        raise AssertionError("it does not run")

    assert place({"order": "a"}) is None


def test_other_payload_under_a_used_key_is_refused(ledger: Ledger) -> None:
    @idempotent(key=path("order"), ledger=ledger, payload=lambda event: event["amount"])
    def place(event: dict[str, object]) -> str:
        return "placed"

    place({"order": "a", "amount": 5, "sent_at": 1})
    place({"order": "a", "amount": 5, "sent_at": 2})

    with pytest.raises(PayloadChanged, match="'a'"):
        place({"order": "a", "amount": 6})


def test_result_that_cannot_be_recorded_fails_the_run_and_says_which_part(ledger: Ledger) -> None:
    @idempotent(key=path("order"), ledger=ledger)
    def place(event: dict[str, str]) -> object:
        return {"lines": [1, {2}]}

    with pytest.raises(ResultNotStorable, match=r"result\['lines'\]\[1\] is a set"):
        place({"order": "a"})

    record = ledger.read("a")
    assert record is not None
    assert record.status is Status.FAILED


def test_any_function_of_the_same_arguments_is_a_key(ledger: Ledger) -> None:
    @idempotent(key=lambda customer, number, **_: f"{customer}-{number}", ledger=ledger, prefix="bill#")
    def bill(customer: str, number: int, *, note: str = "") -> str:
        return current_execution().key

    assert bill("ann", 7, note="x") == "bill#ann-7"
    assert bill(number=7, customer="ann") == "bill#ann-7"
    record = ledger.read("bill#ann-7")
    assert record is not None
    assert record.duplicates == 1


def test_second_function_with_one_key_is_told_so_and_gets_no_result_of_the_first(ledger: Ledger) -> None:
    """Two functions of one event share a table: the second would never run, and nobody would see it."""
    done: list[str] = []

    @idempotent(key=path("id"), ledger=ledger)
    def bill(event: dict[str, str]) -> str:
        done.append("billed")
        return "billed"

    @idempotent(key=path("id"), ledger=ledger)
    def mail(event: dict[str, str]) -> str:
        done.append("mailed")
        return "mailed"

    prefixed = idempotent(key=path("id"), ledger=ledger, prefix="mail#")(mail.__wrapped__)  # type: ignore[attr-defined]
    bill({"id": "a"})

    with pytest.raises(KeyShared, match=r"bill.*mail.*prefix") as raised:
        mail({"id": "a"})

    assert (raised.value.recorded.rpartition(".")[2], raised.value.given.rpartition(".")[2]) == ("bill", "mail")
    assert prefixed({"id": "a"}) == "mailed"
    assert bill({"id": "a"}) == "billed"
    assert done == ["billed", "mailed"]


def test_async_function_is_told_of_a_shared_key_too(ledger: Ledger) -> None:
    @idempotent(key=path("id"), ledger=ledger)
    async def mail(event: dict[str, str]) -> None: ...

    ledger.begin("a", function_name="app.bill")

    with pytest.raises(KeyShared, match=r"app\.bill"):
        asyncio.run(mail({"id": "a"}))


@pytest.mark.parametrize("status", [Status.SUCCESS, Status.FAILED])
def test_renamed_function_goes_on_under_its_old_name_only(ledger: Ledger, status: Status) -> None:
    """A deploy that renames: what was done is not done again, and what failed is not lost, but asks for the name."""
    runs: list[str] = []

    def old(event: dict[str, str]) -> str:
        runs.append("old")
        if status is Status.FAILED:
            raise LookupError
        return "old's"

    def new(event: dict[str, str]) -> str:
        runs.append("new")
        return "new's"

    with contextlib.suppress(LookupError):
        idempotent(key=path("id"), ledger=ledger)(old)({"id": "a"})

    with pytest.raises(KeyShared) as raised:
        idempotent(key=path("id"), ledger=ledger)(new)({"id": "a"})
    answer = idempotent(key=path("id"), ledger=ledger, name=raised.value.recorded)(new)({"id": "a"})

    assert (answer, runs) == {
        Status.SUCCESS: ("old's", ["old"]),
        Status.FAILED: ("new's", ["old", "new"]),
    }[status]


@dataclass
class NamedContext(FakeContext):
    """Lambda's context, which names the Lambda function."""

    function_name: str = ""


@pytest.mark.parametrize("announced", [False, True])
def test_two_lambda_functions_with_handlers_of_one_name_are_told_apart(clock: HandClock, announced: bool) -> None:
    """The usual fan-out: each function has an app.py with a handler."""
    ledger = MemoryLedger(clock=clock)
    bill, mail = (NamedContext(START + 9_000, clock, name) for name in ("bill", "mail"))

    def call(context: NamedContext, name: str | None = None) -> object:
        @idempotent(key=path("id"), ledger=ledger, name=name)
        def handler(event: dict[str, str], context: object) -> int:
            return 1

        if not announced:
            return handler({"id": "a"}, context)
        with invocation(context):
            return handler({"id": "a"}, None)

    call(bill)

    with pytest.raises(KeyShared, match=r"bill:.*handler.*mail:.*handler"):
        call(mail)
    record = ledger.read("a")
    assert record is not None
    assert call(mail, name=record.function_name) == 1
    assert call(bill) == 1


def test_key_of_a_method_is_found_in_what_it_is_called_with(ledger: Ledger) -> None:
    class Orders:
        def __init__(self, runs: list[str]) -> None:
            self.runs = runs

        @idempotent(key=path("order"), ledger=ledger, payload=lambda event: event["order"])
        def place(self, event: dict[str, str], context: object = None) -> str:
            self.runs.append(event["order"])
            return event["order"]

        @idempotent(key=path("order"), ledger=ledger, prefix="async#")
        async def place_async(self, event: dict[str, str]) -> str:
            return self.place(event)

        @classmethod
        @idempotent(key=path("order"), ledger=ledger, prefix="class#")
        def place_any(cls, event: dict[str, str]) -> str:
            return f"{cls.__name__} {event['order']}"

        @staticmethod
        @idempotent(key=path("order"), ledger=ledger, prefix="static#")
        def place_static(event: dict[str, str]) -> str:
            return event["order"]

    orders = Orders([])

    assert [orders.place({"order": "a"}), orders.place(event={"order": "a"}), Orders.place(orders, {"order": "b"})] == [
        "a",
        "a",
        "b",
    ]
    assert (asyncio.run(orders.place_async({"order": "c"})), orders.runs) == ("c", ["a", "b", "c"])
    assert (orders.place_any({"order": "a"}), orders.place_static({"order": "a"})) == ("Orders a", "a")


def test_answer_may_be_none_where_running_ones_are_skipped(ledger: Ledger) -> None:
    """What mypy is told: it runs over this file."""

    @idempotent(key=path("order"), ledger=ledger, on_running="skip")
    def place(event: dict[str, str]) -> str:
        return "placed"

    @idempotent(key=path("order"), ledger=ledger, on_running="skip", prefix="async#")
    async def place_async(event: dict[str, str]) -> str:
        return "placed"

    @idempotent(key=path("order"), ledger=ledger, prefix="defer#")
    def place_or_defer(event: dict[str, str]) -> str:
        return "placed"

    answers = place({"order": "a"}), asyncio.run(place_async({"order": "a"})), place_or_defer({"order": "a"})

    assert_type(answers, tuple[str | None, str | None, str])
    assert answers == ("placed",) * 3


def test_message_and_source_of_each_attempt_are_recorded(ledger: Ledger) -> None:
    arn = "arn:aws:sqs:us-east-1:000000000000:jobs"

    @idempotent(key=path("body.id"), ledger=ledger)
    def run(record: dict[str, str]) -> None: ...

    run({"messageId": "m-1", "eventSourceARN": arn, "body": '{"id": "a"}'})
    run({"messageId": "m-2", "eventSourceARN": arn, "body": '{"id": "a"}'})

    record = ledger.read("a")
    assert record is not None
    assert [(a.message_id, a.source) for a in record.attempts] == [("m-1", arn)]
    assert (record.message_ids, record.duplicates) == (frozenset({"m-1", "m-2"}), 1)


def test_there_is_no_execution_outside_of_one(ledger: Ledger) -> None:
    with pytest.raises(OutsideExecution):
        current_execution()


def test_message_id_is_refused_as_a_key_however_it_is_found(ledger: Ledger) -> None:
    @idempotent(key=lambda record: record["messageId"], ledger=ledger)
    def run(record: dict[str, str]) -> None: ...

    with pytest.raises(KeyRefused, match="dead-letter queue"):
        run({"messageId": "m-1", "body": "{}"})
    with pytest.raises(KeyRefused, match="dead-letter queue"):
        sqs_message_id()


def test_unknown_way_with_running_duplicates_is_refused(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="on_running"):
        idempotent(key=path("a"), ledger=ledger, on_running="drop")  # type: ignore[call-overload]


def test_decorated_function_keeps_its_name_and_signature(ledger: Ledger) -> None:
    @idempotent(key=path("order"), ledger=ledger)
    def place(event: dict[str, str], retries: int = 3) -> int:
        """Place an order."""
        return retries

    answer: int = place({"order": "a"}, retries=4)

    assert (place.__name__, place.__doc__, answer) == ("place", "Place an order.", 4)
