"""What becomes of steps whose connection is lost, and of steps beside one that fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.store.api import Step, Transaction
from redrive.store.postgres.failures import ConnectionLost, InDoubt
from redrive.store.postgres.lane import Lane
from redrive.store.postgres.store import PostgresStore, run_on
from redrive.store.postgres.url import StoreUrl
from tests.unit.store.conftest import NoServices

GATE = 4_711
"""An advisory lock at which the commits of new timers wait."""


@pytest.fixture
def store(url: StoreUrl) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url, clock=VirtualClock(0), entropy=SeededEntropy(1))) as opened:
        opened.bind(NoServices())
        yield opened


@pytest.fixture
def lane(store: PostgresStore) -> Iterator[Lane]:
    made = store.lane()
    yield made
    made.pipeline.close()


def set_timer(name: str) -> Step[object]:
    def step(tx: Transaction) -> str:
        tx.timers.set("kind", name, 1)
        return name

    return step


def timers(store: PostgresStore) -> list[str]:
    return store.run(lambda tx: sorted(name for name, _ in tx.timers.due("kind", 1, 100)))


def test_steps_beside_one_that_fails_are_stored(store: PostgresStore, lane: Lane) -> None:
    def fail(tx: Transaction) -> None:
        tx.timers.set("kind", "undone", 1)
        raise ValueError("a defect")

    results, _ = run_on(lane, [set_timer("first"), fail, set_timer("last")])

    assert results[0] == "first"
    assert isinstance(results[1], ValueError)
    assert results[2] == "last"
    assert timers(store) == ["first", "last"]


def test_connection_lost_before_the_commit_stores_nothing_and_says_so(
    store: PostgresStore, lane: Lane, admin: psycopg.Connection
) -> None:
    def end_its_connection(tx: Transaction) -> None:
        tx.timers.set("kind", "undone", 1)
        admin.execute("SELECT pg_terminate_backend(%s)", (lane.pipeline.pgconn.backend_pid,))
        tx.timers.get("kind", "undone")

    results, _ = run_on(lane, [end_its_connection])

    assert isinstance(results[0], ConnectionLost)
    assert lane.is_lost
    assert timers(store) == []


def test_connection_lost_in_the_middle_of_a_commit_is_in_doubt(
    store: PostgresStore, lane: Lane, admin: psycopg.Connection
) -> None:
    let_commits_wait(admin)
    admin.execute("SELECT pg_advisory_lock(%s)", (GATE,))
    answered: list[object] = []
    running = threading.Thread(target=lambda: answered.extend(run_on(lane, [set_timer("doubtful")])[0]))
    running.start()

    end_who_waits(admin)
    running.join()
    admin.execute("SELECT pg_advisory_unlock(%s)", (GATE,))

    assert isinstance(answered[0], InDoubt)
    assert timers(store) == []


def let_commits_wait(admin: psycopg.Connection) -> None:
    """A commit that has set a timer waits at the gate: a deferred trigger runs when a transaction commits."""
    admin.execute(
        f"CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN PERFORM pg_advisory_xact_lock({GATE}); RETURN NULL; END $$".encode()
    )
    admin.execute(
        "CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON timers DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION wait_at_gate()"
    )


def end_who_waits(admin: psycopg.Connection) -> None:
    """End the connection that waits at the gate, once it does."""
    waiting = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"
    )
    for _ in range(100_000):
        if admin.execute(waiting, (GATE,)).fetchall():
            return
    raise AssertionError("no commit has waited")
