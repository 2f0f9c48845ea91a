"""Connections to a store in PostgreSQL: how a session is set up, and who uses the store.

Each connection of a server holds a shared advisory lock; whoever needs the store for itself takes the same lock alone.
The session pins the planner: on a table without statistics PostgreSQL reads whole tables otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow

from redrive.core.errors import UserError
from redrive.store.postgres.refusals import refusal
from redrive.store.postgres.url import StoreUrl

Connection = psycopg.Connection[TupleRow]

OLDEST = 14
"""The oldest major version of PostgreSQL that is served."""

IN_USE_KEY = 0x7265647269766501
"""The advisory lock of those who use a store. Its first seven bytes spell redrive."""

SESSION: Mapping[str, str] = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    "jit": "off",
    "idle_in_transaction_session_timeout": "10s",
    "statement_timeout": "30s",
    "lock_timeout": "5s",
    "client_encoding": "UTF8",
    "timezone": "UTC",
}

_CONNECTION: Mapping[str, str] = {
    # A URL may say otherwise. The server's end of a connection whose node stands still is found by the server.
    "application_name": "redrive",
    "connect_timeout": "10",
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}

_SHARE: LiteralString = "SELECT pg_try_advisory_lock_shared(%s)"
_TAKE: LiteralString = "SELECT pg_advisory_lock(%s) IS NOT NULL"
_PATIENCE: LiteralString = "SELECT set_config('lock_timeout', %s, false)"
_WAITS = "2s"
"""How long the store may stay in use. PostgreSQL learns of a process that was killed, or that left in the middle of a
copy, some milliseconds after its end; its lock stays until then."""
_FACTS: LiteralString = (
    "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean,"
    " current_setting('server_encoding'), current_schema()"
)


def connect(url: StoreUrl) -> Connection:
    """A connection of a server, in autocommit. While it is open, nobody gets the store alone.

    Errors: UserError: no answer, no rights, no such database, too old a version …; the store is being copied.
    """
    connection = connect_to_look(url)
    if not _holds(connection, url, _SHARE):
        raise UserError(f"{url} is being copied by another process.", next_step="Wait until that has ended.")
    return connection


def connect_alone(url: StoreUrl) -> Connection:
    """The only connection that uses the store until it is closed. Errors: as `connect`; UserError: it is in use."""
    connection = connect_to_look(url)
    connection.execute(_PATIENCE, (_WAITS,))
    if not _holds(connection, url, _TAKE):
        raise UserError(
            f"{url} is in use by a redrive server.", next_step="Stop all servers that use it, and try again."
        )
    connection.execute(_PATIENCE, (SESSION["lock_timeout"],))
    return connection


def connect_to_look(url: StoreUrl) -> Connection:
    """A connection beside those who use the store. Errors: UserError."""
    given = conninfo_to_dict(url.conninfo)
    parts = {name: value for name, value in _CONNECTION.items() if name not in given}
    try:
        connection = psycopg.connect(url.conninfo, autocommit=True, **parts)  # type: ignore[arg-type]  # By name.
    except psycopg.Error as error:
        raise refusal(url.shown, error) from error
    try:
        check_version(url.shown, connection.info.server_version)
        set_up(connection)
        _check_facts(connection, url.shown)
    except psycopg.Error as error:
        connection.close()
        raise refusal(url.shown, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def set_up(connection: Connection) -> None:
    """Set the session as a store needs it. Errors: psycopg.Error."""
    row = ", ".join(["set_config(%s, %s, false)"] * len(SESSION))
    values = [word for pair in SESSION.items() for word in pair]
    connection.execute(f"SELECT {row}".encode(), values)


def check_version(shown: str, number: int) -> None:
    """Errors: UserError if a server is older than redrive serves. `number` as the server says it: 140005 is 14.5."""
    if number < OLDEST * 10_000:
        version = f"{number // 10_000}.{number % 10_000}"
        raise UserError(
            f"{shown} is a PostgreSQL {version}, or says that it is compatible with that; redrive needs {OLDEST}.",
            next_step=f"Name a server of version {OLDEST} or newer.",
        )


def _check_facts(connection: Connection, shown: str) -> None:
    """Errors: UserError if the database is a replica, has another encoding than UTF-8, or has no schema to use."""
    row = connection.execute(_FACTS).fetchone()
    assert row is not None
    is_read_only, encoding, schema = row
    if is_read_only:
        raise refusal(shown, psycopg.errors.ReadOnlySqlTransaction("read-only transaction"))
    if encoding != "UTF8":
        raise UserError(
            f"{shown} keeps text as {encoding}, which has not every character.",
            next_step="Create another database: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0;",
        )
    if schema is None:
        raise UserError(
            f"{shown} has none of the schemas of its search_path.",
            next_step="Create the schema, or name one that is there: ?options=-csearch_path%3Dname",
        )


def _holds(connection: Connection, url: StoreUrl, lock: LiteralString) -> bool:
    """Take a lock until the connection is closed. If others hold it, the connection is closed. Errors: UserError."""
    try:
        row = connection.execute(lock, (IN_USE_KEY,)).fetchone()
    except psycopg.errors.LockNotAvailable:
        row = (False,)
    except psycopg.Error as error:
        connection.close()
        raise refusal(url.shown, error) from error
    if row != (True,):
        connection.close()
    return row == (True,)
