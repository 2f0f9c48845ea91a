"""The earliest instants are remembered, and always those that the database would answer."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.store.api import Transaction
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.deliveries import INSIDE, Delivery
from redrive.store.tables.items import NO_RANGE_KEY, StoredItem
from tests.unit.store.conftest import open_store

KINDS = ("a", "b")
WRITES = st.lists(
    st.tuples(
        st.sampled_from(["set", "set and undo", "clear"]), st.sampled_from(KINDS), st.sampled_from(["one", "two"]),
        st.integers(1, 5),
    ),
    max_size=12,
)  # fmt: skip


def change(tx: Transaction, verb: str, kind: str, name: str, at: int) -> None:
    if verb == "set":
        tx.timers.set(kind, name, at)
    elif verb == "clear":
        tx.timers.clear(kind, name)
    else:
        with suppress(LookupError), tx.savepoint():
            tx.timers.set(kind, name, at)
            tx.timers.next(kind)
            raise LookupError("as the test wants")


@given(WRITES)
def test_earliest_timer_is_that_of_the_database_after_any_writes(writes: list[tuple[str, str, str, int]]) -> None:
    store = open_store(None)

    def step(tx: Transaction) -> None:
        for write in writes:
            change(tx, *write)
            for kind in KINDS:
                assert tx.timers.next(kind) == min((at for _, at in tx.timers.due(kind, 10, 10)), default=None)

    store.run(step)
    store.close()


def test_what_a_failed_step_wrote_is_not_remembered(store: SqliteStore) -> None:
    store.run(lambda tx: tx.timers.set("kind", "stays", 7))

    def fail(tx: Transaction) -> None:
        tx.timers.set("kind", "goes", 3)
        tx.timers.next("kind")
        raise LookupError("as the test wants")

    with pytest.raises(LookupError):
        store.run(fail)

    assert store.run(lambda tx: tx.timers.next("kind")) == 7


def test_earliest_delivery_follows_what_is_written(store: SqliteStore) -> None:
    early, late = (
        Delivery(name, Scope("0", "r"), "test", "arn:a", "arn:b", {}, RetryPolicy(), INSIDE, due_at, due_at)
        for name, due_at in (("early", 5), ("late", 9))
    )

    def step(tx: Transaction) -> list[int | None]:
        tx.deliveries.put(late)
        seen = [tx.deliveries.next((INSIDE,))]
        tx.deliveries.put(early)
        seen.append(tx.deliveries.next((INSIDE,)))
        tx.deliveries.postpone(early, due_at=8)
        seen.append(tx.deliveries.next((INSIDE,)))
        tx.deliveries.delete(early.id, early.fence + 1)
        seen.append(tx.deliveries.next((INSIDE,)))
        tx.deliveries.delete(late.id, late.fence)
        return [*seen, tx.deliveries.next((INSIDE,))]

    assert store.run(step) == [9, 5, 8, 9, None]


def test_earliest_expiry_follows_what_is_written(store: SqliteStore) -> None:
    item = StoredItem(b"key", NO_RANGE_KEY, 2, b"{}")

    def step(tx: Transaction) -> list[int | None]:
        tx.items.put("table", item, expires_at=9)
        seen = [tx.items.next_expiry()]
        tx.items.put("table", item, expires_at=5)
        seen.append(tx.items.next_expiry())
        tx.items.expire(5, limit=1)
        seen.append(tx.items.next_expiry())
        tx.items.put("table", item, expires_at=4)
        seen.append(tx.items.next_expiry())
        tx.items.take("table", item.key)
        return [*seen, tx.items.next_expiry()]

    assert store.run(step) == [9, 5, None, 4, None]
