"""A data directory as one side of a copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from redrive.core.errors import UserError
from redrive.store.connection import SqliteDatabase, unusable
from redrive.store.copying.sides import SEQ, Table, check_schema
from redrive.store.database import Row
from redrive.store.files.backup import partial_of, put_in_place
from redrive.store.files.bodies import BodyFiles, bodies_beside
from redrive.store.files.directory import STORE_FILE, SUFFIXES, create_private, take_directory, take_existing
from redrive.store.files.life import write_closed
from redrive.store.files.opening import reading
from redrive.store.files.report import report_on
from redrive.store.migrate import migrate, migrations, schema_version
from redrive.store.tables.bodies import FILE, PIECE_BYTES, ROWS, BodyTable

_BODIES, _PIECES = "bodies", "body_pieces"


class SqliteSide:
    """A store in a file, as source or as target. Its own errors are raised by the context managers below."""

    def __init__(self, connection: sqlite3.Connection, shown: str, files: BodyFiles | None = None) -> None:
        """`files` are the bodies of a source that are not rows. They are rows to whoever reads this side."""
        self._connection = connection
        self._bodies = BodyTable(SqliteDatabase(connection))
        self._files = files
        self.shown = shown
        rowids = connection.execute("SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr = 0").fetchall()
        self._with_rowid = {name for (name,) in rowids}

    def tables(self) -> Sequence[Table]:
        found = self._connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
        return [self._table(name) for (name,) in found]

    def count(self, table: Table) -> int:
        (count,) = self._connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()  # noqa: S608 - the schema's own names
        if table.name == _PIECES and self._files is not None:
            count += sum(-(-size // PIECE_BYTES) for _, size in self._bodies.in_files())
        return int(count)

    def rows(self, table: Table, columns: Sequence[str]) -> Generator[Row, None, None]:
        rows = self._connection.execute(f"SELECT {_listed(table, columns)} FROM {table.name}")  # noqa: S608 - as above
        if table.name == _BODIES:
            place = columns.index("place")
            yield from ((*row[:place], ROWS if row[place] == FILE else row[place], *row[place + 1 :]) for row in rows)
            return
        yield from rows
        if table.name == _PIECES and self._files is not None:
            for piece in _pieces_of(self._files, self._bodies.in_files()):
                yield tuple(map(piece.get, columns))

    def numbering(self, table: Table) -> int:
        given = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,)).fetchone()
        highest = None
        if table.name in self._with_rowid:
            highest = self._connection.execute(f"SELECT max(rowid) FROM {table.name}").fetchone()[0]  # noqa: S608 - as above
        return max(highest or 0, given[0] if given else 0)

    def put(self, table: Table, columns: Sequence[str], rows: Iterable[Row]) -> None:
        places = ", ".join("?" * len(columns))
        names = _listed(table, columns)
        self._connection.executemany(f"INSERT INTO {table.name} ({names}) VALUES ({places})", rows)  # noqa: S608 - as above

    def go_on_after(self, table: Table, number: int) -> None:
        """A table without AUTOINCREMENT follows its highest row by itself."""
        (text,) = self._connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table.name,)).fetchone()
        if "AUTOINCREMENT" in text.upper() and number:
            self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table.name,))
            self._connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table.name, number))

    def finish(self) -> None:
        write_closed(SqliteDatabase(self._connection))
        self._connection.execute("COMMIT")

    def _table(self, name: str) -> Table:
        """A table. Its rowid is hidden unless it has a primary key of type INTEGER, which is the rowid then."""
        columns = self._connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (name,)).fetchall()
        is_named = any(kind == "INTEGER" and key for _, kind, key in columns)
        return Table(name, [column for column, _, _ in columns], name in self._with_rowid and not is_named)


@contextmanager
def reading_directory(path: Path) -> Iterator[SqliteSide]:
    """The store of a directory, which no server may use meanwhile.

    Errors: UserError: there is no store, it is in use, damaged, or of another version's schema.
    """
    data = take_existing(path)
    try:
        report = report_on(data.store)
        if not report["ok"]:
            raise UserError(
                f"{data.store} is damaged: {report['findings'][0]}.",
                next_step=f"See all of it with: redrive store check {path}",
            )
        check_schema(str(path), int(report["schema"]), migrations()[-1][0])
        with reading(data.store, without_log=not Path(f"{data.store}-wal").exists()) as connection:
            connection.execute("BEGIN")
            yield SqliteSide(connection, str(path), BodyFiles(bodies_beside(data.store)))
    finally:
        data.release()


@contextmanager
def filling_directory(path: Path) -> Iterator[SqliteSide]:
    """A new store in a directory that has none. Its file gets its name when all is in it, and is deleted otherwise.

    Errors: UserError: there is a store already, the directory is in use, or the disk is full.
    """
    if any((path / f"{STORE_FILE}{suffix}").exists() for suffix in SUFFIXES):
        raise UserError(f"There is a store in {path} already; it was left as it is.", next_step="Choose another TO.")
    data = take_directory(path)
    part = partial_of(data.store)
    try:
        part.unlink(missing_ok=True)
        create_private(part)
        connection = sqlite3.connect(part, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = OFF")  # The whole file is synced at the end.
            migrate(connection, str(path))
            assert schema_version(connection, str(path)) == migrations()[-1][0]
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteSide(connection, str(path))
        except sqlite3.DatabaseError as error:
            raise unusable(str(path), error) from error
        finally:
            connection.close()
        put_in_place(part, data.store)
    finally:
        part.unlink(missing_ok=True)
        Path(f"{part}-journal").unlink(missing_ok=True)
        data.release()


def _pieces_of(files: BodyFiles, bodies: Iterable[tuple[str, int]]) -> Iterator[dict[str, object]]:
    """The rows that files would be. Their hidden numbers are given by the target."""
    for body_id, size in bodies:
        for first in range(0, size, PIECE_BYTES):
            yield {"body_id": body_id, "first": first, "content": files.read(body_id, first, PIECE_BYTES)}


def _listed(table: Table, columns: Sequence[str]) -> str:
    """The columns for a statement: `seq` is the rowid, unless the table has such a column."""
    return ", ".join("rowid" if name == SEQ and SEQ not in table.columns else f'"{name}"' for name in columns)
