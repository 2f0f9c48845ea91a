"""The report on a store in PostgreSQL: its schema, its size, its rows, and what is wrong with it."""

from __future__ import annotations

from contextlib import closing

import psycopg
from psycopg.sql import SQL, Identifier

from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.store.postgres.migrate import migrations, schema_version
from redrive.store.postgres.opening import Connection, connect_to_look
from redrive.store.postgres.refusals import refusal
from redrive.store.postgres.url import StoreUrl

_INVALID = SQL("""
SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
WHERE NOT indisvalid AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) ORDER BY 1
""")
_TABLES = SQL('SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename COLLATE "C"')


def report_on_database(url: StoreUrl) -> Document:
    """Count all rows of a store, as of one instant, while servers may use it. Changes nothing.

    Errors: UserError if there is no answer, no store, or the store of too new a redrive.
    """
    with closing(connect_to_look(url)) as connection:
        known = migrations()[-1].number
        version = schema_version(connection, url.shown, known=known)
        if not version:
            raise UserError(f"There is no store in {url}.", next_step="Name the database that --store names.")
        try:
            return _report(connection, url.shown, version)
        except psycopg.Error as error:
            raise refusal(url.shown, error) from error


def _report(connection: Connection, shown: str, version: int) -> Document:
    connection.execute("SELECT set_config('statement_timeout', '0', false)")  # Counting reads whole tables.
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    findings = [f"the index {name} is not valid; rebuild it: REINDEX INDEX" for (name,) in connection.execute(_INVALID)]
    names = [str(name) for (name,) in connection.execute(_TABLES).fetchall()]
    tables = {
        name: _number(connection, SQL("SELECT count(*) FROM {}").format(Identifier(name)).as_bytes()) for name in names
    }
    size = _number(connection, b"SELECT pg_database_size(current_database())")
    connection.execute("COMMIT")
    return {
        "store": shown,
        "ok": not findings,
        "findings": findings,
        "schema": version,
        "server": connection.info.parameter_status("server_version"),
        "bytes": size,
        "tables": tables,
    }


def _number(connection: Connection, query: bytes) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])
