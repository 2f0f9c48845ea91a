"""Several stores over one database: each has caches of its own, and none answers what others have changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.errors import Conflict
from redrive.core.scope import Scope
from redrive.store.api import Transaction
from redrive.store.files.opening import SharedMemory
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.metrics import Series, Watched
from tests.unit.store.conftest import NoServices, open_store

SCOPE = Scope("000000000000", "us-east-1")


@dataclass(frozen=True, slots=True)
class Thing:
    KIND: ClassVar[str] = "test.thing"
    name: str
    size: int


def open_shared(memory: SharedMemory) -> SqliteStore:
    store = SqliteStore(memory, clock=VirtualClock(1_000), entropy=SeededEntropy(1))
    store.bind(NoServices())
    return store


@pytest.fixture
def stores() -> Iterator[tuple[SqliteStore, SqliteStore]]:
    with closing(SharedMemory()) as memory, closing(open_shared(memory)) as one, closing(open_shared(memory)) as other:
        yield one, other


def put(store: SqliteStore, size: int) -> None:
    store.run(lambda tx: tx.resources.put(SCOPE, Thing("one", size)))


def size(store: SqliteStore) -> int | None:
    found = store.run(lambda tx: tx.resources.get(Thing, SCOPE, "one"))
    return None if found is None else found.size


def test_store_sees_what_another_has_committed_since_it_read(stores: tuple[SqliteStore, SqliteStore]) -> None:
    one, other = stores
    put(one, 1)
    assert size(other) == 1

    put(one, 2)

    assert size(other) == 2


def test_store_sees_the_timers_that_another_has_set(stores: tuple[SqliteStore, SqliteStore]) -> None:
    """The earliest instant is remembered, and its version tells engines to ask again."""
    one, other = stores
    before = other.run(lambda tx: (tx.timers.next("kind"), tx.timers.version))

    one.run(lambda tx: tx.timers.set("kind", "name", 5))
    after = other.run(lambda tx: (tx.timers.next("kind"), tx.timers.version))

    assert (before[0], after[0]) == (None, 5)
    assert before[1] != after[1]


def test_store_hastens_a_timer_that_another_has_set_later(stores: tuple[SqliteStore, SqliteStore]) -> None:
    """That a timer need not be hastened is remembered, and is not so any more when another store has moved it."""
    one, other = stores
    other.run(lambda tx: tx.timers.hasten("kind", "name", 5))
    one.run(lambda tx: tx.timers.set("kind", "name", 100))

    was_moved = other.run(lambda tx: tx.timers.hasten("kind", "name", 5))

    assert was_moved
    assert one.run(lambda tx: tx.timers.next("kind")) == 5


def test_store_hastens_a_timer_that_another_has_woken_from_its_rest(stores: tuple[SqliteStore, SqliteStore]) -> None:
    one, other = stores
    other.run(lambda tx: tx.timers.rest("kind", "name"))
    one.run(lambda tx: tx.timers.set("kind", "name", 100))

    assert other.run(lambda tx: tx.timers.hasten("kind", "name", 5))


def test_stores_over_one_database_have_one_secret(stores: tuple[SqliteStore, SqliteStore]) -> None:
    """What one of them issues, each of them has to verify."""
    one, other = stores

    assert one.secret == other.secret


def test_listener_hears_of_commits_of_others_and_not_of_its_own_store(stores: tuple[SqliteStore, SqliteStore]) -> None:
    one, other = stores
    size(other)
    heard: list[str] = []
    other.on_others_commit(lambda: heard.append("others"))

    put(other, 1)
    before = list(heard)
    put(one, 2)
    size(other)
    size(other)

    assert (before, heard) == ([], ["others"])


def test_store_keeps_its_caches_while_nobody_else_commits(stores: tuple[SqliteStore, SqliteStore]) -> None:
    """Its own commits are no reason to read anew what it has written."""
    one, _ = stores
    put(one, 1)
    assert size(one) == 1
    statements: list[str] = []
    one.connection.set_trace_callback(statements.append)

    one.run(lambda tx: tx.timers.set("kind", "name", 5))
    size(one)

    assert not [statement for statement in statements if "resources" in statement]


def test_transaction_beside_an_open_one_conflicts(stores: tuple[SqliteStore, SqliteStore]) -> None:
    one, other = stores
    batch = one.begin([lambda tx: tx.timers.set("kind", "name", 5)])

    with pytest.raises(Conflict):
        other.run(lambda tx: tx.timers.get("kind", "name"))

    batch.commit()
    batch.conclude()
    assert other.run(lambda tx: tx.timers.get("kind", "name")) == 5


def test_store_alone_does_not_ask_whether_others_have_committed() -> None:
    """A single node pays nothing for what only several need."""
    statements: list[str] = []
    with closing(open_store(None)) as store:
        store.connection.set_trace_callback(statements.append)

        store.run(lambda tx: tx.timers.set("kind", "name", 5))

    assert [statement.split(" ")[0] for statement in statements] == ["BEGIN", "INSERT", "COMMIT"]


def test_what_a_step_counts_beside_a_flush_is_in_no_table_and_not_forgotten() -> None:
    """A batch may hold a step of the minute that another step of it has just written down."""
    clock = VirtualClock(59_999)
    series = Series(Watched("000000000000/us-east-1", "Test", "{}"), "Count", "Count")

    def count_then_wait(tx: Transaction) -> None:
        tx.metrics.count(series, tx.now)
        clock.move_to(60_000)

    def flush(tx: Transaction) -> None:
        tx.metrics.flush(tx.now, keep=frozenset())

    with closing(open_store(None, clock)) as store:
        store.run(lambda tx: tx.metrics.count(series, tx.now))
        store.commit([count_then_wait, flush])
        clock.move_to(120_000)
        store.run(flush)
        points = store.run(lambda tx: tx.metrics.between(series, 0, 60_000))

    assert [point.sum for point in points] == [2.0]
