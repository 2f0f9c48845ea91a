"""Used tokens: found until they expire, forgotten after, and kept over an upgrade."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.scope import Scope
from redrive.store.api import Transaction
from redrive.store.migrate import APPLICATION_ID, migrations
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.tokens import UsedToken
from tests.unit.store.conftest import open_store

SCOPE = Scope("000000000000", "us-east-1")
USED = UsedToken("digest", {"ScheduleArn": "arn"})


def keep(store: SqliteStore, token: str, *, expires_at: int, kind: str = "scheduler.CreateSchedule") -> None:
    store.run(lambda tx: tx.tokens.keep(kind, SCOPE, token, USED, expires_at=expires_at))


def find(store: SqliteStore, token: str, *, at: int = 0, kind: str = "scheduler.CreateSchedule") -> UsedToken | None:
    return store.run(lambda tx: tx.tokens.find(kind, SCOPE, token, at))


def test_token_is_found_until_the_instant_at_which_it_expires(store: SqliteStore) -> None:
    keep(store, "a", expires_at=100)

    assert find(store, "a", at=99) == USED
    assert find(store, "a", at=100) is None
    assert find(store, "a", at=99, kind="scheduler.UpdateSchedule") is None


def test_sweep_forgets_what_has_expired_first_and_no_more_than_its_limit(store: SqliteStore) -> None:
    for token, expires_at in (("a", 100), ("b", 50), ("c", 200)):
        keep(store, token, expires_at=expires_at)

    assert store.run(lambda tx: tx.tokens.sweep(150, 1)) == 1
    assert store.run(lambda tx: tx.tokens.next()) == 100
    assert store.run(lambda tx: tx.tokens.sweep(150, 10)) == 1
    assert store.run(lambda tx: tx.tokens.next()) == 200


def test_next_expiry_follows_what_is_kept_and_what_is_undone(store: SqliteStore) -> None:
    def undone(tx: Transaction) -> None:
        tx.tokens.keep("k", SCOPE, "c", USED, expires_at=10)
        raise ZeroDivisionError

    assert store.run(lambda tx: tx.tokens.next()) is None
    keep(store, "a", expires_at=100)
    keep(store, "b", expires_at=50)
    with pytest.raises(ZeroDivisionError):
        store.run(undone)

    assert store.run(lambda tx: tx.tokens.next()) == 50


def test_tokens_of_the_version_before_are_kept(tmp_path: Path) -> None:
    """They were resources, and those of schedules expired with a timer."""
    path = tmp_path / "redrive.sqlite"
    old = sqlite3.connect(path)
    for number, sql in migrations():
        if number < 9:
            old.executescript(f"{sql} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number};")
    documents = [
        ("scheduler.token", "CreateSchedule/a/b", '{"name":"…","digest":"digest","answer":{"ScheduleArn":"arn"}}'),
        ("dynamodb.transaction-token", "t/1", '{"name":"t/1","digest":"other","expires_at":70}'),
    ]
    for kind, name, document in documents:
        old.execute(
            "INSERT INTO resources (kind, scope, name, document, version) VALUES (?, ?, ?, ?, 1)",
            (kind, str(SCOPE), name, document),
        )
    timers = (("scheduler.token", "CreateSchedule/a/b", 90), ("dynamodb.transaction-tokens", "t/1", 70))
    for kind, name, at in timers:
        old.execute("INSERT INTO timers (kind, name, at) VALUES (?, ?, ?)", (kind, f"{SCOPE}/{name}", at))
    old.commit()
    old.close()

    store = open_store(path, VirtualClock(10))

    assert find(store, "a/b", at=89) == USED
    assert find(store, "a/b", at=90) is None
    assert find(store, "t/1", at=69, kind="dynamodb.TransactWriteItems") == UsedToken("other", {})
    assert store.connection.execute("SELECT count(*) FROM timers").fetchone() == (0,)
    store.close()
