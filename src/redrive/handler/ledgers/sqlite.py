"""A ledger in an SQLite file: for one machine, with any number of processes, and for effects in the same file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from redrive.handler.cells import Cell
from redrive.handler.clock import Clock, now_ms
from redrive.handler.entropy import NewNonce, new_nonce
from redrive.handler.ledgers.records import Change, RecordLedger, T, record_from_text, record_to_text

if TYPE_CHECKING:
    import sqlite3

BUSY_S = 10.0  # How long a process waits for the write lock.

_SCHEMA = """
CREATE TABLE IF NOT EXISTS redrive_executions (
    execution_id TEXT PRIMARY KEY, status TEXT NOT NULL, expires_at INTEGER, record TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS redrive_cells (
    name TEXT PRIMARY KEY, version INTEGER NOT NULL, text TEXT NOT NULL
);
"""
_READ_RECORD = "SELECT record FROM redrive_executions WHERE execution_id = ?"
_WRITE_RECORD = """
INSERT INTO redrive_executions (execution_id, status, expires_at, record) VALUES (?, ?, ?, ?)
ON CONFLICT (execution_id) DO UPDATE
SET status = excluded.status, expires_at = excluded.expires_at, record = excluded.record
"""
_PURGE = "DELETE FROM redrive_executions WHERE expires_at <= ?"
_LOAD_CELL = "SELECT version, text FROM redrive_cells WHERE name = ?"
_FIRST_CELL = "INSERT INTO redrive_cells (text, name, version) VALUES (?, ?, ? + 1) ON CONFLICT DO NOTHING"
_SWAP_CELL = "UPDATE redrive_cells SET text = ?, version = version + 1 WHERE name = ? AND version = ?"


class SqliteLedger(RecordLedger):
    """Executions in a file, safe across threads and processes; with the path `:memory:`, in this object alone.

    The file is opened at first use, so that a process may fork before it.
    """

    def __init__(self, path: str, *, clock: Clock = now_ms, nonce: NewNonce = new_nonce) -> None:
        super().__init__(clock=clock, nonce=nonce)
        self._path = path
        self._opened: sqlite3.Connection | None = None
        self._guard = threading.RLock()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction for the user's rows and the record: everything is committed, or nothing.

            with ledger.transaction() as connection:
                connection.execute("INSERT INTO reports ...")
                current_execution().finish({"report": 7})

        Other threads and processes wait until it ends. Inside, the ledger's methods are part of the transaction.
        """
        with self._guard:
            connection = self._connection()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def purge(self) -> int:
        """Delete the expired records, and return their number. Nothing else deletes them."""
        with self.transaction() as connection:
            return connection.execute(_PURGE, [self._clock()]).rowcount

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        with self._guard:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def load_cell(self, name: str) -> Cell:
        """See `Cells.load_cell`."""
        with self._guard:
            row = self._connection().execute(_LOAD_CELL, [name]).fetchone()
        return Cell(*row) if row else Cell()

    def swap_cell(self, name: str, version: int, text: str) -> bool:
        """See `Cells.swap_cell`."""
        with self.transaction() as connection:
            statement = _SWAP_CELL if version else _FIRST_CELL
            return connection.execute(statement, [text, name, version]).rowcount == 1

    def _change(self, key: str, change: Change[T]) -> T:
        with self.transaction() as connection:
            row = connection.execute(_READ_RECORD, [key]).fetchone()
            old = record_from_text(row[0]) if row else None
            new, answer = change(old)
            if new is not None and new != old:
                connection.execute(_WRITE_RECORD, [key, new.status, new.expires_at, record_to_text(new)])
            return answer

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            import sqlite3

            opened = sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            opened.execute("PRAGMA journal_mode = WAL")
            opened.execute("PRAGMA synchronous = FULL")  # A reported success survives a power failure.
            opened.executescript(_SCHEMA)
            self._opened = opened
        return self._opened
