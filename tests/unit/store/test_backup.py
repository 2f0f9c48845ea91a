"""A backup is a whole store of one instant, or it is not there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.store.connection import StoreDamaged
from redrive.store.files.backup import check_copy, copy_store, partial_of, put_in_place, refuse_existing
from redrive.store.sqlite import SqliteStore
from tests.unit.store.conftest import open_store

ROWS = 30_000


def fill(store: SqliteStore, first: int, rows: int) -> None:
    connection = store.connection
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO timers (kind, name, at) VALUES ('kind', ?, 1)",
        ((f"{number:08}{'x' * 80}",) for number in range(first, first + rows)),
    )
    connection.execute("COMMIT")


def count(path: Path) -> int:
    store = open_store(path)
    (rows,) = store.connection.execute("SELECT count(*) FROM timers").fetchone()
    store.close()
    return int(rows)


def test_backup_of_a_store_in_use_is_of_one_instant_and_takes_pieces(tmp_path: Path) -> None:
    """What is written between two pieces is in none of them, and begins the copy no second time."""
    store = open_store(tmp_path / "redrive.sqlite")
    fill(store, 0, ROWS)
    pieces: list[tuple[int, int]] = []

    def write_meanwhile(copied: int, pages: int) -> None:
        pieces.append((copied, pages))
        fill(store, ROWS + len(pieces) * 100, 100)

    copy_store(tmp_path / "redrive.sqlite", tmp_path / "copy.sqlite", progress=write_meanwhile)
    check_copy(tmp_path / "copy.sqlite")

    assert len(pieces) > 1
    assert len(pieces) == -(-pieces[0][1] // 1_024)
    assert [copied for copied, _ in pieces] == sorted(copied for copied, _ in pieces)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("copy")) == ["copy.sqlite"]
    store.close()
    assert count(tmp_path / "copy.sqlite") == ROWS


def test_backup_is_its_owners_alone(tmp_path: Path) -> None:
    store = open_store(tmp_path / "redrive.sqlite")
    before = os.umask(0)
    try:
        copy_store(tmp_path / "redrive.sqlite", tmp_path / "copy.sqlite", progress=lambda *_: None)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "copy.sqlite").stat().st_mode) == 0o600
    store.close()


def test_damaged_copy_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path / "redrive.sqlite")
    fill(store, 0, 1_000)
    copy_store(tmp_path / "redrive.sqlite", tmp_path / "copy.sqlite", progress=lambda *_: None)
    store.close()
    content = bytearray((tmp_path / "copy.sqlite").read_bytes())
    content[40_960:45_056] = b"\xa5" * 4_096
    (tmp_path / "copy.sqlite").write_bytes(content)

    with pytest.raises(StoreDamaged):
        check_copy(tmp_path / "copy.sqlite")


def test_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite"
    partial_of(file).write_text("new")
    file.write_text("old")

    with pytest.raises(UserError, match="is there already"):
        refuse_existing(file)
    with pytest.raises(UserError, match="is there already"):
        put_in_place(partial_of(file), file)

    assert file.read_text() == "old"


def test_whole_backup_takes_its_name_and_leaves_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite"
    partial_of(file).write_text("new")

    put_in_place(partial_of(file), file)

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("backup.sqlite", "new")]


def test_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "redrive.sqlite").write_bytes(b"not a database at all" * 500)

    with pytest.raises(UserError, match="not a redrive store"):
        copy_store(tmp_path / "redrive.sqlite", tmp_path / "copy.sqlite", progress=lambda *_: None)

    assert [path.name for path in tmp_path.iterdir()] == ["redrive.sqlite"]
