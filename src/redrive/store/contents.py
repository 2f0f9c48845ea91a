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
from redrive.store.api import NO_PARAMS, StartAnew, Step
from redrive.store.connection import SqliteDatabase
from redrive.store.database import Params, Row
from redrive.store.observed import GroupedTimers, NoAttempts, NoRuns, ObservedResources
from redrive.store.parts import ITEMS, RESOURCES, Part, Touching, touching
from redrive.store.queries import load_queries
from redrive.store.sqlite import SqliteStore

T = TypeVar("T")
Rows = tuple[Row, ...]

SEQUENCES = "sqlite_sequence"
"""SQLite's own table: the last number of each table that counts its rows."""
EXPIRING = "items that expire"
"""The part of the items that decides when the next one expires: most steps ask for that, and for no other items."""
_EXPIRES_AT = 5
"""The column of an item that says when it expires."""
_VIEWS = {load_queries(ITEMS)["next_expiry"]: EXPIRING}
"""The statements whose result depends on a part of a table alone."""
_RESULTS_KEPT = 50_000
_CONTROL = frozenset({"BEGIN", "COMMIT", "PRAGMA", "RELEASE", "ROLLBACK", "SAVEPOINT"})
"""The first words of statements that touch no table."""


class StaleRead(BaseException):
    """A step reads a table whose content is not the current one. Not an Exception: the step ends, and runs again."""


@dataclass(frozen=True, slots=True)
class Touch:
    """The tables that a statement touches: those that its result depends on, and those that it writes to.

    `parts` says which parts of one table it touches alone; `read_whole` and `written_whole` are without that table.
    """

    read: frozenset[str]
    written: frozenset[str]
    read_whole: frozenset[str]
    written_whole: frozenset[str]
    parts: Touching | None = None

    @classmethod
    def of(cls, sql: str, read: frozenset[str], written: frozenset[str]) -> Touch:
        """What a statement touches, that reads these tables and writes to those."""
        found = touching(sql)
        if found is None:
            return cls(read, written, read, written)
        table, parts = found
        return cls(read, written, read - {table}, written - {table}, parts)


class ObservedDatabase(SqliteDatabase):
    """A connection that notes which tables its statements touch."""

    __slots__ = (
        "_results", "_touches", "clean", "counting", "parts", "parts_written", "read", "stale", "written_to",
        "written_whole",
    )  # fmt: skip

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._touches: dict[str, Touch] = {}
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
        self.counting = frozenset(name for (name,) in connection.execute(sql))
        """The tables that count their rows in SEQUENCES."""
        self.read: set[str] = set()
        """The tables that statements have read which may touch all of them."""
        self.written_to: set[str] = set()
        """All tables that were written to."""
        self.written_whole: set[str] = set()
        """Those that statements have written to which may touch all of them."""
        self.parts: set[Part] = set()
        """The parts of other tables that were read or written."""
        self.parts_written: set[Part] = set()
        self._results: dict[tuple[object, ...], list[Row]] = {}
        self.clean: dict[str, int] = {}
        """Which contents the tables have that no statement has written to: equal numbers are equal contents."""
        self.stale: frozenset[str] = frozenset()
        """Tables that no statement may read now."""

    def forget_touched(self) -> None:
        """From now on, note what statements touch."""
        self.read, self.written_to, self.written_whole = set(), set(), set()
        self.parts.clear()
        self.parts_written.clear()

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
        for row in rows:
            self._note(sql, row)
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
        self.read |= touch.read_whole
        if touch.parts is not None:
            parts = touch.parts(params)
            self.parts.update(parts)
            if touch.written:
                self.parts_written.update(parts)
        if touch.written:
            self.written_to |= touch.written
            self.written_whole |= touch.written_whole
            for table in touch.written:
                self.clean.pop(table, None)
            if ITEMS in touch.written:
                self.clean.pop(EXPIRING, None)
        return touch

    def _touch_of(self, sql: str, params: Params) -> Touch:
        """Ask SQLite itself, which asks an authorizer about each access of a statement that it compiles."""
        if sql in _VIEWS:
            return Touch.of(sql, frozenset({_VIEWS[sql]}), frozenset())
        if sql.lstrip().partition(" ")[0].upper() in _CONTROL:
            return Touch.of(sql, frozenset(), frozenset())
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
        return Touch.of(sql, frozenset(read | changed | counted), frozenset(inserted | changed | counted))


class ContentStore(SqliteStore):
    """A store in memory, for one thread at a time."""

    _observed: ObservedDatabase

    def __init__(self, *, clock: Clock, entropy: Entropy) -> None:
        super().__init__(None, clock=clock, entropy=entropy)
        self._tables.resources = ObservedResources(self._observed, self._observed.parts)
        self._tables.timers = GroupedTimers(self._observed)
        self._tables.attempts = NoAttempts(self._observed)
        self._tables.runs = NoRuns(self._observed)
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%' ORDER BY name"
        self.tables: Sequence[str] = [name for (name,) in self._observed.connection.execute(sql)]
        """All tables, SQLite's sequences among them."""

    def database_on(self, connection: sqlite3.Connection) -> SqliteDatabase:
        self._observed = ObservedDatabase(connection)
        return self._observed

    def run(self, step: Step[T]) -> T:
        """Run a step in a transaction of its own. Its counts are forgotten: they would be those of all histories.

        A step that goes on after a part of its writes has failed runs again, with savepoints.
        """
        try:
            return self._run_alone(step, is_guarded=False)
        except StartAnew:
            return self._run_alone(step, is_guarded=True)

    def _run_alone(self, step: Step[T], *, is_guarded: bool) -> T:
        database = self._observed
        database.run("BEGIN IMMEDIATE", NO_PARAMS)
        tx = self._transaction(is_guarded=is_guarded)
        written = database.written
        try:
            answer = step(tx)
        except BaseException:
            self._undo_alone(has_written=database.written != written)
            raise
        database.run("COMMIT", NO_PARAMS)
        self.announce(frozenset(tx.topics))
        return answer

    def _undo_alone(self, *, has_written: bool) -> None:
        """Roll the step back that has failed; what its caches know of rows stands if it has written none."""
        self._observed.run("ROLLBACK", NO_PARAMS)
        if has_written:
            self._tables.undone()

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
        self._observed.forget_touched()
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

    def put(self, contents: Mapping[str, Rows], held: Mapping[str, Rows]) -> None:
        """Replace all rows of these tables. `held` are the rows that tables have now, as far as that is known."""
        connection = self._observed.connection
        for table, rows in sorted(contents.items(), key=lambda one: one[0] == SEQUENCES):  # Inserts count further.
            before = held.get(table)
            if table == RESOURCES and before is not None:
                self._put_changed(before, rows)
                continue
            if before != () or table == SEQUENCES:
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - ours
        self._accumulator.clear()
        if contents.keys() & {"facts", RESOURCES}:
            self._tables.forget()
        else:
            self._tables.forget_hints()

    def _put_changed(self, before: Rows, rows: Rows) -> None:
        """Replace the resources that are others than before: most are the same."""
        connection = self._observed.connection
        gone = set(before) - set(rows)
        made = set(rows) - set(before)
        connection.executemany(
            "DELETE FROM resources WHERE kind = ? AND scope = ? AND name = ?", [row[:3] for row in gone]
        )
        connection.executemany("INSERT INTO resources VALUES (?, ?, ?, ?, ?)", list(made))
