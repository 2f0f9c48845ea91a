"""The history of attempts: runs whose texts are stored once, and a store of the version before, which had no runs."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple
from pathlib import Path

from redrive.core.clock import VirtualClock
from redrive.store.api import Transaction
from redrive.store.migrate import APPLICATION_ID, migrations
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.attempts import AttemptRecord
from tests.unit.store.conftest import open_store


def attempt(
    number: int, *, of: str = "one", by: str = "arn:a", at: int = 1_000, verdict: str = "retry"
) -> AttemptRecord:
    return AttemptRecord(of, by, number, at, "Busy", "try later", verdict, at + 1)


def written(store: SqliteStore, *records: AttemptRecord) -> list[AttemptRecord]:
    def step(tx: Transaction) -> None:
        for record in records:
            tx.attempts.record(record)

    store.run(step)
    return list(records)


def test_run_is_read_as_it_was_written_attempt_by_attempt(store: SqliteStore) -> None:
    records = written(store, *(attempt(number, at=number) for number in range(1, 5)))

    assert store.run(lambda tx: tx.attempts.of_delivery("one")) == records
    assert store.run(lambda tx: tx.attempts.of_source("arn:a")) == records


def test_retry_whose_first_attempt_was_never_settled_is_recorded_too(store: SqliteStore) -> None:
    """A node died in the first attempt; the second begins the run."""
    (record,) = written(store, attempt(2))

    assert store.run(lambda tx: tx.attempts.of_delivery("one")) == [record]


def test_pages_give_whole_runs_of_one_source_latest_first(store: SqliteStore) -> None:
    written(store, *(attempt(number, of=of) for of in "abc" for number in (1, 2)), attempt(1, of="d", by="arn:b"))

    page = store.run(lambda tx: tx.attempts.page_of_source("arn:a", before="c", limit=1))

    assert [(record.delivery_id, record.attempt) for record in page] == [("b", 1), ("b", 2)]


def test_sweep_forgets_a_run_with_its_last_attempt_and_not_before(store: SqliteStore) -> None:
    written(store, attempt(1, at=1), attempt(2, at=5), attempt(1, of="old", at=1))

    swept = store.run(lambda tx: tx.attempts.sweep(3, limit=10))

    assert swept == 2
    assert [record.attempt for record in store.run(lambda tx: tx.attempts.of_delivery("one"))] == [2]
    assert store.connection.execute("SELECT delivery_id FROM runs").fetchall() == [("one",)]


def test_store_of_the_version_before_keeps_its_history(tmp_path: Path) -> None:
    """An upgrade loses no record: two deliveries of one source, and one of another."""
    path = tmp_path / "redrive.sqlite"
    old = sqlite3.connect(path)
    for number, sql in migrations():
        if number < 8:
            old.executescript(f"{sql} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number};")
    records = [attempt(1, at=1), attempt(2, at=9), attempt(1, of="two", at=5), attempt(0, of="three", by="arn:b", at=3)]
    for record in records:
        old.execute(
            "INSERT INTO attempts (delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at, scope)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*astuple(record), "000000000000/us-east-1"),
        )
    old.commit()
    old.close()

    store = open_store(path, VirtualClock(10))

    assert store.run(lambda tx: tx.attempts.of_source("arn:a")) == records[:3]
    assert store.run(lambda tx: tx.attempts.unattempted("arn:b")) == records[3:]
    store.close()
