"""A PostgreSQL database as one side of a copy. Rows go by COPY in its binary form, one by one: none is too large."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg.sql import SQL, Composable, Identifier

from redrive.core.errors import UserError
from redrive.store.copying.sides import Table, check_schema
from redrive.store.database import Row
from redrive.store.postgres.migrate import migrate, migrations, schema_version
from redrive.store.postgres.opening import Connection, connect_alone
from redrive.store.postgres.refusals import refusal
from redrive.store.postgres.url import StoreUrl

OWN_TABLES = frozenset({"nodes", "store_state", "wake_ups"})
"""The tables that only PostgreSQL has: who uses the store, what its schema is, and which timers may be due earlier."""

_READ_AS = {
    # Wake-ups that no server has taken yet are part of their timers.
    "timers": SQL(
        "(SELECT kind, name, min(at) AS at FROM (SELECT kind, name, at FROM timers"
        " UNION ALL SELECT kind, name, at FROM wake_ups) AS noted GROUP BY kind, name) AS timers"
    )
}

_TABLES = SQL("""
SELECT relname, array_agg(attname::text ORDER BY attnum) FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND relkind IN ('r', 'p')
AND attnum > 0 AND NOT attisdropped GROUP BY relname ORDER BY relname COLLATE "C"
""")
_TYPES = SQL("""
SELECT attname::text, atttypid::int FROM pg_attribute
WHERE attrelid = to_regclass(quote_ident(current_schema()) || '.' || quote_ident(%s)) AND attnum > 0
""")
_IDENTITY = SQL("""
SELECT attname::text, pg_get_serial_sequence(quote_ident(current_schema()) || '.' || quote_ident(%s), attname)
FROM pg_attribute
WHERE attrelid = to_regclass(quote_ident(current_schema()) || '.' || quote_ident(%s)) AND attidentity <> ''
""")


class PostgresSide:
    """A store in a database, as source or as target. Its own errors are raised by the context managers below."""

    def __init__(self, connection: Connection, shown: str) -> None:
        self._connection = connection
        self.shown = shown

    def tables(self) -> Sequence[Table]:
        found = self._connection.execute(_TABLES).fetchall()
        return [Table(name, columns) for name, columns in found if name not in OWN_TABLES]

    def count(self, table: Table) -> int:
        row = self._connection.execute(SQL("SELECT count(*) FROM {}").format(_read_as(table))).fetchone()
        assert row is not None
        return int(row[0])

    def rows(self, table: Table, columns: Sequence[str]) -> Generator[Row, None, None]:
        types = self._types(table, columns)
        statement = SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT BINARY)").format(_listed(columns), _read_as(table))
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(types)
            yield from copy.rows()

    def numbering(self, table: Table) -> int:
        identity = self._identity(table)
        if identity is None:
            return 0
        column, sequence = identity
        query = SQL("SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}), max({}) FROM {}")
        row = self._connection.execute(
            query.format(SQL(sequence), Identifier(column), Identifier(table.name))
        ).fetchone()
        assert row is not None
        return max(int(row[0]), int(row[1] or 0))

    def put(self, table: Table, columns: Sequence[str], rows: Iterable[Row]) -> None:
        types = self._types(table, columns)
        statement = SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(Identifier(table.name), _listed(columns))
        try:
            with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
                copy.set_types(types)
                for row in rows:
                    copy.write_row(row)
        except psycopg.errors.CharacterNotInRepertoire as error:
            raise UserError(
                f"{self.shown} cannot hold a text in which the character NUL is ({error.diag.context}).",
                next_step="Delete what has this text, and copy again. The database was left empty.",
            ) from error

    def go_on_after(self, table: Table, number: int) -> None:
        identity = self._identity(table)
        if identity is not None and number:
            self._connection.execute("SELECT setval(%s, %s)", (identity[1], number))

    def finish(self) -> None:
        self._connection.execute("COMMIT")

    def _types(self, table: Table, columns: Sequence[str]) -> list[int]:
        types: dict[str, int] = dict(self._connection.execute(_TYPES, (table.name,)).fetchall())
        return [types[name] for name in columns]

    def _identity(self, table: Table) -> tuple[str, str] | None:
        """The identity column of a table, and its sequence's name, quoted."""
        found = self._connection.execute(_IDENTITY, (table.name, table.name)).fetchone()
        return None if found is None else (str(found[0]), str(found[1]))


@contextmanager
def reading_database(url: StoreUrl) -> Iterator[PostgresSide]:
    """The store of a database, which no server may use meanwhile.

    Errors: UserError: there is no store, it is in use, of another version's schema, or the server fails.
    """
    with _alone(url) as connection:
        known = migrations()[-1].number
        version = schema_version(connection, url.shown, known=known)
        if not version:
            raise UserError(f"There is no store in {url}.", next_step="Name the database that --store names.")
        check_schema(url.shown, version, known)
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield PostgresSide(connection, url.shown)


@contextmanager
def filling_database(url: StoreUrl) -> Iterator[PostgresSide]:
    """An empty store in a database. All rows are one transaction: what is interrupted leaves it empty.

    Errors: UserError: there are rows already, it is in use, it is not redrive's, or the server fails.
    """
    with _alone(url) as connection:
        known = migrations()[-1].number
        check_schema(url.shown, migrate(connection, url.shown), known)
        _set_without_limits(connection)
        connection.execute("BEGIN")
        side = PostgresSide(connection, url.shown)
        filled = next((table.name for table in side.tables() if side.count(table)), None)
        if filled is not None:
            raise UserError(
                f"There is a store in {url} already: its table {filled} has rows. It was left as it is.",
                next_step="Name an empty database: CREATE DATABASE name;",
            )
        yield side


@contextmanager
def _alone(url: StoreUrl) -> Iterator[Connection]:
    with connect_alone(url) as connection:
        try:
            _set_without_limits(connection)
            yield connection
        except psycopg.Error as error:
            raise refusal(url.shown, error) from error
        finally:
            connection.close()


def _set_without_limits(connection: Connection) -> None:
    """A copy takes longer than any statement of a server may."""
    for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute("SELECT set_config(%s, '0', false)", (name,))


def _read_as(table: Table) -> Composable:
    """What stands for a table behind FROM."""
    return _READ_AS.get(table.name) or Identifier(table.name)


def _listed(columns: Sequence[str]) -> Composable:
    return SQL(", ").join(map(Identifier, columns))
