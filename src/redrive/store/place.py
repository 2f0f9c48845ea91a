"""Where a store is: in a file, in memory, or in a PostgreSQL database; and the store that is opened there."""

from __future__ import annotations

from pathlib import Path

from redrive.core.clock import Clock
from redrive.core.entropy import Entropy
from redrive.core.errors import UserError
from redrive.store.postgres.url import StoreUrl
from redrive.store.sqlite import SqliteStore

Place = Path | StoreUrl
"""A directory or file on this machine, or a database."""


def open_store(place: Place | None, *, clock: Clock, entropy: Entropy, defers_sync: bool) -> SqliteStore:
    """Open or create the store at a place: a file, a database, or for None a new one in memory.

    Errors: UserError: the store belongs to another program or a newer redrive, is damaged, or cannot be reached.
    """
    if isinstance(place, StoreUrl):
        raise UserError(
            f"This redrive copies and checks stores in PostgreSQL, but does not serve from them yet: {place}.",
            next_step="Serve from a directory: redrive serve --data DIR",
        )
    return SqliteStore(place, clock=clock, entropy=entropy, defers_sync=defers_sync)
