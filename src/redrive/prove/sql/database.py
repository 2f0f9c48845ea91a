"""One database of a handler's world: a database of SQLite in memory, and the rows that statements change in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from redrive.prove.process.sql_exchange import (
    CHECK,
    FOREIGN_KEY,
    NOT_NULL,
    UNIQUE,
    UNKNOWN,
    Bound,
    SqlAnswer,
    SqlRefusal,
)
from redrive.prove.sql.functions import Now, prepared, stored
from redrive.prove.sql.statement import Table, declaration, quoted

SEEDS = "redrive_seeds"
"""The table with the keys of the rows that were made for the handler."""
connect_really = sqlite3.connect

Row = Mapping[str, object]
Rows = Mapping[str, Row]
"""The rows of a table by their keys as texts."""


class Database:
    """A database. Each statement stands for itself; transactions are copies."""

    def __init__(self, now: Now, content: bytes = b"") -> None:
        connection = connect_really(
            ":memory:", isolation_level=None, detect_types=sqlite3.PARSE_DECLTYPES, check_same_thread=False
        )
        if content:
            connection.deserialize(content)
        self._now = now
        self._connection = prepared(connection, now)
        self._content = content

    @property
    def content(self) -> bytes:
        """The whole database."""
        if not self._content:
            self._content = self._connection.serialize()
        return self._content

    def copy(self) -> Database:
        """Another one with the same content."""
        return Database(self._now, self.content)

    def close(self) -> None:
        """Close it."""
        self._connection.close()

    def execute(self, text: str, params: Bound) -> SqlAnswer | SqlRefusal:
        """Run a statement of SQLite."""
        held: object = (
            {name: stored(value) for name, value in params.items()}
            if isinstance(params, Mapping)
            else tuple(stored(value) for value in params)
        )
        before = self._connection.total_changes
        try:
            cursor = self._connection.execute(text, held)  # type: ignore[arg-type] # One of the two.
            rows = tuple(tuple(row) for row in cursor.fetchall()) if cursor.description else ()
        except sqlite3.IntegrityError as error:
            return SqlRefusal(_code_of(str(error)), str(error))
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            return SqlRefusal(UNKNOWN, str(error))
        self._content = b""
        columns = tuple(str(one[0]) for one in cursor.description) if cursor.description else None
        # sqlite3 counts no rows of a statement that begins with WITH.
        changed = cursor.rowcount if cursor.rowcount >= 0 else self._connection.total_changes - before
        count = max(changed, len(rows))
        return SqlAnswer(columns, rows, count, cursor.lastrowid)

    def columns_of(self, table: str) -> dict[str, bool]:
        """The columns of a table, and whether each is of the primary key; empty if there is no such table."""
        found = self._connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
        return {str(one[1]): bool(one[5]) for one in found}

    def key_of(self, table: str) -> tuple[str, ...]:
        """The columns of a table's primary key, or of its first other key; empty if it has none."""
        primary = tuple(name for name, is_key in self.columns_of(table).items() if is_key)
        if primary:
            return primary
        for index in self._connection.execute(f"PRAGMA index_list({quoted(table)})").fetchall():
            if index[2]:
                named = self._connection.execute(f"PRAGMA index_info({quoted(str(index[1]))})").fetchall()
                return tuple(str(one[2]) for one in named if one[2] is not None)
        return ()

    def provide(self, table: Table) -> str:
        """Make a table, or the columns and keys that it lacks; returns what was made, in words."""
        known = self.columns_of(table.name)
        if not known:
            table = table if table.columns else replace(table, columns={"id": ""})
            self._make(declaration(table))
            keys = "; ".join(", ".join(key) for key in table.keys)
            return f"columns {', '.join(table.columns)}" + (f", unique by {keys}" if keys else "")
        if table.is_declared:
            return ""
        for name, kind in table.columns.items():
            if name.lower() not in {one.lower() for one in known} | {"rowid", "oid"}:
                self._make(f"ALTER TABLE {quoted(table.name)} ADD COLUMN {quoted(name)} {kind}")
        return ""

    def provide_key(self, table: Table) -> None:
        """Make the keys that statements count on."""
        for key in table.keys if not table.is_declared else ():
            self._make(
                f"CREATE UNIQUE INDEX IF NOT EXISTS {quoted('_'.join(('redrive', table.name, *key)))} "
                f"ON {quoted(table.name)} ({', '.join(map(quoted, key))})"
            )

    def seed(self, table: str, row: Row) -> bool:
        """Make a row that the handler asks for, once; returns whether it was made now."""
        self._make(f"CREATE TABLE IF NOT EXISTS {SEEDS} (place TEXT PRIMARY KEY)")
        place = f"{table} {sorted(row.items(), key=str)!r}"
        marks = " AND ".join(f"{quoted(name)} = ?" for name in row)
        held = tuple(map(stored, row.values()))
        is_there = self._connection.execute(f"SELECT 1 FROM {quoted(table)} WHERE {marks}", held).fetchone()  # noqa: S608 - quoted.
        if is_there or self._connection.execute(f"SELECT 1 FROM {SEEDS} WHERE place = ?", (place,)).fetchone():  # noqa: S608 - a constant.
            return False
        found = self._connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
        values = {
            str(one[1]): row.get(str(one[1]), _sample(str(one[1]), str(one[2]), is_key=bool(one[5]))) for one in found
        }
        names, held = ", ".join(map(quoted, values)), tuple(map(stored, values.values()))
        marks = ", ".join("?" for _ in values)
        self._make(f"INSERT OR IGNORE INTO {quoted(table)} ({names}) VALUES ({marks})", held)  # noqa: S608 - quoted.
        self._make(f"INSERT INTO {SEEDS} VALUES (?)", (place,))  # noqa: S608 - a constant.
        return True

    def tables(self) -> list[str]:
        """The tables of the handler's."""
        found = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return [str(one[0]) for one in found if one[0] != SEEDS and not str(one[0]).startswith("sqlite_")]

    def rows_of(self, table: str) -> dict[str, Row]:
        """The rows of a table by their keys. A row of a table without a key has the number that SQLite gives it."""
        key = self.key_of(table)
        number_of = "0" if key else "rowid"  # A table without numbers has a key.
        cursor = self._connection.execute(f"SELECT {number_of}, * FROM {quoted(table)}")  # noqa: S608 - quoted.
        names = [str(one[0]) for one in cursor.description][1:]
        rows: dict[str, Row] = {}
        for number, *values in cursor.fetchall():
            row = dict(zip(names, values, strict=True))
            told = ", ".join(f"{name}={row[name]}" for name in key) or f"row {number}"
            rows[told] = {name: value for name, value in row.items() if value is not None and name not in key}
        return rows

    def told(self) -> str:
        """All rows as text."""
        return repr([(table, sorted(self.rows_of(table).items())) for table in self.tables()])

    def _make(self, text: str, params: tuple[object, ...] = ()) -> None:
        """What cannot be made (a key over equal rows) stays as it is: the handler's own statement meets the error."""
        self._content = b""
        try:
            self._connection.execute(text, params)
        except sqlite3.Error:
            return


