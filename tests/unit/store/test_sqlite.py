"""The embedded store keeps what it has committed and nothing else."""

from __future__ import annotations

import gc
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.errors import ServiceError, UserError
from redrive.core.scope import Scope
from redrive.store.api import Transaction
from redrive.store.connection import StoreFull
from redrive.store.sqlite import SqliteStore
from tests.unit.store.conftest import open_store

HERE = Scope("000000000000", "us-east-1")


@dataclass(frozen=True, slots=True)
class Thing:
    KIND: ClassVar[str] = "test.thing"
    name: str
    size: int = 0


def put(tx: Transaction, thing: Thing) -> None:
    tx.resources.put(HERE, thing)


def set_then_fail(tx: Transaction) -> None:
    tx.timers.set("kind", "failed", 5)
    raise LookupError("as the test wants")


def test_step_that_raises_leaves_no_trace(store: SqliteStore) -> None:
    with pytest.raises(LookupError):
        store.run(set_then_fail)

    assert store.run(lambda tx: tx.timers.get("kind", "failed")) is None


def test_failing_step_undoes_only_itself_in_a_shared_commit(store: SqliteStore) -> None:
    results, _ = store.commit(
        [lambda tx: tx.timers.set("kind", "first", 1), set_then_fail, lambda tx: tx.timers.set("kind", "last", 3)]
    )

    assert isinstance(results[1], LookupError)
    assert store.run(lambda tx: tx.timers.due("kind", 10, 10)) == [("first", 1), ("last", 3)]


def test_refused_step_leaves_no_garbage_to_collect(store: SqliteStore) -> None:
    """A traceback and the frames that it holds would be a cycle: fifty objects and more for each refused request."""

    def refuse(tx: Transaction) -> None:
        raise ServiceError("ConditionalCheckFailedException", "The conditional request failed")

    store.commit([refuse] * 3)
    gc.collect()
    gc.disable()
    try:
        store.commit([refuse] * 3)

        assert gc.collect() == 0
    finally:
        gc.enable()


def test_failing_step_that_wrote_nothing_has_no_neighbour_run_again(store: SqliteStore) -> None:
    runs: list[str] = []

    def fail(tx: Transaction) -> None:
        raise LookupError("as the test wants")

    def run(tx: Transaction) -> None:
        tx.timers.set("kind", str(len(runs)), 1)
        runs.append("run")

    results, _ = store.commit([run, fail, run])

    assert isinstance(results[1], LookupError)
    assert runs == ["run", "run"]


def test_steps_of_a_batch_that_run_again_notify_once(store: SqliteStore) -> None:
    def notify(tx: Transaction) -> None:
        tx.timers.set("kind", "first", 1)
        tx.notify("first")

    def notify_then_fail(tx: Transaction) -> None:
        tx.notify("never")
        set_then_fail(tx)

    _, topics = store.commit([notify, notify_then_fail, notify_then_fail])

    assert topics == {"first"}


def test_batch_that_cannot_be_committed_fails_each_of_its_steps(tmp_path: Path) -> None:
    store = open_store(tmp_path / "redrive.sqlite")
    batch = store.begin([partial(put, thing=Thing("a")), partial(put, thing=Thing("b"))])
    batch.fail(StoreFull("as the test wants"))
    batch.commit()

    results, topics = batch.conclude()

    assert [type(result) for result in results] == [StoreFull, StoreFull]
    assert topics == frozenset()
    assert store.run(lambda tx: tx.resources.list(Thing, HERE)) == []
    store.close()


def test_cache_forgets_what_was_rolled_back(store: SqliteStore) -> None:
    def put_then_fail(tx: Transaction) -> None:
        tx.resources.put(HERE, Thing("thing", 2))
        raise LookupError("as the test wants")

    store.run(lambda tx: tx.resources.put(HERE, Thing("thing", 1)))

    with pytest.raises(LookupError):
        store.run(put_then_fail)

    assert store.run(lambda tx: tx.resources.get(Thing, HERE, "thing")) == Thing("thing", 1)


def test_savepoint_undoes_what_failed_inside_and_keeps_the_rest(store: SqliteStore) -> None:
    def step(tx: Transaction) -> None:
        tx.timers.set("kind", "outer", 1)
        with suppress(LookupError), tx.savepoint():
            set_then_fail(tx)

    store.run(step)

    assert store.run(lambda tx: tx.timers.due("kind", 10, 10)) == [("outer", 1)]


def test_savepoint_costs_nothing_until_something_that_was_written_fails_inside(store: SqliteStore) -> None:
    """Then the whole step runs again, with savepoints; what it did before is not there twice."""
    runs: list[str] = []

    def step(tx: Transaction) -> None:
        runs.append("begun")
        with tx.savepoint():
            put(tx, Thing("kept"))
        with suppress(LookupError), tx.savepoint():
            set_then_fail(tx)
        runs.append("done")

    store.run(step)

    assert runs == ["begun", "begun", "done"]
    assert store.run(lambda tx: [one.name for one in tx.resources.list(Thing, HERE)]) == ["kept"]


