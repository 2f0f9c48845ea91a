"""What the tests of both dialects share: all statements, PostgreSQL with the schema, and one statement run on both."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any

import psycopg

from redrive.store.dialect import numbered
from redrive.store.queries import load_queries, postgresql_queries, postgresql_text

Row = tuple[Any, ...]
Params = Mapping[str, object] | Sequence[object]

PINNED = {
    "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off",
    "enable_mergejoin": "off", "enable_bitmapscan": "off", "jit": "off",
}  # fmt: skip
"""The planner's settings in the store's sessions."""

ONLY_THERE = {"wake_ups"}
"""The tables with statements that SQLite does not have."""


def tables() -> list[str]:
    """The names of the files of statements."""
    return sorted(entry.name.removesuffix(".sql") for entry in sql_files())


def sql_files(*folders: str) -> list[Any]:
    """The .sql files in a folder of the store."""
    folder = resources.files("redrive.store").joinpath(*(folders or ("sql",)))
    return [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]


def statements() -> list[tuple[str, str]]:
    """(table, name) of every statement."""
    return [(table, name) for table in tables() for name in load_queries(table)]


def statements_of_postgresql() -> list[tuple[str, str, str]]:
    """(table, name, text) of every statement as PostgreSQL runs it, also of the tables that SQLite does not have."""
    shared = [(table, name, postgresql_text(load_queries(table)[name])) for table, name in statements()]
    return shared + [(table, name, sql) for table in ONLY_THERE for name, sql in postgresql_queries(table).items()]


@contextmanager
def postgresql(url: str) -> Iterator[psycopg.Connection[Row]]:
    """A connection to an empty database that then has the schema. Each statement is a transaction."""
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
        for file in sorted(sql_files("migrations", "postgresql"), key=lambda file: str(file.name)):
            connection.execute(file.read_text("utf-8").encode())
        for setting, value in PINNED.items():
            connection.execute(f"SET {setting} = {value}".encode())
        yield connection


class Both:
    """Runs the same statement with the same parameters on SQLite and on PostgreSQL."""

    def __init__(self, sqlite: sqlite3.Connection, other: psycopg.Connection[Row]) -> None:
        self._sqlite = sqlite
        self._postgresql = other

    def answers(self, table: str, name: str, params: Params) -> tuple[list[Row], list[Row]]:
        """The rows that SQLite and PostgreSQL return; no row stands for the number of changed rows."""
        sql = load_queries(table)[name]
        here = self._sqlite.execute(sql, params)
        rows = here.fetchall() if here.description else [(here.rowcount,)]
        return rows, self._there(sql, params)

    def contents(self, table: str) -> tuple[list[Row], list[Row]]:
        """All rows of a table in both."""
        columns = [column for _, column, *_ in self._sqlite.execute(f"PRAGMA table_info({table})")]
        sql = f"SELECT {', '.join(columns)} FROM {table}"
        return sorted(self._sqlite.execute(sql), key=repr), sorted(self._there(sql, {}), key=repr)

    def insert(self, table: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Store the same rows in both."""
        for row in rows:
            values = ", ".join(f":{column}" for column in row)
            sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"
            self._sqlite.execute(sql, row)
            self._there(sql, row)

    def restart(self, table: str, column: str, number: int) -> None:
        """Draw the next number of a column from `number` on, in both."""
        self._sqlite.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        self._sqlite.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, number - 1))
        self._postgresql.execute(f"ALTER TABLE {table} ALTER {column} RESTART WITH {number}".encode())

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Undo in both what the block does."""
        self._sqlite.execute("SAVEPOINT example")
        try:
            with self._postgresql.transaction(force_rollback=True):
                yield
        finally:
            self._sqlite.execute("ROLLBACK TO example")
            self._sqlite.execute("RELEASE example")

    def _there(self, sql: str, params: Params) -> list[Row]:
        text, places = numbered(postgresql_text(sql))
        values = [params[place] for place in places]  # type: ignore[index]
        cursor = self._postgresql.execute(text.encode(), [as_text(value) for value in values])
        return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]


def as_text(value: object) -> object:
    """A parameter of which the server finds out the type, as for a prepared statement: a text, or bytes."""
    return value if value is None or isinstance(value, bytes) else str(value)
