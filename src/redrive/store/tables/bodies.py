"""Large bodies of objects: each has an id that nothing else has ever had, and never changes.

    begin ──► adopt ──► share … release ──► nobody has the body: it is unreferenced, and deleted later
        put ──┘

The bytes are rows here, in pieces; or a file beside the store, which `BodyFiles` (store/files/bodies.py) writes. A body
that is being received is unreferenced until it is adopted: what an upload leaves behind is deleted like all the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from redrive.core.clock import Instant
from redrive.core.errors import Bug, Conflict
from redrive.store.database import Database
from redrive.store.earliest import Earliest
from redrive.store.queries import load_queries

_SQL = load_queries("bodies")

PIECE_BYTES = 1024 * 1024
"""Pieces are read and written as a whole: smaller pieces cost statements, larger ones memory."""

PIECES_DELETED_MAX = 64
"""How many pieces of a body one transaction deletes."""

ROWS, FILE = "rows", "file"
_UNREFERENCED = "unreferenced"


class Files(Protocol):
    """The files of bodies, as steps use them. What a step does with them is right even if it is rolled back."""

    def has(self, body_id: str) -> bool:
        """Whether there is a file."""
        ...

    def read(self, body_id: str, first: int, size: int) -> bytes:
        """The bytes from `first` on. Errors: BodyGone."""
        ...

    def discard(self, body_id: str) -> None:
        """Take away the file of a body that nobody will have again."""
        ...


class Unreferenced(NamedTuple):
    """A body that nobody has any more."""

    body_id: str
    place: str


class BodyTable:
    """The bodies, and how many objects and parts have each."""

    __slots__ = ("_database", "_earliest", "_files")

    def __init__(self, database: Database, files: Files | None = None) -> None:
        """With `files`, bodies that are received are files; without, rows."""
        self._database = database
        self._files = files
        self._earliest = Earliest(database, _SQL["next_unreferenced"])

    def put(self, body_id: str, content: bytes, *, now: Instant) -> None:
        """Store a whole body, whose first reference the caller has."""
        for first in range(0, len(content), PIECE_BYTES):
            self._database.write(_SQL["put_piece"], (body_id, first, content[first : first + PIECE_BYTES]))
        self._put(body_id, len(content), ROWS, now)

    def begin(self, body_id: str, *, now: Instant) -> None:
        """Begin to receive a body in rows."""
        self._database.write(_SQL["begin"], {"id": body_id, "at": now})
        self._earliest.put(_UNREFERENCED, now)

    def put_piece(self, body_id: str, first: int, content: bytes, *, now: Instant) -> None:
        """Store the bytes from `first` on of a body that is being received."""
        self._database.write(_SQL["put_piece"], (body_id, first, content))
        self.hold([body_id], now=now)

    def adopt(self, body_id: str, size: int, *, now: Instant) -> None:
        """Take the first reference to a body that was received. Errors: Conflict: it was deleted meanwhile."""
        if self._files is None:
            self._earliest.changed(_UNREFERENCED)
            is_there = self._database.run(_SQL["adopt"], {"id": body_id, "size": size, "at": now}) == 1
        else:
            is_there = self._files.has(body_id)
            self._put(body_id, size, FILE, now)
        if not is_there:
            raise Conflict(f"the body {body_id} came too long ago")

    def share(self, body_id: str, *, now: Instant) -> None:
        """Take one more reference."""
        self._database.write(_SQL["count"], {"id": body_id, "by": 1, "at": now})

    def release(self, body_id: str, *, now: Instant) -> None:
        """Give a reference back."""
        self._database.write(_SQL["count"], {"id": body_id, "by": -1, "at": now})
        self._earliest.put(_UNREFERENCED, now)

    def hold(self, body_ids: Iterable[str], *, now: Instant) -> None:
        """Let bodies that nobody has, or will have soon, be deleted later: they are being written or read."""
        for body_id in body_ids:
            self._database.write(_SQL["renew"], {"id": body_id, "at": now})
        self._earliest.changed(_UNREFERENCED)

    def read(self, body_id: str, first: int, size: int) -> bytes:
        """The bytes of a body. Fewer than asked for, if the body ends before. Errors: BodyGone (a file)."""
        if self._files is not None and self._place(body_id) == FILE:
            return self._files.read(body_id, first, size)
        rows = self._database.all(_SQL["pieces"], {"id": body_id, "first": first, "last": first + size})
        found = b"".join([bytes(content) for _, content in rows])
        skipped = first - rows[0][0] if rows else 0
        return found[skipped : skipped + size]

    def known(self, body_ids: Iterable[str]) -> frozenset[str]:
        """Which of these bodies were adopted, or are being received in rows."""
        return frozenset(body_id for body_id in body_ids if self._place(body_id) is not None)

    def next_unreferenced(self) -> Instant | None:
        """Since when the longest unreferenced body has been so, or has been used; None if there is none."""
        return self._earliest.of(_UNREFERENCED)

    def unreferenced(self, *, now: Instant, limit: int) -> Sequence[Unreferenced]:
        """Bodies that nobody has since `now` or before, the oldest first."""
        rows = self._database.all(_SQL["unreferenced"], {"at": now, "limit": limit})
        return [Unreferenced(body_id, place) for body_id, place in rows]

    def delete(self, body: Unreferenced) -> bool:
        """Delete an unreferenced body, or a part of it. True if nothing is left of it."""
        self._earliest.changed(_UNREFERENCED)
        if body.place == FILE:
            if self._files is not None:
                self._files.discard(body.body_id)
        elif self._database.run(_SQL["give_up"], {"id": body.body_id}) != 1:
            return True  # Somebody has adopted the body, or another node has deleted it.
        elif (lowest := self._first_piece(body.body_id)) is not None:
            before = lowest + PIECES_DELETED_MAX * PIECE_BYTES
            self._database.write(_SQL["delete_pieces"], {"id": body.body_id, "before": before})
            if self._first_piece(body.body_id) is not None:
                return False
        self._database.write(_SQL["delete"], {"id": body.body_id})
        return True

    def reject(self, body_id: str) -> bool:
        """Delete a received body, or a part of it, unless somebody has adopted it. True if nothing is left to do."""
        if self._files is None:
            return self.delete(Unreferenced(body_id, ROWS))
        if self._place(body_id) is None:
            self._files.discard(body_id)
        return True

    def in_files(self) -> Sequence[tuple[str, int]]:
        """All bodies that are files, each with its size."""
        return [(str(body_id), int(size)) for body_id, size in self._database.all(_SQL["in_files"], {})]

    def bring_in(self, body_id: str, size: int, files: Files) -> None:
        """Make rows of a body that is a file of another store. Errors: BodyGone; Bug (the file is shorter)."""
        for first in range(0, size, PIECE_BYTES):
            content = files.read(body_id, first, min(PIECE_BYTES, size - first))
            if len(content) != min(PIECE_BYTES, size - first):
                raise Bug(f"the file of {body_id} has fewer than {size} bytes")
            self._database.write(_SQL["put_piece"], (body_id, first, content))
        self._database.write(_SQL["in_rows_now"], {"id": body_id})

    def forget(self) -> None:
        """Clear the cache: another has written, or a rollback happened."""
        self._earliest.forget()

    def _put(self, body_id: str, size: int, place: str, now: Instant) -> None:
        self._database.write(_SQL["put"], {"id": body_id, "size": size, "place": place, "at": now})

    def _place(self, body_id: str) -> str | None:
        row = self._database.one(_SQL["place"], (body_id,))
        return None if row is None else str(row[0])

    def _first_piece(self, body_id: str) -> int | None:
        row = self._database.one(_SQL["first_piece"], {"id": body_id})
        return None if row is None or row[0] is None else int(row[0])
