"""The files of large bodies, in a folder beside the store.

    incoming/ID   being received, or received: a step may adopt the body, or has adopted it not long ago
    ab/ID         adopted: the table `bodies` has a row. `ab` are the last two digits of the id
    leaving/ID    nobody has the body: its row is deleted, or will be. The file is deleted soon

A file is synced before anybody may adopt it, and so is the folder that names it. A row is committed after that, so a
row always has its file. A file without a row is in `incoming` or in `leaving`, and both are looked through when the
store is opened: docs/decisions/0016-bodies-of-objects.md has the argument.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from redrive.core.errors import UserError
from redrive.store.bodies import BodyGone, BodyReader, BodyWriter
from redrive.store.connection import StoreFull

SUFFIX = "-bodies"
INCOMING, LEAVING = "incoming", "leaving"
PIECE_BYTES = 1024 * 1024
_DIGITS = 2
_FOLDER, _FILE = 0o700, 0o600
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

Known = Callable[[Sequence[str]], Collection[str]]
"""Says which of these bodies have a row."""


class BodyFiles:
    """The files of one store. Any thread may call it."""

    def __init__(self, folder: Path, *, syncs: bool = True) -> None:
        """`syncs`: whether a received body waits for the disk. The folder is made with the first body."""
        self.folder = folder
        self._syncs = syncs
        self._incoming, self._leaving = folder / INCOMING, folder / LEAVING
        self._lock = threading.Lock()
        self._is_made = False
        self._held = 0
        self._discarded: deque[str] = deque()
        self._received: dict[str, int] = {}

    def begin(self, body_id: str) -> BodyWriter:
        """A new file. Errors: StoreFull; UserError."""
        self._make()
        return _FileWriter(body_id, self._incoming / body_id, self._note_received, syncs=self._syncs)

    def open(self, body_id: str) -> BodyReader | None:
        """The file of a body, for reading piece by piece; None if it has none."""
        handle = self._open(body_id)
        return None if handle is None else _FileReader(body_id, handle)

    def has(self, body_id: str) -> bool:
        """Whether there is a file that a step may adopt."""
        return (self._incoming / body_id).exists()

    def size(self, body_id: str) -> int | None:
        """The size of a body's file; None if it has none."""
        for place in self._places(body_id):
            with suppress(OSError):
                return place.stat().st_size
        return None

    def read(self, body_id: str, first: int, size: int) -> bytes:
        """The bytes of a body from `first` on, fewer if it ends before. Errors: BodyGone."""
        handle = self._open(body_id)
        if handle is None:
            raise BodyGone(body_id)
        try:
            return _read(handle, first, size)
        finally:
            os.close(handle)

    def discard(self, body_id: str) -> None:
        """Move the file away. `sweep` deletes it later, because deleting a large file takes long."""
        for place in (self._place(body_id), self._incoming / body_id):
            with suppress(FileNotFoundError):
                place.rename(self._leaving / body_id)
                self._discarded.append(body_id)

    def sweep(self) -> None:
        """Delete what was discarded, unless files are kept at the moment."""
        while self._discarded and not self._held:
            (self._leaving / self._discarded.popleft()).unlink(missing_ok=True)

    @property
    def unsettled(self) -> Mapping[str, int]:
        """The bodies that were received and have not been put in their place, and how often `settle` has met each."""
        return dict(self._received)

    def settle(self, adopted: Collection[str], others: Collection[str]) -> None:
        """Put adopted bodies in their place. Count the others once more, except those that were discarded."""
        for body_id in adopted:
            self._put_in_place(body_id)
            self._received.pop(body_id, None)
        for body_id in others:
            if self.has(body_id):
                self._received[body_id] += 1
            else:
                self._received.pop(body_id, None)

    def refuse_strangers(self) -> None:
        """Errors: UserError if there are files, because the store to which they belong is not there."""
        if any(_entries(folder) for folder in (self._incoming, *self._folders())):
            raise UserError(
                f"{self.folder} has bodies of objects, and the store to which they belong is missing.",
                next_step="Put that store in its place, or move the folder away and start again.",
            )

    def recover(self, known: Known, *, is_whole: bool) -> int:
        """Delete what an earlier process has left: files without a row. Call it before any other use.

        `is_whole`: look through all files, because the machine itself has stopped. Returns how many were deleted.
        """
        if not self.folder.is_dir():
            return 0
        deleted = [place for place in _entries(self._leaving) if _unlinked(place)]
        incoming = [place.name for place in _entries(self._incoming)]
        adopted = frozenset(known(incoming))
        for body_id in incoming:
            if body_id in adopted:
                self._put_in_place(body_id)
            else:
                deleted += [self._incoming / body_id]
                (self._incoming / body_id).unlink(missing_ok=True)
        if is_whole:
            for folder in self._folders():
                found = {place.name: place for place in _entries(folder)}
                strangers = found.keys() - frozenset(known(list(found)))
                deleted += [found[name] for name in strangers if _unlinked(found[name])]
        return len(deleted)

    def clear(self) -> None:
        """Delete all files."""
        self._discarded.clear()
        self._received.clear()
        for folder in (self._incoming, self._leaving, *self._folders()):
            for place in _entries(folder):
                place.unlink(missing_ok=True)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Delete no file while the block runs: a backup reads what the store had when it began."""
        with self._lock:
            self._held += 1
        try:
            yield
        finally:
            with self._lock:
                self._held -= 1

    def _note_received(self, body_id: str) -> None:
        self._received[body_id] = 0

    def _make(self) -> None:
        if self._is_made:
            return
        try:
            for folder in (self.folder, self._incoming, self._leaving):
                folder.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
            if self._syncs:
                sync_folder(self.folder)
                sync_folder(self.folder.parent)
        except OSError as error:
            raise refused(self.folder, error) from error
        self._is_made = True

    def _put_in_place(self, body_id: str) -> None:
        place = self._place(body_id)
        if not place.parent.is_dir():
            place.parent.mkdir(mode=_FOLDER, exist_ok=True)
            if self._syncs:
                sync_folder(self.folder)
        with suppress(FileNotFoundError):  # Discarded meanwhile.
            (self._incoming / body_id).rename(place)

    def _place(self, body_id: str) -> Path:
        return self.folder / body_id[-_DIGITS:] / body_id

    def _places(self, body_id: str) -> tuple[Path, ...]:
        """Where a file may be. A file moves in this order, so who looks in this order misses none."""
        return self._incoming / body_id, self._place(body_id), self._leaving / body_id

    def _folders(self) -> list[Path]:
        """The folders of adopted bodies."""
        return [folder for folder in _entries(self.folder) if len(folder.name) == _DIGITS]

    def _open(self, body_id: str) -> int | None:
        for place in self._places(body_id):
            with suppress(FileNotFoundError):
                return os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        return None


class _FileWriter:
    """Writes one file of `incoming`."""

    def __init__(self, body_id: str, path: Path, finished: Callable[[str], object], *, syncs: bool) -> None:
        self.body_id = body_id
        self._path = path
        self._finished = finished
        self._syncs = syncs
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE)
        except OSError as error:
            raise refused(path, error) from error

    def write(self, piece: bytes) -> None:
        rest = memoryview(piece)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError as error:
            raise refused(self._path, error) from error

    def finish(self) -> None:
        try:
            if self._syncs:
                os.fsync(self._handle)
            os.close(self._handle)
            self._handle = -1
            if self._syncs:
                sync_folder(self._path.parent)
        except OSError as error:
            raise refused(self._path, error) from error
        self._finished(self.body_id)

    def abort(self) -> None:
        with suppress(OSError):
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1
        with suppress(OSError):  # The next opening deletes it.
            self._path.unlink(missing_ok=True)


class _FileReader:
    """Reads one file, which stays readable when it is deleted."""

    def __init__(self, body_id: str, handle: int) -> None:
        self._body_id = body_id
        self._handle = handle

    def read(self, first: int, size: int) -> bytes:
        found = _read(self._handle, first, size)
        if len(found) != size:
            raise BodyGone(self._body_id)
        return found

    def close(self) -> None:
        os.close(self._handle)


def bodies_beside(store: Path) -> Path:
    """The folder of the bodies of a store's file."""
    return store.with_name(store.name + SUFFIX)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refused(path: Path, error: OSError) -> UserError:
    """The error for a file that cannot be written."""
    if error.errno in _FULL:
        return StoreFull("The disk is full: nothing more can be stored.", next_step="Free some space and try again.")
    return UserError(f"{path} cannot be written: {error.strerror}.", next_step="Look at the disk and its permissions.")


def _read(handle: int, first: int, size: int) -> bytes:
    pieces: list[bytes] = []
    while size and (piece := os.pread(handle, size, first)):
        pieces.append(piece)
        first += len(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _unlinked(place: Path) -> bool:
    place.unlink(missing_ok=True)
    return True
