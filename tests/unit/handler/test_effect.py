"""Effects carry one key for each execution, and are not repeated past what the downstream remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from redrive.handler import (
    EffectRepeated,
    EffectUncertain,
    LeaseLost,
    Ledger,
    MemoryLedger,
    OutsideExecution,
    RecordFull,
    ResultNotStorable,
    current_execution,
    effect,
    idempotent,
    path,
    retry,
)
from tests.unit.handler.conftest import HandClock


class Bank:
    """A downstream that knows keys again for a day, and then charges anew. Its answer can be lost."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.charges: list[str] = []
        self.keys: dict[str, int] = {}
        self.requests: list[str] = []
        self.answers_lost = 0

    def charge(self, key: str, order: str) -> dict[str, str]:
        self.requests.append(key)
        if self.clock() - self.keys.get(key, -(10**15)) >= 86_400_000:
            self.keys[key] = self.clock()
            self.charges.append(order)
        if self.answers_lost:
            self.answers_lost -= 1
            raise ConnectionResetError("the answer was lost")
        return {"charged": order}

    def find(self, key: str, order: str) -> dict[str, str] | None:
        return {"found": order} if order in self.charges else None


@pytest.fixture
def bank(clock: HandClock) -> Bank:
    return Bank(clock)


def charging(
    ledger: Ledger, bank: Bank, clock: HandClock, lookup: Callable[..., object] | None = None, hours: float | None = 24
):
    memory = None if hours is None else timedelta(hours=hours)

    @effect("charge", key_memory=memory, lookup=lookup, clock=clock)
    def charge(idempotency_key: str, order: str) -> dict[str, str]:
        return bank.charge(idempotency_key, order)

    @idempotent(key=path("order"), ledger=ledger)
    def place(event: dict[str, str]) -> dict[str, str]:
        receipt = charge(event["order"])
        if event.get("then") == "fail":
            raise RuntimeError("after the charge")
        return receipt

    return place


def fail_once(place, bank: Bank) -> None:
    bank.answers_lost = 1
    with pytest.raises(ConnectionResetError):
        place({"order": "a"})


def test_effect_carries_the_executions_key_and_its_name(ledger: Ledger, bank: Bank, clock: HandClock) -> None:
    place = charging(ledger, bank, clock)

    assert place({"order": "a"}) == {"charged": "a"}

    assert bank.requests == ["a/charge"]


def test_effect_that_is_done_is_not_called_again(ledger: Ledger, bank: Bank, clock: HandClock) -> None:
    place = charging(ledger, bank, clock)
    with pytest.raises(RuntimeError):
        place({"order": "a", "then": "fail"})
    clock.advance(30 * 3600)

    assert place({"order": "a"}) == {"charged": "a"}

    assert bank.requests == ["a/charge"]


def test_repeat_within_the_keys_memory_uses_the_key_again(ledger: Ledger, bank: Bank, clock: HandClock) -> None:
    place = charging(ledger, bank, clock)
    fail_once(place, bank)
    clock.advance(24 * 3600 - 1)

    place({"order": "a"})

    assert bank.requests == ["a/charge", "a/charge"]
    assert bank.charges == ["a"]


def test_repeat_past_the_keys_memory_asks_before_it_does(ledger: Ledger, bank: Bank, clock: HandClock) -> None:
    """Redriven on Monday what failed on Friday: the bank has forgotten the key, and would charge twice."""
    place = charging(ledger, bank, clock, lookup=bank.find)
    fail_once(place, bank)
    clock.advance(24 * 3600)

    assert place({"order": "a"}) == {"found": "a"}

    assert bank.charges == ["a"]


def test_repeat_that_finds_nothing_does_it_and_counts_the_memory_anew(
    ledger: Ledger, bank: Bank, clock: HandClock
) -> None:
    place = charging(ledger, bank, clock, lookup=lambda *_: None)
    fail_once(place, bank)
    clock.advance(24 * 3600)
    fail_once(place, bank)
    clock.advance(23 * 3600)

    place({"order": "a"})

    assert bank.charges == ["a", "a"]  # What a lookup that is wrong costs, and no more than that.


def test_repeat_past_the_keys_memory_without_a_lookup_is_not_made(ledger: Ledger, bank: Bank, clock: HandClock) -> None:
    place = charging(ledger, bank, clock)
    fail_once(place, bank)
    clock.advance(24 * 3600)

    with pytest.raises(EffectUncertain, match="give the effect a lookup"):
        place({"order": "a"})

    assert bank.charges == ["a"]


def test_downstream_that_remembers_for_ever_is_never_looked_up(ledger: Ledger, bank: Bank, clock: HandClock) -> None:
    place = charging(ledger, bank, clock, hours=None)
    fail_once(place, bank)
    clock.advance(20 * 86_400)

    place({"order": "a"})

    assert bank.requests == ["a/charge", "a/charge"]


