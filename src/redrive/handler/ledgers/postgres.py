"""A ledger in PostgreSQL, through psycopg 3: for effects in the same database. psycopg is imported at first use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from redrive.handler.cells import Cell
from redrive.handler.clock import Clock, now_ms
from redrive.handler.entropy import NewNonce, new_nonce
from redrive.handler.ledgers.records import Change, RecordLedger, T, record_from_text, record_to_text

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS redrive_executions ("
    " execution_id text PRIMARY KEY, status text, expires_at bigint, record text)",
    "CREATE TABLE IF NOT EXISTS redrive_cells (name text PRIMARY KEY, version bigint NOT NULL, text text NOT NULL)",
)


class Cursor(Protocol):
    """What the ledger uses of psycopg's cursor."""

    @property
    def rowcount(self) -> int: ...
    @property
    def fetchone(self) -> Callable[[], Sequence[object] | None]: ...


class Connection(Protocol):
    """What the ledger uses of psycopg's connection."""

    @property
    def closed(self) -> bool: ...
    @property
    def execute(self) -> Callable[..., Cursor]: ...
    @property
    def transaction(self) -> Callable[..., AbstractContextManager[object]]: ...


class PostgresLedger(RecordLedger):
    """Executions in two tables, `redrive_executions` and `redrive_cells`, which `create_tables` makes.

    `connect` is a connection string, or a function that returns a psycopg connection in autocommit mode. The connection
    is made at first use and again after it has broken. One ledger is used by one thread at a time; others wait.
    """

    def __init__(
        self, connect: str | Callable[[], Connection], *, clock: Clock = now_ms, nonce: NewNonce = new_nonce
    ) -> None:
        super().__init__(clock=clock, nonce=nonce)
        self._connect = connect
        self._opened: Connection | None = None
        self._guard = threading.RLock()

    def create_tables(self) -> None:
        """Make the tables that are missing."""
        with self.transaction() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction for the user's rows and the record: all of it happens, or nothing.

            with ledger.transaction() as connection:
                connection.execute("INSERT INTO reports ...")
                current_execution().finish({"report": 7})

        Within it, the ledger's methods join it.
        """
        with self._guard:
            connection = self._connection()
            with connection.transaction():
                yield connection

    def purge(self) -> int:
        """Delete the records that have expired, and answer how many. Nothing else deletes them."""
        with self.transaction() as connection:
            return connection.execute("DELETE FROM redrive_executions WHERE expires_at <= %s", [self._clock()]).rowcount

    def load_cell(self, name: str) -> Cell:
        """See `Cells.load_cell`."""
        with self.transaction() as connection:
            row = connection.execute("SELECT version, text FROM redrive_cells WHERE name = %s", [name]).fetchone()
        return Cell(int(str(row[0])), str(row[1])) if row else Cell()

    def swap_cell(self, name: str, version: int, text: str) -> bool:
        """See `Cells.swap_cell`."""
        with self.transaction() as connection:
            if version == 0:
                statement = "INSERT INTO redrive_cells (text, name, version) VALUES (%s, %s, %s + 1) ON CONFLICT DO NOTHING"
            else:
                statement = "UPDATE redrive_cells SET text = %s, version = version + 1 WHERE name = %s AND version = %s"
            return connection.execute(statement, [text, name, version]).rowcount == 1

    def _change(self, key: str, change: Change[T]) -> T:
        with self.transaction() as connection:
            # A row that is not there cannot be held, so an empty one is put first: of two runs that begin at once,
            # the second waits here until the first has committed. An empty row left behind is no record.
            connection.execute("INSERT INTO redrive_executions (execution_id) VALUES (%s) ON CONFLICT DO NOTHING", [key])
            select = "SELECT record FROM redrive_executions WHERE execution_id = %s FOR UPDATE"
            row = connection.execute(select, [key]).fetchone()
            old = record_from_text(str(row[0])) if row and row[0] is not None else None
            new, answer = change(old)
            if new is None:
                connection.execute("DELETE FROM redrive_executions WHERE execution_id = %s AND record IS NULL", [key])
            elif new != old:
                connection.execute(
                    "UPDATE redrive_executions SET status = %s, expires_at = %s, record = %s WHERE execution_id = %s",
                    [str(new.status), new.expires_at, record_to_text(new), key],
                )
            return answer

    def _connection(self) -> Connection:
        if self._opened is None or self._opened.closed:
            self._opened = self._connect() if callable(self._connect) else _psycopg_connection(self._connect)
        return self._opened


def _psycopg_connection(conninfo: str) -> Connection:
    import psycopg  # type: ignore[import-not-found, unused-ignore]

    connection: Connection = psycopg.connect(conninfo, autocommit=True)
    return connection
