"""The file of a running server's store: a report on it, and a backup that clients fetch in pieces.

The backup is first written to the data directory, as a snapshot of one instant. The client fetches it piece by piece
and then deletes it. The server writes nowhere else, whatever a request says.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.store.files.backup import copy_store
from redrive.store.files.bodies import BodyFiles
from redrive.store.files.report import report_on_running

PIECE_BYTES = 4 * 1024 * 1024


@dataclass(slots=True)
class _Backup:
    """The latest backup. `size_bytes` is None until the backup is complete."""

    id: int = 0
    copied: int = 0
    pages: int = 0
    size_bytes: int | None = None

    @property
    def document(self) -> Document:
        return {"id": self.id, "copied": self.copied, "pages": self.pages, "bytes": self.size_bytes}


class StoreFile:
    """Reads and copies this server's store. `place` is the file of the backup until it is deleted."""

    def __init__(self, store: Path | None, place: Path | None, files: BodyFiles | None = None) -> None:
        """All are None for a store in memory. `files` are its large bodies."""
        self._store = store
        self._kept = nullcontext if files is None else files.kept
        self._place = place
        self._turn = threading.Lock()
        self._backup = _Backup()

    def report(self) -> Document:
        """Read the whole store as of one instant; report what is wrong. Errors: UserError: the store is in memory."""
        store, _ = self._paths()
        with self._kept():
            return report_on_running(store)

    def create_backup(self) -> Document:
        """Copy the store; returns when the copy is complete. Meanwhile `backup` shows the progress.

        Errors: UserError: another copy is under way, the disk is full, or the store is in memory.
        """
        store, place = self._paths()
        if not self._turn.acquire(blocking=False):
            raise UserError(
                "A backup is being made already.", next_step="See how far it is: GET /_redrive/store/backup"
            )
        try:
            backup = self._backup = _Backup(self._backup.id + 1)

            def progress(copied: int, pages: int) -> None:
                backup.copied, backup.pages = copied, pages

            with self._kept():
                copy_store(store, place, progress=progress)
            backup.size_bytes = place.stat().st_size
        finally:
            self._turn.release()
        return backup.document

    def backup(self) -> Document:
        """The progress of the latest copy."""
        return self._backup.document

    def backup_content(self, id: int, offset: int) -> bytes | None:
        """A piece of the copy from `offset` on, empty after its end; None if no complete copy has this id."""
        _, place = self._paths()
        backup = self._backup
        if backup.size_bytes is None or id != backup.id:
            return None
        try:
            with place.open("rb") as file:
                file.seek(min(offset, backup.size_bytes))
                return file.read(PIECE_BYTES)
        except FileNotFoundError:  # The copy was deleted in the meantime.
            return None

    def delete_backup(self) -> None:
        """Delete the copy."""
        _, place = self._paths()
        with self._turn:
            self._backup = _Backup(self._backup.id)
            place.unlink(missing_ok=True)

    def _paths(self) -> tuple[Path, Path]:
        if self._store is None or self._place is None:
            raise UserError(
                "This server keeps everything in memory; there is no file to check or to copy.",
                next_step="Start it with: redrive serve --data DIR",
            )
        return self._store, self._place