def test_downstream_without_keys_is_asked_before_every_repeat(ledger: Ledger, bank: Bank, clock: HandClock) -> None:
    place = charging(ledger, bank, clock, lookup=bank.find, hours=0)
    fail_once(place, bank)

    assert place({"order": "a"}) == {"found": "a"}

    assert bank.requests == ["a/charge"]


def test_async_effect_is_looked_up_and_recorded_too(ledger: Ledger, bank: Bank, clock: HandClock) -> None:
    async def find(key: str, order: str) -> object:
        return bank.find(key, order)

    @effect("charge", key_memory=timedelta(hours=24), lookup=find, clock=clock)
    async def charge(idempotency_key: str, order: str) -> dict[str, str]:
        return bank.charge(idempotency_key, order)

    @idempotent(key=path("order"), ledger=ledger)
    async def place(event: dict[str, str]) -> object:
        return await charge(event["order"])

    bank.answers_lost = 1
    with pytest.raises(ConnectionResetError):
        asyncio.run(place({"order": "a"}))
    clock.advance(86_400)

    assert asyncio.run(place({"order": "a"})) == {"found": "a"}
    assert bank.charges == ["a"]
    record = ledger.read("a")
    assert record is not None
    assert [(e.name, e.result) for e in record.effects] == [("charge", '{"found":"a"}')]


def test_zombie_has_no_effect(clock: HandClock, bank: Bank) -> None:
    """A run that lost its lease is stopped before the effect, because the intent is recorded first."""
    ledger = MemoryLedger(clock=clock)

    @effect("charge", key_memory=None, clock=clock)
    def charge(idempotency_key: str, order: str) -> dict[str, str]:
        return bank.charge(idempotency_key, order)

    @idempotent(key=path("order"), ledger=ledger)
    def place(event: dict[str, str]) -> dict[str, str]:
        clock.advance(1_000)
        ledger.begin("a")
        return charge(event["order"])

    with pytest.raises(LeaseLost):
        place({"order": "a"})

    assert bank.requests == []


def test_same_effect_on_several_things_is_named_for_each(ledger: Ledger, clock: HandClock) -> None:
    sent: list[str] = []

    @effect("mail", key_memory=None, clock=clock)
    def mail(idempotency_key: str, to: str) -> str:
        sent.append(idempotency_key)
        return to

    @idempotent(key=path("order"), ledger=ledger)
    def notify(event: dict[str, str]) -> list[str]:
        return [mail.part(to)(to) for to in ("ann", "bob")]

    assert notify({"order": "a"}) == ["ann", "bob"]
    assert sent == ["a/mail:ann", "a/mail:bob"]


def test_second_call_of_one_effect_is_refused_before_it_would_return_the_first_result(
    ledger: Ledger, clock: HandClock
) -> None:
    @effect("mail", key_memory=None, clock=clock)
    def mail(idempotency_key: str, to: str) -> str:
        return to

    @idempotent(key=path("order"), ledger=ledger)
    def notify(event: dict[str, str]) -> list[str]:
        return [mail("ann"), mail("bob")]

    with pytest.raises(EffectRepeated, match=r"mail\.part"):
        notify({"order": "a"})


@pytest.mark.parametrize("is_async", [False, True])
def test_effect_that_is_retried_is_one_effect_under_one_key(
    ledger: Ledger, bank: Bank, clock: HandClock, is_async: bool
) -> None:
    @retry(sleep=clock.sleep, sleep_async=clock.sleep_async)
    @effect("charge", key_memory=timedelta(hours=24), clock=clock)
    def charge(idempotency_key: str, order: str) -> dict[str, str]:
        return bank.charge(idempotency_key, order)

    @retry(sleep=clock.sleep, sleep_async=clock.sleep_async)
    @effect("charge", key_memory=timedelta(hours=24), clock=clock)
    async def charge_async(idempotency_key: str, order: str) -> dict[str, str]:
        return bank.charge(idempotency_key, order)

    @idempotent(key=path("order"), ledger=ledger)
    async def place(event: dict[str, str]) -> dict[str, str]:
        return await charge_async(event["order"]) if is_async else charge(event["order"])

    bank.answers_lost = 2

    assert asyncio.run(place({"order": "a"})) == {"charged": "a"}
    assert (bank.requests, bank.charges) == (["a/charge"] * 3, ["a"])
    assert len(clock.slept) == 2


def test_retried_effect_without_keys_or_lookup_is_not_repeated_and_shows_what_failed(
    ledger: Ledger, bank: Bank, clock: HandClock
) -> None:
    @retry(sleep=clock.sleep)
    @effect("charge", key_memory=timedelta(0), clock=clock)
    def charge(idempotency_key: str, order: str) -> dict[str, str]:
        return bank.charge(idempotency_key, order)

    place = idempotent(key=path("order"), ledger=ledger)(lambda event: charge(event["order"]))
    bank.answers_lost = 1

    with pytest.raises(EffectUncertain) as raised:
        place({"order": "a"})

    assert isinstance(raised.value.__context__, ConnectionResetError)
    assert bank.requests == ["a/charge"]