def test_all_resources_of_a_kind_are_those_that_were_written_last(store: SqliteStore) -> None:
    seen = []
    for size in (1, 2):
        store.run(partial(put, thing=Thing("thing", size)))
        seen.append(store.run(lambda tx: list(tx.resources.everywhere(Thing))))
    store.run(lambda tx: tx.resources.delete(Thing, HERE, "thing"))

    assert seen == [[(HERE, Thing("thing", 1))], [(HERE, Thing("thing", 2))]]
    assert list(store.run(lambda tx: tx.resources.everywhere(Thing))) == []


def test_committed_state_survives_reopening(tmp_path: Path) -> None:
    first = open_store(tmp_path / "redrive.sqlite")
    first.run(lambda tx: tx.resources.put(HERE, Thing("thing", 7)))
    first.close()

    again = open_store(tmp_path / "redrive.sqlite")

    assert again.run(lambda tx: tx.resources.get(Thing, HERE, "thing")) == Thing("thing", 7)
    again.close()


def test_topics_are_announced_after_the_commit_and_only_then(store: SqliteStore) -> None:
    heard: list[frozenset[str]] = []
    store.on_commit(heard.append)

    def notify_then_fail(tx: Transaction) -> None:
        tx.notify("never")
        raise LookupError("as the test wants")

    with pytest.raises(LookupError):
        store.run(notify_then_fail)
    store.run(lambda tx: tx.notify("queue:a"))

    assert heard == [frozenset({"queue:a"})]


def test_reset_forgets_everything_ever_stored(store: SqliteStore) -> None:
    store.run(lambda tx: tx.resources.put(HERE, Thing("thing")))

    store.reset()

    assert store.run(lambda tx: tx.resources.list(Thing, HERE)) == []
    assert store.run(lambda tx: tx.resources.get(Thing, HERE, "thing")) is None


def test_transaction_reads_the_time_once(tmp_path: Path) -> None:
    clock = VirtualClock(5_000)
    store = open_store(tmp_path / "redrive.sqlite", clock)

    def step(tx: Transaction) -> tuple[int, int]:
        before = tx.now
        clock.move_to(9_000)
        return before, tx.now

    assert store.run(step) == (5_000, 5_000)
    store.close()


def test_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "redrive.sqlite"
    path.write_bytes(b"minutes of the meeting\n" * 100)

    with pytest.raises(UserError, match="is not a redrive store"):
        open_store(path)

    assert path.read_bytes() == b"minutes of the meeting\n" * 100


def test_foreign_database_is_refused(tmp_path: Path) -> None:

    path = tmp_path / "redrive.sqlite"
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE invoices (id INTEGER)")
    foreign.close()

    with pytest.raises(UserError, match="not a redrive store"):
        open_store(path)


def test_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "redrive.sqlite"
    store = open_store(path)
    store.connection.execute("PRAGMA user_version = 9999")
    store.close()

    with pytest.raises(UserError, match="newer redrive"):
        open_store(path)


def test_full_disk_fails_the_step_and_keeps_what_was_accepted(tmp_path: Path) -> None:
    store = open_store(tmp_path / "redrive.sqlite")
    store.run(lambda tx: tx.blobs.put("before", b"accepted"))
    store.connection.execute("PRAGMA max_page_count = 60")

    with pytest.raises(StoreFull):
        store.run(lambda tx: tx.blobs.put("after", b"x" * 1_000_000))

    assert store.run(lambda tx: (tx.blobs.get("before"), tx.blobs.get("after"))) == (b"accepted", None)
    store.close()


def test_resources_are_listed_by_prefix_in_order_of_name(store: SqliteStore) -> None:
    for thing in (Thing("b/2"), Thing("a/1"), Thing("b/10"), Thing("c")):
        store.run(partial(put, thing=thing))

    listed = store.run(lambda tx: tx.resources.list(Thing, HERE, prefix="b/"))
    after = store.run(lambda tx: tx.resources.list(Thing, HERE, after="b/10", limit=1))

    assert [thing.name for thing in listed] == ["b/10", "b/2"]
    assert [thing.name for thing in after] == ["b/2"]


def test_reset_forgets_all_but_what_the_store_knows_of_itself(store) -> None:
    store.run(lambda tx: (tx.facts.set("secret", b"kept"), tx.blobs.put("digest", b"code")))

    store.reset()

    assert store.run(lambda tx: (tx.facts.get("secret"), tx.blobs.get("digest"))) == (b"kept", None)
