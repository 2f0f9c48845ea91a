"""The log is read from outside as SQLite reads it, and tells a torn end from a damaged middle."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.store.files.wal import FRAME_HEADER_BYTES, HEADER_BYTES, read_wal, read_wal_index

PAGE = 512
FRAME = FRAME_HEADER_BYTES + PAGE
COMMITS = 12


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A database whose process was killed: its file, its log and the log's index, as they lie on the disk."""
    place = tmp_path_factory.mktemp("killed")
    live = place / "live.sqlite"
    with closing(sqlite3.connect(live, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (n INTEGER, text TEXT)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        for number in range(COMMITS):
            connection.execute("INSERT INTO t VALUES (?, ?)", (number, "x" * 700))
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(f"{live}{suffix}", place / f"killed.sqlite{suffix}")
        yield place / "killed.sqlite"


def replayed(database: Path, log: bytes, place: Path) -> int:
    """How many frames SQLite itself finds in a log. A log that is not there has none."""
    copy = place / "copy.sqlite"
    for suffix in ("", "-wal", "-shm"):
        Path(f"{copy}{suffix}").unlink(missing_ok=True)
    shutil.copy(database, copy)
    Path(f"{copy}-wal").write_bytes(log)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (_, frames, _) = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return max(0, int(frames))


@given(data=st.data())
def test_log_is_read_as_far_as_sqlite_replays_it(
    killed: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever was cut off, and whichever byte was changed."""
    place = tmp_path_factory.getbasetemp()
    log = bytearray(Path(f"{killed}-wal").read_bytes())
    cut = data.draw(st.integers(0, len(log)))
    del log[cut:]
    if log and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(log) - 1))
        log[at] ^= data.draw(st.integers(1, 255))
    path = place / "log"
    path.write_bytes(log)

    read = read_wal(path)

    assert read is not None
    assert read.committed == replayed(killed, bytes(log), place)


def test_index_of_a_killed_process_says_how_much_was_committed(killed: Path) -> None:
    read, index = read_wal(Path(f"{killed}-wal")), read_wal_index(Path(f"{killed}-shm"))

    assert read is not None
    assert index is not None
    assert (index.salts, index.committed) == (read.salts, read.committed)
    assert read.committed >= COMMITS


def test_damage_in_the_middle_leaves_transactions_behind_it(killed: Path, tmp_path: Path) -> None:
    log = bytearray(Path(f"{killed}-wal").read_bytes())
    log[HEADER_BYTES + 2 * FRAME + 100] ^= 1
    (tmp_path / "log").write_bytes(log)

    read = read_wal(tmp_path / "log")

    assert read is not None
    assert read.committed <= 2
    assert read.commits_behind >= COMMITS - 3


def test_damage_in_the_last_transaction_leaves_no_more_than_its_own_end_behind(killed: Path, tmp_path: Path) -> None:
    log = bytearray(Path(f"{killed}-wal").read_bytes())
    log[-PAGE] ^= 1
    (tmp_path / "log").write_bytes(log)

    read = read_wal(tmp_path / "log")

    assert read is not None
    assert read.commits_behind <= 1


def test_log_without_its_header_has_all_transactions_behind_the_damage(killed: Path, tmp_path: Path) -> None:
    log = bytearray(Path(f"{killed}-wal").read_bytes())
    log[:HEADER_BYTES] = bytes(HEADER_BYTES)
    (tmp_path / "log").write_bytes(log)

    read = read_wal(tmp_path / "log")

    assert read is not None
    assert read.committed == 0
    assert read.commits_behind >= COMMITS


def test_index_that_was_not_written_to_its_end_says_nothing(killed: Path, tmp_path: Path) -> None:
    index = bytearray(Path(f"{killed}-shm").read_bytes())
    index[16] ^= 1
    index[48 + 16] ^= 1
    (tmp_path / "index").write_bytes(index)

    assert read_wal_index(tmp_path / "index") is None
    assert read_wal_index(tmp_path / "none") is None
    assert read_wal(tmp_path / "none") is None