def test_one_effect_called_twice_at_once_is_refused(ledger: Ledger, clock: HandClock) -> None:
    sent: list[str] = []

    @effect("mail", key_memory=None, clock=clock)
    async def mail(idempotency_key: str, to: str) -> None:
        await asyncio.sleep(0)
        sent.append(to)

    @idempotent(key=path("order"), ledger=ledger)
    async def notify(event: dict[str, str]) -> None:
        first = asyncio.create_task(mail("ann"))
        await asyncio.sleep(0)
        try:
            await mail("bob")
        finally:
            await first

    with pytest.raises(EffectRepeated):
        asyncio.run(notify({"order": "a"}))

    assert sent == ["ann"]


@pytest.mark.parametrize("is_found", [False, True])
def test_effect_that_returns_a_coroutine_has_not_happened(ledger: Ledger, clock: HandClock, is_found: bool) -> None:
    async def call(*_: object) -> str:
        raise AssertionError("nobody awaits it")

    @effect("mail", key_memory=timedelta(0), lookup=call, clock=clock)
    def mail(idempotency_key: str) -> object:
        return call()

    notify = idempotent(key=path("order"), ledger=ledger)(lambda _: mail())

    with pytest.raises(TypeError, match="has not been run"):
        notify({"order": "a"})
    if is_found:  # The second run asks the lookup first.
        with pytest.raises(TypeError, match=r"call returned a coroutine"):
            notify({"order": "a"})

    record = ledger.read("a")
    assert record is not None
    assert [one.done_at for one in record.effects] == [None]


def test_effects_that_would_overfill_the_record_are_refused_before_they_happen(
    ledger: Ledger, clock: HandClock
) -> None:
    """What is recorded too late is done again in each run. Here each run gets as far as the first, and does nothing."""
    done: list[str] = []

    @effect("mail", key_memory=None, clock=clock)
    def mail(idempotency_key: str, to: str) -> str:
        done.append(to)
        return "ü" * 7_500

    @idempotent(key=path("order"), ledger=ledger)
    def notify(event: dict[str, str]) -> str:
        for number in range(30):
            mail.part(str(number))(str(number))
        return "x" * 190_000

    for _ in range(3):
        with pytest.raises(RecordFull, match="mail:13"):
            notify({"order": "a"})

    assert done == [str(number) for number in range(13)]


@pytest.mark.parametrize("finishes_itself", [False, True])
def test_effects_and_result_together_fit_into_the_record(
    ledger: Ledger, clock: HandClock, finishes_itself: bool
) -> None:
    results = ["x" * 190_000, "x" * 100_000]

    @effect("mail", key_memory=None, clock=clock)
    def mail(idempotency_key: str) -> str:
        return "y" * 15_000

    @idempotent(key=path("order"), ledger=ledger)
    def notify(event: dict[str, str]) -> str:
        for number in range(12):
            mail.part(str(number))()
        result = results.pop(0)
        if finishes_itself:
            current_execution().finish(result)
        return result

    with pytest.raises(ResultNotStorable, match="a record keeps 1"):
        notify({"order": "a"})
    notify({"order": "a"})

    record = ledger.read("a")
    assert record is not None
    assert [attempt.outcome for attempt in record.attempts] == ["FAILED", "SUCCESS"]


def test_method_is_refused_as_an_effect_at_once() -> None:
    with pytest.raises(TypeError, match=r"Mailer\.mail is a method"):

        class Mailer:
            @effect("mail", key_memory=None)  # type: ignore[arg-type]
            def mail(self, idempotency_key: str) -> None: ...


def test_key_that_does_not_fit_a_header_is_hashed(ledger: Ledger, clock: HandClock) -> None:
    keys: list[str] = []

    @effect("mail", key_memory=None, clock=clock)
    def mail(idempotency_key: str) -> None:
        keys.append(idempotency_key)

    @idempotent(key=path("order"), ledger=ledger)
    def notify(event: dict[str, str]) -> None:
        mail()

    notify({"order": "ü"})
    notify({"order": "x" * 300})

    assert [(len(key), key.isascii()) for key in keys] == [(64, True), (64, True)]


def test_effects_result_is_bounded(ledger: Ledger, clock: HandClock) -> None:
    @effect("mail", key_memory=None, clock=clock)
    def mail(idempotency_key: str) -> str:
        return "x" * 20_000

    @idempotent(key=path("order"), ledger=ledger)
    def notify(event: dict[str, str]) -> None:
        mail()

    with pytest.raises(ResultNotStorable, match="16,000"):
        notify({"order": "a"})


def test_effect_outside_of_an_execution_is_refused(clock: HandClock) -> None:
    @effect("mail", key_memory=None, clock=clock)
    def mail(idempotency_key: str) -> None: ...

    with pytest.raises(OutsideExecution, match="idempotent"):
        mail()
