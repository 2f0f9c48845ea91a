"""Large bodies of objects: each has an id that nothing else has ever had, and never changes.

    put, or adopt a received body ──► share … release ──► nobody has the body: it is unreferenced, and deleted later

The bytes are rows here, in pieces, or a file beside the store, which the store's `Bodies` (store/bodies.py) writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.queries import load_queries

_SQL = load_queries("bodies")

PIECE_BYTES = 1024 * 1024
"""Pieces are read and written as a whole: smaller pieces cost statements, larger ones memory."""

ROWS, FILE = "rows", "file"


class Unreferenced(NamedTuple):
    """A body that nobody has any more."""

    body_id: str
    place: str


class BodyTable:
    """The bodies, and how many objects and parts have each."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, body_id: str, content: bytes, *, now: Instant) -> None:
        """Store a whole body, whose first reference the caller has."""
        for first in range(0, len(content), PIECE_BYTES):
            self.put_piece(body_id, first, content[first : first + PIECE_BYTES])
        self.adopt(body_id, len(content), now=now, place=ROWS)

    def put_piece(self, body_id: str, first: int, content: bytes) -> None:
        """Store the bytes from `first` on of a body that is not adopted yet."""
        self._database.write(_SQL["put_piece"], (body_id, first, content))

    def adopt(self, body_id: str, size: int, *, now: Instant, place: str) -> None:
        """Take the first reference to a body whose bytes are stored already."""
        row = {"id": body_id, "size": size, "refs": 1, "place": place, "at": now}
        self._database.write(_SQL["put"], row)

    def share(self, body_id: str, *, now: Instant) -> None:
        """Take one more reference."""
        self._database.write(_SQL["count"], {"id": body_id, "by": 1, "at": now})

    def release(self, body_id: str, *, now: Instant) -> None:
        """Give a reference back."""
        self._database.write(_SQL["count"], {"id": body_id, "by": -1, "at": now})

    def read(self, body_id: str, first: int, size: int) -> bytes:
        """The bytes of a body whose place is the rows. Fewer than asked for, if the body ends before."""
        rows = self._database.all(_SQL["pieces"], {"id": body_id, "first": first, "last": first + size})
        found = b"".join([bytes(content) for _, content in rows])
        skipped = first - rows[0][0] if rows else 0
        return found[skipped : skipped + size]

    def unreferenced(self, *, now: Instant, limit: int) -> Sequence[Unreferenced]:
        """Bodies that nobody has since `now` or before, the oldest first."""
        rows = self._database.all(_SQL["unreferenced"], {"at": now, "limit": limit})
        return [Unreferenced(body_id, place) for body_id, place in rows]

    def delete(self, body_id: str) -> None:
        """Delete a body with its pieces."""
        self._database.write(_SQL["delete_pieces"], {"id": body_id})
        self._database.write(_SQL["delete"], {"id": body_id})
