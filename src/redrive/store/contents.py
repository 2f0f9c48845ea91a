"""A store in memory whose tables can be read and replaced as values, and which tells what tables a step depends on.

For a search that comes to the same contents again and again: what a step answers, and what it writes, follows from the
contents of the tables that it has read and written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from redrive.core.clock import Clock
from redrive.core.entropy import Entropy
from redrive.store.connection import SqliteDatabase
from redrive.store.database import Params, Row
from redrive.store.observed import NoAttempts, NoRuns, ObservedResources
from redrive.store.queries import load_queries
from redrive.store.sqlite import SqliteStore

T = TypeVar("T")

SEQUENCES = "sqlite_sequence"
"""SQLite's own table: the last number of each table that counts its rows."""
EXPIRING = "items that expire"
"""The part of the items that decides when the next one expires: most steps ask for that, and for no other items."""
_EXPIRES_AT = 5
"""The column of an item that says when it expires."""
_VIEWS = {load_queries("items")["next_expiry"]: EXPIRING}
"""The statements whose result depends on a part of a table alone."""
_RESULTS_KEPT = 50_000
RESOURCES = "resources"
_OF_RESOURCES = frozenset(load_queries(RESOURCES).values())
"""The statements that touch resources of one kind alone."""
_CONTROL = frozenset({"BEGIN", "COMMIT", "PRAGMA", "RELEASE", "ROLLBACK", "SAVEPOINT"})
"""The first words of statements that touch no table."""


class StaleRead(BaseException):
    """A step reads a table whose content is not the current one. Not an Exception: the step ends, and runs again."""


@dataclass(frozen=True, slots=True)
class Touch:
    """The tables that a statement touches: those that its result depends on, and those that it writes to."""

    read: frozenset[str]
    written: frozenset[str]


class ObservedDatabase(SqliteDatabase):
    """A connection that notes which tables its statements touch."""

    __slots__ = ("_results", "_touches", "clean", "counting", "kinds", "kinds_written", "read", "stale", "written_to")

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._touches: dict[str, Touch] = {}
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
        self.counting = frozenset(name for (name,) in connection.execute(sql))
        """The tables that count their rows in SEQUENCES."""
        self.read: set[str] = set()
        self.written_to: set[str] = set()
        self.kinds: set[str] = set()
        """The kinds of resources that were read or written."""
        self.kinds_written: set[str] = set()
        self._results: dict[tuple[object, ...], list[Row]] = {}
        self.clean: dict[str, int] = {}
        """Which contents the tables have that no statement has written to: equal numbers are equal contents."""
        self.stale: frozenset[str] = frozenset()
        """Tables that no statement may read now."""

    def all(self, sql: str, params: Params) -> list[Row]:
        return list(self._result(sql, params))

    def each(self, sql: str, params: Params) -> Iterator[Row]:
        self._note(sql, params)
        return super().each(sql, params)

    def one(self, sql: str, params: Params) -> Row | None:
        rows = self._result(sql, params)
        return rows[0] if rows else None

    def run(self, sql: str, params: Params) -> int:
        self._note(sql, params)
        return super().run(sql, params)

    def write(self, sql: str, params: Params) -> None:
        self._note(sql, params)
        super().write(sql, params)

    def insert(self, sql: str, params: Params) -> int | None:
        self._note(sql, params)
        return super().insert(sql, params)

    def run_many(self, sql: str, rows: Sequence[Row]) -> None:
        if rows:
            self._note(sql, rows[0])
        super().run_many(sql, rows)

    def _result(self, sql: str, params: Params) -> list[Row]:
        """The rows of a statement: those that it had before, where it only reads, and reads the same contents."""
        touch = self._note(sql, params)
        if touch.written:
            return super().all(sql, params)
        try:
            numbers = tuple([self.clean[table] for table in touch.read])
            key = (sql, tuple(params.items() if isinstance(params, Mapping) else params), numbers)
            return self._results[key]
        except KeyError:
            rows = super().all(sql, params)
            if touch.read <= self.clean.keys():
                if len(self._results) >= _RESULTS_KEPT:
                    self._results.clear()
                self._results[key] = rows
            return rows

    def _note(self, sql: str, params: Params) -> Touch:
        touch = self._touches.get(sql)
        if touch is None:
            touch = self._touches[sql] = self._touch_of(sql, params)
        if touch.read & self.stale:
            raise StaleRead
        if sql in _OF_RESOURCES:
            kind = str(params["kind"] if isinstance(params, Mapping) else params[0])
            self.kinds.add(kind)
            if touch.written:
                self.kinds_written.add(kind)
        else:
            self.read |= touch.read
        if touch.written:
            self.written_to |= touch.written
            for table in touch.written:
                self.clean.pop(table, None)
            if "items" in touch.written:
                self.clean.pop(EXPIRING, None)
        return touch

    def _touch_of(self, sql: str, params: Params) -> Touch:
        """Ask SQLite itself, which asks an authorizer about each access of a statement that it compiles."""
        if sql in _VIEWS:
            return Touch(frozenset({_VIEWS[sql]}), frozenset())
        if sql.lstrip().partition(" ")[0].upper() in _CONTROL:
            return Touch(frozenset(), frozenset())
        read: set[str] = set()
        inserted: set[str] = set()
        changed: set[str] = set()
        places = {
            sqlite3.SQLITE_READ: read, sqlite3.SQLITE_INSERT: inserted,
            sqlite3.SQLITE_UPDATE: changed, sqlite3.SQLITE_DELETE: changed,
        }  # fmt: skip

        def authorize(action: int, table: str | None, *_: object) -> int:
            if action in places and table is not None:
                places[action].add(table)
            return sqlite3.SQLITE_OK

        self.connection.set_authorizer(authorize)
        try:
            self.connection.execute(f"EXPLAIN {sql}", params).close()
        finally:
            self.connection.set_authorizer(None)
        counted = {SEQUENCES} if inserted & self.counting else set()
        return Touch(frozenset(read | changed | counted), frozenset(inserted | changed | counted))


