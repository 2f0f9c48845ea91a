"""Where the bytes of large bodies go and come from, outside of steps: `Bodies`, and the bodies in rows.

    begin ──► write … write ──► finish    the body is durable, and a step may adopt it
                    └─────────► abort     nothing is left of it

All methods may wait for a disk or a database, so no event loop's thread calls them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from redrive.core.errors import UserError
from redrive.store.api import Step
from redrive.store.tables.bodies import PIECE_BYTES

T = TypeVar("T")


class BodyGone(UserError):
    """A body, or its end, is not there any more: everybody who had it has released it, and it was deleted."""

    def __init__(self, body_id: str) -> None:
        super().__init__(f"The body {body_id} was deleted while it was read.", next_step="Ask again for the object.")


class BodyWriter(Protocol):
    """A body that is being received. One thread at a time uses it."""

    @property
    def body_id(self) -> str:
        """The id of the body."""
        ...

    def write(self, piece: bytes) -> None:
        """Append bytes. Errors: StoreFull, and those of the disk or the database."""
        ...

    def finish(self) -> None:
        """Make the body durable. Errors: as `write`."""
        ...

    def abort(self) -> None:
        """Delete what was written. It is no error if that is not possible: it will be deleted later."""
        ...


class BodyReader(Protocol):
    """One body, which is read piece by piece. One thread at a time uses it."""

    def read(self, first: int, size: int) -> bytes:
        """The bytes from `first` on. Errors: BodyGone (fewer are there), and those of the disk or the database."""
        ...

    def close(self) -> None:
        """Read no more."""
        ...


class Bodies(Protocol):
    """The large bodies of a store. Any thread may call it."""

    def begin(self, body_id: str) -> BodyWriter:
        """Begin to receive a body. Errors: StoreFull, and those of the disk or the database."""
        ...

    def open(self, body_id: str) -> BodyReader:
        """Begin to read a body. Errors: BodyGone."""
        ...

    def hold(self, body_ids: Iterable[str]) -> None:
        """Let these bodies not be deleted for a while, even if everybody releases them: they are being read."""
        ...

    def reject(self, body_id: str) -> None:
        """Delete a received body now, unless somebody has adopted it."""
        ...


class Runner(Protocol):
    """Runs a step, and returns after its commit."""

    def __call__(self, step: Step[T]) -> T: ...


class RowBodies:
    """Bodies in rows, of a store in memory or in a database that nodes share."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def begin(self, body_id: str) -> BodyWriter:
        """See Bodies."""
        self._run(lambda tx: tx.bodies.begin(body_id, now=tx.now))
        return _RowWriter(body_id, self._run)

    def open(self, body_id: str) -> BodyReader:
        """See Bodies."""
        return _RowReader(body_id, self._run)

    def hold(self, body_ids: Iterable[str]) -> None:
        """See Bodies."""
        self._run(lambda tx: tx.bodies.hold(body_ids, now=tx.now))

    def reject(self, body_id: str) -> None:
        """See Bodies."""
        while not self._run(lambda tx: tx.bodies.reject(body_id)):
            pass


class _RowWriter:
    """Commits a piece when it is full."""

    def __init__(self, body_id: str, run: Runner) -> None:
        self.body_id = body_id
        self._run = run
        self._piece = bytearray()
        self._first = 0

    def write(self, piece: bytes) -> None:
        self._piece += piece
        while len(self._piece) >= PIECE_BYTES:
            self._put(bytes(self._piece[:PIECE_BYTES]))
            del self._piece[:PIECE_BYTES]

    def finish(self) -> None:
        if self._piece:
            self._put(bytes(self._piece))
            self._piece.clear()

    def abort(self) -> None:
        """Nothing to do: nobody adopts the body, so the worker deletes its pieces."""
        self._piece.clear()

    def _put(self, content: bytes) -> None:
        first = self._first
        self._run(lambda tx: tx.bodies.put_piece(self.body_id, first, content, now=tx.now))
        self._first += len(content)


class _RowReader:
    """Reads each piece in a transaction of its own."""

    def __init__(self, body_id: str, run: Runner) -> None:
        self._body_id = body_id
        self._run = run

    def read(self, first: int, size: int) -> bytes:
        found: bytes = self._run(lambda tx: tx.bodies.read(self._body_id, first, size))
        if len(found) != size:
            raise BodyGone(self._body_id)
        return found

    def close(self) -> None:
        """Nothing to do: no transaction is open between two pieces."""


class DiskBodies:
    """Bodies in files beside the store. Those that a step has put are rows."""

    def __init__(self, files: OpensFiles, rows: RowBodies) -> None:
        self._files = files
        self._rows = rows

    def begin(self, body_id: str) -> BodyWriter:
        """See Bodies."""
        return self._files.begin(body_id)

    def open(self, body_id: str) -> BodyReader:
        """See Bodies."""
        return self._files.open(body_id) or self._rows.open(body_id)

    def hold(self, body_ids: Iterable[str]) -> None:
        """See Bodies."""
        self._rows.hold(body_ids)

    def reject(self, body_id: str) -> None:
        """See Bodies."""
        self._rows.reject(body_id)
        self._files.sweep()


class OpensFiles(Protocol):
    """The files of bodies (store/files/bodies.py)."""

    def begin(self, body_id: str) -> BodyWriter:
        """A new file."""
        ...

    def open(self, body_id: str) -> BodyReader | None:
        """The file of a body; None if it has none."""
        ...

    def sweep(self) -> None:
        """Delete the files of bodies that nobody has."""
        ...
