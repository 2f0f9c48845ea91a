"""Checks before a store is opened: its log is the right one, and can be replayed to its end.

SQLite itself reports none of this: it stops the replay at the first invalid frame, creates an empty store if the file
is missing, and an empty log if the log is missing.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from redrive.store.connection import SqliteDatabase, StoreDamaged
from redrive.store.files.life import NOT_LIVED, UNKNOWN_BOOT, Life, read_life
from redrive.store.files.wal import Wal, WalIndex, read_wal, read_wal_index

COMMITS_TORN_MAX = 1
"""A machine that stops leaves at most one half-written transaction, because each is synced before the next begins.

This does not hold for a store that defers the sync: several transactions may be in flight, in any order, and its index
may count more than the disk has.
"""


@dataclass(frozen=True, slots=True)
class Examined:
    """The result. `finding` says what is wrong; empty if nothing is. `life` is that of the file without its log."""

    is_new: bool
    finding: str
    wal: Wal | None
    life: Life


def beside(path: Path, suffix: str) -> Path:
    """The path of a file that SQLite keeps beside a store: `-wal`, `-shm`."""
    return path.with_name(path.name + suffix)


def examine(path: Path, boot: str) -> Examined:
    """Examine a store that no process has open. Changes nothing."""
    wal = read_wal(beside(path, "-wal"))
    if not path.exists() or not path.stat().st_size:
        is_orphan = wal is not None and bool(wal.committed or wal.commits_behind)
        finding = "its log is there, and the store itself is missing or empty" if is_orphan else ""
        return Examined(True, finding, wal, NOT_LIVED)
    life = _life_of_the_file(path)
    index = read_wal_index(beside(path, "-shm"))
    return Examined(False, _finding(wal, index, life, boot), wal, life)


def _finding(wal: Wal | None, index: WalIndex | None, life: Life, boot: str) -> str:
    if wal is None:
        if life.opened:
            return (
                "it was not closed by redrive, and its log (-wal) is missing. If another program had it open since, "
                "nothing is missing; else what was accepted last is"
            )
        return ""
    is_same_run = boot != UNKNOWN_BOOT and life.opened == boot
    if life.opened and life.defers_sync and not is_same_run:
        return ""  # The lost transactions were not synced yet; SQLite replays the synced ones.
    promised = index.committed if index is not None else 0
    if index is not None and index.salts == wal.salts and wal.committed < promised:
        return f"its log ends or is damaged after {wal.committed} of {promised} pages that were accepted"
    if wal.commits_behind > COMMITS_TORN_MAX:
        return (
            f"its log is damaged after {wal.committed} pages, and {wal.commits_behind} accepted transactions "
            "lie behind the damage"
        )
    if promised and is_same_run and index is not None and index.salts != wal.salts:
        return f"its log was emptied or replaced: {promised} pages that were accepted are missing"
    return ""


def _life_of_the_file(path: Path) -> Life:
    """The life in the file, without its log; NOT_LIVED if it cannot be read, as after half a checkpoint."""
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True, isolation_level=None)
    except sqlite3.Error:
        return NOT_LIVED
    try:
        return read_life(SqliteDatabase(connection))
    except (sqlite3.Error, StoreDamaged, ValueError):
        return NOT_LIVED
    finally:
        connection.close()
