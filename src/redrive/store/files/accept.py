"""Accepting a damaged store: the user knows what is lost and wants to continue with the rest."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from redrive.core.errors import UserError
from redrive.store.connection import SqliteDatabase, unusable
from redrive.store.files.directory import create_private
from redrive.store.files.examine import beside, examine
from redrive.store.files.life import this_boot, write_closed
from redrive.store.files.opening import check_whole, checkpoint, reading


def accept_loss(path: Path) -> str:
    """Repair a store from the readable part of its log. Returns what was wrong; empty if nothing was.

    The original log is kept as `-wal.refused`. Errors: UserError if there is no store, or if the file itself is
    damaged, which cannot be repaired this way.
    """
    found = examine(path, this_boot())
    if found.is_new:
        raise UserError(f"There is no store at {path}.", next_step="Put a backup in its place.")
    if not found.finding:
        return ""
    log = beside(path, "-wal")
    if log.exists():
        refused = beside(path, "-wal.refused")
        create_private(refused)
        refused.write_bytes(log.read_bytes())
    beside(path, "-shm").unlink(missing_ok=True)
    with reading(path, without_log=not log.exists()) as connection:
        check_whole(connection, path)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            checkpoint(connection)
            with suppress(sqlite3.OperationalError):  # A store of a version without the table of facts.
                write_closed(SqliteDatabase(connection))
            checkpoint(connection)
    except sqlite3.DatabaseError as error:
        raise unusable(str(path), error) from error
    return found.finding
