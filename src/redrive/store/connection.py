"""One connection to SQLite, and the translation of its errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from redrive.core.errors import Bug, Conflict, UserError
from redrive.store.database import Params, Row


class StoreFull(UserError):
    """The disk has no room for another write. Nothing of the refused step is stored; earlier commits are safe."""


class StoreDamaged(UserError):
    """The disk returns other data than was written. No more writes happen, so that the damage does not grow."""


class SqliteDatabase:
    """One connection. The driver caches prepared statements."""

    __slots__ = ("connection",)

    is_shared = False

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @property
    def written(self) -> int:
        return self.connection.total_changes

    def all(self, sql: str, params: Params) -> list[Row]:
        try:
            return self.connection.execute(sql, params).fetchall()
        except sqlite3.DatabaseError as error:
            raise translated(error) from error

    def each(self, sql: str, params: Params) -> Iterator[Row]:
        try:
            cursor = self.connection.execute(sql, params)
            try:
                yield from cursor
            finally:
                cursor.close()
        except sqlite3.DatabaseError as error:
            raise translated(error) from error

    def one(self, sql: str, params: Params) -> Row | None:
        try:
            cursor = self.connection.execute(sql, params)
            row = cast("Row | None", cursor.fetchone())
            cursor.close()
            return row
        except sqlite3.DatabaseError as error:
            raise translated(error) from error

    def run(self, sql: str, params: Params) -> int:
        try:
            return self.connection.execute(sql, params).rowcount
        except sqlite3.DatabaseError as error:
            raise translated(error) from error

    def write(self, sql: str, params: Params) -> None:
        try:
            self.connection.execute(sql, params)
        except sqlite3.DatabaseError as error:
            raise translated(error) from error

    def write_one(self, sql: str, params: Params) -> None:
        changed = self.run(sql, params)
        if changed != 1:
            raise Bug(f"a statement that must change one row changed {changed}: {sql} {params}")

    def side_by_side(self, branches: Sequence[Callable[[], object]]) -> None:
        for branch in branches:
            branch()

    def reserve(self, *keys: str) -> None:
        """Nothing to do: one step runs at a time."""

    def announce(self, *keys: str) -> None:
        """Nothing to do: one step runs at a time."""

    def holds(self, key: str) -> bool:
        return True

    def require(self, key: str) -> None:
        """Nothing to check: one step runs at a time."""

    def be_alone(self) -> None:
        """Nothing to do: one step runs at a time."""

    def change_definitions(self) -> None:
        """Nothing to do: one step runs at a time, and all steps share a cache."""

    def insert(self, sql: str, params: Params) -> int | None:
        try:
            cursor = self.connection.execute(sql, params)
            return cursor.lastrowid if cursor.rowcount == 1 else None
        except sqlite3.DatabaseError as error:
            raise translated(error) from error

    def run_many(self, sql: str, rows: Sequence[Row]) -> None:
        try:
            if len(rows) == 1:
                self.connection.execute(sql, rows[0])
            else:
                self.connection.executemany(sql, rows)
        except sqlite3.DatabaseError as error:
            raise translated(error) from error


def translated(error: sqlite3.DatabaseError) -> Exception:
    """Translate an error of a statement. Returns the error itself if its code is not known here."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Conflict(str(error))
    if code == sqlite3.SQLITE_FULL:
        return StoreFull("The disk is full: nothing more can be stored.", next_step="Free some space and try again.")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreDamaged(
            f"The store is damaged: {error}.",
            next_step="Stop the server, see what is left with: redrive store check DIR, and put a backup in its place.",
        )
    return error


def unusable(location: str, error: sqlite3.DatabaseError) -> UserError:
    """The error for a store that cannot be opened."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return UserError(
            f"{location} is in use by another process.", next_step="Stop that one, or choose another --data."
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(f"The disk that holds {location} is full.", next_step="Free some space and start again.")
    if code == sqlite3.SQLITE_NOTADB:
        return UserError(
            f"{location} is damaged, or is not a redrive store ({error}); it was left as it is.",
            next_step="Move it away and start again, or choose another --data.",
        )
    if code == sqlite3.SQLITE_CORRUPT:
        return damaged(location, str(error))
    return UserError(f"{location} cannot be opened: {error}.", next_step="Check the path and its permissions.")


def damaged(location: str, finding: str, *, can_be_accepted: bool = False) -> StoreDamaged:
    """The error for a damaged store. `finding` says what is wrong."""
    folder = location.rpartition("/")[0] or "."
    accept = f", or go on with what is left: redrive store accept {folder}" if can_be_accepted else ""
    return StoreDamaged(
        f"{location} is damaged: {finding}. It was left as it is.",
        next_step=f"Look at it with: redrive store check {folder}. Put a backup in its place{accept}",
    )
