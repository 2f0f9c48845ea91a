"""Faults: which calls they strike, how often, and what a slow call does to a delivery."""

from __future__ import annotations

from collections import Counter

import pytest

from redrive.core.clock import SECOND_MS, VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.faults import (
    Fault,
    Held,
    SlowCall,
    add_fault,
    all_faults,
    clear_faults,
    count_of_strikes,
    hinder,
    release,
    strike,
)
from redrive.engine.registry import Registry
from redrive.engine.services import BoundServices
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.deliveries import INSIDE, Delivery
from redrive.wire.model.files import Models

START = 1_735_689_600_000
ORDERS = "arn:aws:sqs:us-east-1:000000000000:orders"


def opened(seed: int = 1) -> SqliteStore:
    store = SqliteStore(None, clock=VirtualClock(START), entropy=SeededEntropy(seed))
    store.bind(BoundServices(Registry(Models(), {})))
    return store


@pytest.fixture
def store() -> SqliteStore:
    return opened()


def add(store: SqliteStore, **choices: object) -> Fault:
    described = {"target": ORDERS, "code": "ThrottlingException", "rate": 1.0, **choices}
    return store.run(lambda tx: add_fault(tx, Fault("", **described)))  # type: ignore[arg-type]


def struck_codes(store: SqliteStore, arn: str = ORDERS, *, calls: int = 1) -> list[str | None]:
    faults = [store.run(lambda tx: strike(tx, arn)) for _ in range(calls)]
    return [fault.code if fault else None for fault in faults]


def delivery(leases: int = 0) -> Delivery:
    return Delivery(
        "one", Scope("0", "r"), "test", "arn:source", ORDERS, {}, RetryPolicy(), INSIDE, due_at=START, first_at=START,
        leases=leases,
    )  # fmt: skip


def count(store: SqliteStore) -> int:
    return store.run(lambda tx: count_of_strikes(tx, all_faults(tx).faults[0]))


def holds_nothing_up(store: SqliteStore) -> bool:
    return not store.run(lambda tx: tx.resources.everywhere(SlowCall))


@pytest.mark.parametrize("target", [ORDERS, "*", "arn:aws:sqs:*:orders", "arn:aws:sqs:us-????-1:*:orders"])
def test_fault_strikes_what_its_target_names_or_its_wildcards_cover(target: str, store: SqliteStore) -> None:
    add(store, target=target)

    assert struck_codes(store) == ["ThrottlingException"]


@pytest.mark.parametrize("target", [f"{ORDERS}-dead", "arn:aws:lambda:*", "orders", "arn:aws:sqs:*:order"])
def test_fault_passes_by_what_is_not_its_target(target: str, store: SqliteStore) -> None:
    add(store, target=target)

    assert struck_codes(store) == [None]


def test_fault_strikes_no_more_often_than_its_times(store: SqliteStore) -> None:
    add(store, rate=None, times=2)

    assert struck_codes(store, calls=3) == ["ThrottlingException", "ThrottlingException", None]
    assert count(store) == 2


def test_oldest_fault_that_is_not_spent_strikes(store: SqliteStore) -> None:
    add(store, rate=None, times=1, code="First")
    add(store, rate=None, times=1, code="Second")

    assert struck_codes(store, calls=3) == ["First", "Second", None]


def test_rate_is_the_share_of_calls_that_fail_and_the_same_for_the_same_seed() -> None:
    def codes(seed: int) -> list[str | None]:
        store = opened(seed)
        add(store, rate=0.25)
        return struck_codes(store, calls=400)

    assert codes(7) == codes(7) != codes(8)
    assert 60 < Counter(codes(7))["ThrottlingException"] < 140


def test_cleared_fault_strikes_no_more_and_leaves_the_others(store: SqliteStore) -> None:
    first, second = add(store, code="First"), add(store, code="Second")

    assert store.run(lambda tx: clear_faults(tx, first.id)) == 1
    assert store.run(lambda tx: clear_faults(tx, first.id)) == 0
    assert struck_codes(store) == ["Second"]
    assert store.run(clear_faults) == 1
    assert struck_codes(store) == [None]
    assert first.id != second.id


def test_slow_call_holds_a_delivery_up_once_and_then_fails_it(store: SqliteStore) -> None:
    add(store, latency_ms=5 * SECOND_MS)

    first = store.run(lambda tx: hinder(tx, delivery()))
    second = store.run(lambda tx: hinder(tx, delivery(leases=1)))

    assert first == Held(START + 5 * SECOND_MS)
    assert isinstance(second, Fault)
    assert count(store) == 1


@pytest.mark.parametrize("is_cleared", [False, True])
def test_call_that_is_only_slow_or_whose_fault_is_cleared_meanwhile_succeeds(
    is_cleared: bool, store: SqliteStore
) -> None:
    add(store, code="Throttling" if is_cleared else "", latency_ms=1, rate=None, times=1)

    assert isinstance(store.run(lambda tx: hinder(tx, delivery())), Held)
    if is_cleared:
        store.run(clear_faults)

    assert store.run(lambda tx: hinder(tx, delivery(leases=1))) is None
    assert holds_nothing_up(store)


def test_delivery_that_is_given_up_is_held_no_longer(store: SqliteStore) -> None:
    add(store, latency_ms=1)
    store.run(lambda tx: hinder(tx, delivery()))

    store.run(lambda tx: release(tx, delivery(leases=1)))

    assert holds_nothing_up(store)


def test_faults_are_in_the_store_not_in_a_node(store: SqliteStore) -> None:
    """Another transaction sees what a rolled-back one does not keep."""
    add(store, rate=None, times=1)

    with pytest.raises(ZeroDivisionError):
        store.run(lambda tx: (strike(tx, ORDERS), 1 // 0))

    assert struck_codes(store, calls=2) == ["ThrottlingException", None]
