"""A cache of the earliest instant of each kind of row. An entry is valid until a row of its kind is written.

An engine asks for all of them whenever time moves, and most of them have not changed.
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.store.database import Database


class Earliest:
    """Caches the results of one statement, which has a parameter `kind` and returns one instant or NULL."""

    __slots__ = ("_database", "_known", "_sql")

    def __init__(self, database: Database, sql: str) -> None:
        self._database = database
        self._sql = sql
        self._known: dict[str, Instant | None] = {}

    def of(self, kind: str) -> Instant | None:
        """The earliest instant of this kind, or None if there is none."""
        try:
            return self._known[kind]
        except KeyError:
            row = self._database.one(self._sql, {"kind": kind})
            earliest = self._known[kind] = None if row is None or row[0] is None else int(row[0])
            return earliest

    def put(self, kind: str, at: Instant) -> None:
        """Tell that a row was inserted at this instant or moved to it."""
        if kind not in self._known:
            return
        earliest = self._known[kind]
        if earliest is None or at <= earliest:
            self._known[kind] = at
        else:
            del self._known[kind]  # The moved row may have been the earliest.

    def changed(self, kind: str) -> None:
        """Tell that rows of this kind were written."""
        self._known.pop(kind, None)

    def forget(self) -> None:
        """Clear the cache: rows of any kind were written, or a rollback happened."""
        self._known.clear()
