"""A ledger in PostgreSQL, through psycopg 3: for effects in the same database. psycopg is imported at first use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from redrive.handler.cells import Cell
from redrive.handler.clock import Clock, now_ms
from redrive.handler.entropy import NewNonce, new_nonce
from redrive.handler.ledger import Record
from redrive.handler.ledgers.records import Change, RecordLedger, T, record_from_text, record_to_text
from redrive.handler.signatures import PostgresConnect, PostgresConnection

_SCHEMA = """
CREATE TABLE IF NOT EXISTS redrive_executions (
    execution_id text PRIMARY KEY, status text, expires_at bigint, record text
);
CREATE TABLE IF NOT EXISTS redrive_cells (
    name text PRIMARY KEY, version bigint NOT NULL, text text NOT NULL
);
"""
_HOLD_PLACE = "INSERT INTO redrive_executions (execution_id) VALUES (%s) ON CONFLICT DO NOTHING"
_HOLD_RECORD = "SELECT record FROM redrive_executions WHERE execution_id = %s FOR UPDATE"
_WRITE_RECORD = "UPDATE redrive_executions SET status = %s, expires_at = %s, record = %s WHERE execution_id = %s"
_GIVE_PLACE_BACK = "DELETE FROM redrive_executions WHERE execution_id = %s AND record IS NULL"
_READ_RECORD = "SELECT record FROM redrive_executions WHERE execution_id = %s"
_PURGE = "DELETE FROM redrive_executions WHERE expires_at <= %s"
_LOAD_CELL = "SELECT version, text FROM redrive_cells WHERE name = %s"
_FIRST_CELL = "INSERT INTO redrive_cells (text, name, version) VALUES (%s, %s, %s + 1) ON CONFLICT DO NOTHING"
_SWAP_CELL = "UPDATE redrive_cells SET text = %s, version = version + 1 WHERE name = %s AND version = %s"


class PostgresLedger(RecordLedger):
    """Executions in two tables, `redrive_executions` and `redrive_cells`, which `create_tables` makes.

    `connect` is a connection string, or a function that returns a psycopg connection in autocommit mode. The connection
    is made at first use and again after it has broken. One thread at a time uses a ledger; others wait.
    """

    def __init__(self, connect: str | PostgresConnect, *, clock: Clock = now_ms, nonce: NewNonce = new_nonce) -> None:
        super().__init__(clock=clock, nonce=nonce)
        self._connect = connect
        self._opened: PostgresConnection | None = None
        self._guard = threading.RLock()

    def create_tables(self) -> None:
        """Create the tables if they do not exist."""
        with self.transaction() as connection:
            connection.execute(_SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[PostgresConnection]:
        """One transaction for the user's rows and the record: everything is committed, or nothing.

            with ledger.transaction() as connection:
                connection.execute("INSERT INTO reports ...")
                current_execution().finish({"report": 7})

        Inside, the ledger's methods are part of the transaction.
        """
        with self._guard:
            connection = self._connection()
            with connection.transaction():
                yield connection

    def close(self) -> None:
        """Close the connection. The next use opens a new one."""
        with self._guard:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def purge(self) -> int:
        """Delete the expired records, and return their number. Nothing else deletes them."""
        with self.transaction() as connection:
            return connection.execute(_PURGE, [self._clock()]).rowcount

    def read(self, key: str) -> Record | None:
        """See `Ledger.read`. Does not wait for locks."""
        with self.transaction() as connection:
            row = connection.execute(_READ_RECORD, [key]).fetchone()
        return record_from_text(row[0]) if row and row[0] is not None else None

    def load_cell(self, name: str) -> Cell:
        """See `Cells.load_cell`."""
        with self.transaction() as connection:
            row = connection.execute(_LOAD_CELL, [name]).fetchone()
        return Cell(*row) if row else Cell()

    def swap_cell(self, name: str, version: int, text: str) -> bool:
        """See `Cells.swap_cell`."""
        with self.transaction() as connection:
            statement = _SWAP_CELL if version else _FIRST_CELL
            return connection.execute(statement, [text, name, version]).rowcount == 1

    def _change(self, key: str, change: Change[T]) -> T:
        with self.transaction() as connection:
            # A missing row cannot be locked, so an empty row is inserted first: of two runs that begin at once, the
            # second waits
            # here until the first has committed. An empty row that stays is no record.
            connection.execute(_HOLD_PLACE, [key])
            row = connection.execute(_HOLD_RECORD, [key]).fetchone()
            old = record_from_text(row[0]) if row and row[0] is not None else None
            new, answer = change(old)
            if new is None:
                connection.execute(_GIVE_PLACE_BACK, [key])
            elif new != old:
                connection.execute(_WRITE_RECORD, [str(new.status), new.expires_at, record_to_text(new), key])
            return answer

    def _connection(self) -> PostgresConnection:
        if self._opened is None or self._opened.closed:
            self._opened = self._connect() if callable(self._connect) else _psycopg_connection(self._connect)
        return self._opened


def _psycopg_connection(conninfo: str) -> PostgresConnection:
    import psycopg  # type: ignore[import-not-found, unused-ignore]

    connection: PostgresConnection = psycopg.connect(conninfo, autocommit=True)
    return connection
