"""Deliveries: a promise is made once, held by one lease at a time, and settled by its latest holder."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from redrive.core.errors import Bug
from redrive.core.retry import Backoff, RetryPolicy
from redrive.core.scope import Scope
from redrive.store.api import Transaction
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.deliveries import INSIDE, OUTSIDE, Delivery

POLICY = RetryPolicy(retries_max=3, backoff=Backoff(steps_ms=(60_000, 120_000)))


def promise(id: str = "one", *, due_at: int = 1_000, place: str = OUTSIDE) -> Delivery:
    return Delivery(
        id, Scope("0", "r"), "test", "arn:source", "arn:target", {"n": 1}, POLICY, place, due_at, first_at=due_at
    )


def test_promise_made_twice_is_made_once(store: SqliteStore) -> None:
    made = [store.run(lambda tx: tx.deliveries.put(promise())) for _ in range(2)]

    assert made == [True, False]


def test_claimed_delivery_is_not_claimed_again_before_its_lease_ends(store: SqliteStore) -> None:
    store.run(lambda tx: tx.deliveries.put(promise()))

    first = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=500, limit=10))
    during = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_499, lease_ms=500, limit=10))
    after = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_500, lease_ms=500, limit=10))

    assert [(one.attempts, one.leases) for one in first] == [(1, 1)]
    assert during == []
    assert [(one.attempts, one.leases) for one in after] == [(2, 2)]


def test_delivery_that_is_settled_where_it_is_found_needs_no_lease(store: SqliteStore) -> None:
    def attempt(tx: Transaction) -> list[Delivery]:
        found = tx.deliveries.due(INSIDE, tx.now, limit=10)
        for one in found:
            tx.deliveries.release(one, place=INSIDE, due_at=tx.now, counted=True)
        return found

    store.run(lambda tx: tx.deliveries.put(promise(place=INSIDE)))

    ((first,), (second,)) = store.run(attempt), store.run(attempt)

    assert [(one.attempts, one.failures, one.leases) for one in (first, second)] == [(1, 0, 0), (2, 1, 0)]


def test_postponed_delivery_has_not_been_attempted(store: SqliteStore) -> None:
    store.run(lambda tx: tx.deliveries.put(promise(place=INSIDE)))
    (first,) = store.run(lambda tx: tx.deliveries.due(INSIDE, 1_000, limit=1))

    store.run(lambda tx: tx.deliveries.postpone(first, due_at=1_500))

    assert store.run(lambda tx: tx.deliveries.next((INSIDE,))) == 1_500
    assert store.run(lambda tx: [one.attempts for one in tx.deliveries.due(INSIDE, 1_500, limit=1)]) == [1]


def test_stale_fence_holds_nothing(store: SqliteStore) -> None:
    store.run(lambda tx: tx.deliveries.put(promise()))
    (first,) = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=500, limit=1))
    (second,) = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_500, lease_ms=500, limit=1))

    held = store.run(lambda tx: (tx.deliveries.held("one", first.fence), tx.deliveries.held("one", second.fence)))

    assert held == (None, second)


def test_document_and_policy_come_back_as_they_were(store: SqliteStore) -> None:
    store.run(lambda tx: tx.deliveries.put(promise()))

    (claimed,) = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=500, limit=1))

    assert (claimed.document, claimed.policy) == ({"n": 1}, POLICY)


def test_next_looks_only_at_the_places_asked_for(store: SqliteStore) -> None:
    store.run(lambda tx: tx.deliveries.put(promise("outside", due_at=5)))
    store.run(lambda tx: tx.deliveries.put(promise("inside", due_at=9, place=INSIDE)))

    assert store.run(lambda tx: tx.deliveries.next((INSIDE,))) == 9
    assert store.run(lambda tx: tx.deliveries.next((INSIDE, OUTSIDE))) == 5


def test_claims_never_exceed_the_limit(store: SqliteStore) -> None:
    store.run(lambda tx: [tx.deliveries.put(promise(str(number))) for number in range(5)])

    claimed = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=500, limit=2))

    assert [one.id for one in claimed] == ["0", "1"]


def test_node_that_is_alone_ends_the_leases_of_whoever_was_there_before(store: SqliteStore) -> None:
    """Attempts and batches under way are due at once; what waits for a retry goes on waiting."""
    for one in (promise("attempted"), promise("later", due_at=9_000), promise("batch", due_at=5_000, place="batch")):
        store.run(lambda tx, one=one: tx.deliveries.put(one))  # type: ignore[misc]
    store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=500_000, limit=1))

    store.run(lambda tx: tx.deliveries.end_leases(2_000))

    due = [store.run(lambda tx, at=at: tx.deliveries.next((at,))) for at in (OUTSIDE, "batch")]  # type: ignore[misc]
    (again,) = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 2_000, lease_ms=500, limit=10))
    assert (due, again.id, again.leases) == ([2_000, 2_000], "attempted", 2)


WRITES: dict[str, Callable[[Transaction, Delivery], None]] = {
    "delete": lambda tx, one: tx.deliveries.delete(one.id, one.fence),
    "release": lambda tx, one: tx.deliveries.release(one, place=OUTSIDE, due_at=5_000, counted=True),
    "move": lambda tx, one: tx.deliveries.move(one, place=INSIDE),
    "postpone": lambda tx, one: tx.deliveries.postpone(one, due_at=5_000),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_write_under_a_stale_fence_writes_nothing_and_is_a_bug(
    write: Callable[[Transaction, Delivery], None], store: SqliteStore
) -> None:
    """The statement itself asks for the fence: what was read before it is no proof in a database with two writers."""
    store.run(lambda tx: tx.deliveries.put(promise()))
    (stale,) = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=500, limit=1))
    (latest,) = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_500, lease_ms=500, limit=1))

    with pytest.raises(Bug):
        store.run(lambda tx: write(tx, stale))

    assert store.run(lambda tx: tx.deliveries.held(latest.id, latest.fence)) == latest


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_write_under_the_latest_fence_is_made(
    write: Callable[[Transaction, Delivery], None], store: SqliteStore
) -> None:
    store.run(lambda tx: tx.deliveries.put(promise()))
    (latest,) = store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=500, limit=1))

    store.run(lambda tx: write(tx, latest))

    assert store.run(lambda tx: tx.deliveries.held(latest.id, latest.fence)) != latest