class ContentStore(SqliteStore):
    """A store in memory, for one thread at a time."""

    _observed: ObservedDatabase

    def __init__(self, *, clock: Clock, entropy: Entropy) -> None:
        super().__init__(None, clock=clock, entropy=entropy)
        self._tables.resources = ObservedResources(self._observed, self._observed.kinds)
        self._tables.attempts = NoAttempts(self._observed)
        self._tables.runs = NoRuns(self._observed)
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%' ORDER BY name"
        self.tables: Sequence[str] = [name for (name,) in self._observed.connection.execute(sql)]
        """All tables, SQLite's sequences among them."""

    def database_on(self, connection: sqlite3.Connection) -> SqliteDatabase:
        self._observed = ObservedDatabase(connection)
        return self._observed

    @property
    def touched(self) -> ObservedDatabase:
        """What steps have touched since `begin_touching`."""
        return self._observed

    @property
    def counting(self) -> frozenset[str]:
        """The tables that count their rows in SEQUENCES."""
        return self._observed.counting

    def begin_touching(self) -> None:
        """Note from now on what steps touch. What a cache has of rows is read again, so that it is noted, too."""
        self._observed.read, self._observed.written_to = set(), set()
        self._observed.kinds.clear()
        self._observed.kinds_written.clear()
        self._tables.forget_hints()

    def content(self, table: str) -> tuple[Row, ...]:
        """All rows of a table. Nobody asks how often a resource was written: the number is that of a new one."""
        if table == RESOURCES:
            sql = "SELECT kind, scope, name, document, 1 FROM resources ORDER BY kind, scope, name"
            return tuple(self._observed.connection.execute(sql))
        return tuple(self._observed.connection.execute(f"SELECT * FROM {table}"))  # noqa: S608 - ours

    @staticmethod
    def expiring(items: Sequence[Row]) -> tuple[Row, ...]:
        """The rows of EXPIRING, of the rows of all items: when the next one expires."""
        found = [row[_EXPIRES_AT] for row in items if row[_EXPIRES_AT] is not None]
        return ((min(found),),) if found else ()

    def put(self, contents: Mapping[str, Sequence[Row]]) -> None:
        """Replace all rows of these tables."""
        connection = self._observed.connection
        connection.execute("BEGIN")
        for table, rows in sorted(contents.items(), key=lambda one: one[0] == SEQUENCES):  # Inserts count further.
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - ours
        connection.execute("COMMIT")
        self._accumulator.clear()
        if contents.keys() & {"facts", RESOURCES}:
            self._tables.forget()
        else:
            self._tables.forget_hints()
