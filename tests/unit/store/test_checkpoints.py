"""The store's own file is nearly the whole store, also while the server runs; and its log does not stay large."""

from __future__ import annotations

import shutil
from pathlib import Path

from redrive.core.log import SilentLog
from redrive.store.files.checkpoints import SEEN_EVERY, Checkpoints
from redrive.store.files.opening import WAL_BYTES_KEPT_MAX
from redrive.store.sqlite import SqliteStore
from tests.unit.store.conftest import open_store

FILE = "redrive.sqlite"
ROW = "x" * 1_000


def set_timer(store: SqliteStore, name: str) -> None:
    store.run(lambda tx: tx.timers.set("kind", name, 1))


def in_the_file_alone(path: Path, place: Path) -> int:
    """How many timers a copy of the file has that was made while its log stood beside it."""
    shutil.copy(path, place)
    return place.read_bytes().count(b"kindname")


def test_turn_brings_what_was_written_into_the_file(tmp_path: Path) -> None:
    store = open_store(tmp_path / FILE)
    checkpoints = Checkpoints(store, tmp_path / FILE, SilentLog(), write_seen=lambda: None)
    set_timer(store, "name1")
    before = in_the_file_alone(tmp_path / FILE, tmp_path / "before")

    checkpoints.turn()

    assert before == 0
    assert in_the_file_alone(tmp_path / FILE, tmp_path / "after") > 0
    checkpoints.stop()
    store.close()


def test_time_is_written_down_once_in_some_turns_and_only_if_something_was_written(tmp_path: Path) -> None:
    store = open_store(tmp_path / FILE)
    written: list[int] = []

    def write_seen() -> None:
        written.append(1)
        store.run(lambda tx: tx.facts.set("seen_at", b"5"))

    checkpoints = Checkpoints(store, tmp_path / FILE, SilentLog(), write_seen=write_seen)
    set_timer(store, "name1")

    for _ in range(3 * SEEN_EVERY):
        checkpoints.turn()

    assert written == [1]
    checkpoints.stop()
    store.close()


def test_log_of_one_large_transaction_is_cut_when_it_is_begun_anew(tmp_path: Path) -> None:
    store = open_store(tmp_path / FILE)
    connection = store.connection
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO timers VALUES ('kind', ?, 1)", ((f"{n}{ROW}",) for n in range(30_000)))
    connection.execute("COMMIT")
    log = tmp_path / f"{FILE}-wal"
    grown = log.stat().st_size

    set_timer(store, "name1")

    assert grown > 2 * WAL_BYTES_KEPT_MAX
    assert log.stat().st_size <= WAL_BYTES_KEPT_MAX
    store.close()
