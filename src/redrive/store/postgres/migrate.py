"""Forward-only migrations of a store in PostgreSQL: `migrations/postgresql/NNNN_name.sql`, numbered as SQLite's.

`store_state.schema_version` holds the number of the last one. One server migrates at a time, under an advisory lock,
while older servers work: a server serves a schema that is one newer than its own, so a migration must leave the older
server's statements right. Whatever is not compatible takes two releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import LiteralString

import psycopg

from redrive.core.errors import UserError
from redrive.store.postgres.opening import SESSION, Connection
from redrive.store.postgres.refusals import refusal

OVERLAP = 1
"""How many migrations newer than its own a server works with."""

MIGRATING_KEY = 0x7265647269766502
"""The advisory lock of the server that migrates; opening.py has another one."""

_FOREIGN: LiteralString = """
SELECT relname FROM pg_class
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
AND relkind IN ('r', 'p', 'v', 'm', 'f')
AND NOT EXISTS (
  SELECT FROM pg_depend
  WHERE pg_depend.classid = 'pg_class'::regclass AND pg_depend.objid = pg_class.oid AND pg_depend.deptype = 'e'
)
ORDER BY relname
"""
"""The tables and views of the schema, without those of extensions."""

_STATE: LiteralString = """
SELECT count(*) FROM pg_attribute
WHERE attrelid = to_regclass(quote_ident(current_schema()) || '.store_state')
AND attname IN ('only', 'schema_version', 'generation')
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema."""

    number: int
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations, in order."""
    folder = resources.files("redrive.store").joinpath("migrations", "postgresql")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(Migration(int(name[:4]), folder.joinpath(name).read_text("utf-8")) for name in names)


def schema_version(connection: Connection, shown: str, *, known: int) -> int:
    """The number of a store's last migration; 0 for an empty schema. `known`: the last one of this redrive.

    Errors: UserError if the schema holds somebody else's tables, or comes from too new a redrive.
    """
    try:
        version = _version(connection, shown)
    except psycopg.Error as error:
        raise refusal(shown, error) from error
    if version > known + OVERLAP:
        raise UserError(
            f"{shown} was written by a newer redrive (schema {version}, this one knows {known}).",
            next_step="Upgrade redrive, or name another database.",
        )
    return version


def migrate(connection: Connection, shown: str, steps: Sequence[Migration] | None = None) -> int:
    """Bring a store to this version's schema, or leave it as it is if it is newer. Returns the number that it then has.

    Of several servers that start together, one migrates and the others wait. Each step is a transaction: what fails
    leaves the steps before it. Errors: UserError: those of `schema_version`; the user may not create tables.
    """
    todo = migrations() if steps is None else steps
    known = todo[-1].number
    version = schema_version(connection, shown, known=known)
    if version >= known:
        return version
    try:
        with _alone(connection):
            version = schema_version(connection, shown, known=known)
            for step in todo:
                if step.number > version:
                    _apply(connection, step)
                    version = step.number
    except psycopg.Error as error:
        raise refusal(shown, error) from error
    return version


def _version(connection: Connection, shown: str) -> int:
    columns = connection.execute(_STATE).fetchone()
    if columns == (3,):
        row = connection.execute("SELECT schema_version FROM store_state").fetchone()
        if row is not None:
            return int(row[0])
    foreign = [str(name) for (name,) in connection.execute(_FOREIGN).fetchall()]
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise UserError(
            f"{shown} holds tables that are not redrive's ({', '.join(foreign[:3])}{more}); it was left as it is.",
            next_step="Give redrive a database of its own, or a schema: CREATE SCHEMA redrive; and then"
            " ?options=-csearch_path%3Dredrive at the end of the URL.",
        )
    return 0


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Wait for the lock as long as another server's migration takes."""
    connection.execute("SELECT set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false)")
    connection.execute("SELECT pg_advisory_lock(%s)", (MIGRATING_KEY,))
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s)", (MIGRATING_KEY,))
            for name in ("lock_timeout", "statement_timeout"):
                connection.execute("SELECT set_config(%s, %s, false)", (name, SESSION[name]))


def _apply(connection: Connection, step: Migration) -> None:
    """Apply one step and its number. A lock that servers hold is not waited for longer than they could bear."""
    with connection.transaction():
        connection.execute("SELECT set_config('lock_timeout', %s, true)", (SESSION["lock_timeout"],))
        connection.execute(step.sql.encode())
        connection.execute("UPDATE store_state SET schema_version = %s", (step.number,))
