"""Forward-only migrations: `migrations/NNNN_name.sql`, each applied once, in order, in its own transaction.

`user_version` holds the number of the last migration. `application_id` marks a file as a redrive store, so that redrive
never writes to another program's database.
"""

from __future__ import annotations

import sqlite3
from importlib import resources

from redrive.core.errors import UserError
from redrive.store.slots import slot_of

APPLICATION_ID = 0x52445256  # "RDRV"


def migrations() -> list[tuple[int, str]]:
    """All migrations as (number, SQL), in order."""
    folder = resources.files("redrive.store").joinpath("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), folder.joinpath(name).read_text("utf-8")) for name in names]


def schema_version(connection: sqlite3.Connection, location: str) -> int:
    """The number of a store's last migration; 0 for an empty database.

    Errors: UserError if the database belongs to another program or a newer redrive; sqlite3.DatabaseError if it is
    damaged.
    """
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application_id != APPLICATION_ID and (tables or application_id):
        raise UserError(
            f"{location} is a database, but not a redrive store; it was left as it is.",
            next_step="Choose another --data.",
        )
    known = migrations()[-1][0]
    if version > known:
        raise UserError(
            f"{location} was written by a newer redrive (schema {version}, this one knows {known}).",
            next_step="Upgrade redrive, or choose another --data.",
        )
    return int(version)


def migrate(connection: sqlite3.Connection, location: str) -> None:
    """Migrate a database to this version's schema. Errors: those of `schema_version`."""
    version = schema_version(connection, location)
    connection.create_function("slot_of", 1, slot_of, deterministic=True)
    for number, sql in migrations():
        if number > version:
            connection.executescript(
                f"BEGIN IMMEDIATE; {sql} PRAGMA application_id = {APPLICATION_ID};"
                f" PRAGMA user_version = {number}; COMMIT;"
            )