def changes_between(before: Mapping[str, Rows], after: Mapping[str, Rows]) -> Iterator[Row]:
    """The rows that are new, other or gone, table by table."""
    for table in sorted(before.keys() | after.keys()):
        old, new = before.get(table, {}), after.get(table, {})
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                kind = "made" if key not in old else "deleted" if key not in new else "changed"
                yield {"Table": table, "Key": key, "Kind": kind, "Row": dict(new.get(key, {}))}


def rows_in(database: Database, tables: Iterable[str]) -> dict[str, Rows]:
    """The rows of these tables."""
    return {table: database.rows_of(table) for table in tables if database.columns_of(table)}


def _code_of(message: str) -> str:
    kinds = {"UNIQUE": UNIQUE, "PRIMARY": UNIQUE, "NOT NULL": NOT_NULL, "FOREIGN": FOREIGN_KEY, "CHECK": CHECK}
    return next((code for word, code in kinds.items() if message.startswith(word)), CHECK)


def _sample(name: str, kind: str, *, is_key: bool) -> object:
    """A value for a column of a row that nobody has given."""
    match kind:
        case "INTEGER":
            return None if is_key else 10
        case "REAL" | "RD_DECIMAL":
            return "100"
        case "RD_BOOLEAN":
            return 1
        case "RD_JSON" | "RD_ARRAY":
            return "{}" if kind == "RD_JSON" else "[]"
        case "RD_TIMESTAMP" | "RD_DATE" | "BLOB":
            return None
        case _:
            numeric = any(
                word in name.lower() for word in ("amount", "balance", "count", "price", "qty", "stock", "total")
            )
            return 100 if numeric else f"sample-{name}"
