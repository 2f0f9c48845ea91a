"""`/_redrive/store/…`: a check of the store that is in use, and a backup of it, handed out in pieces.

A backup is made in the data directory first, of one instant; who wants it fetches it piece by piece and has it
forgotten. The server writes nowhere else, whatever a request says.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from redrive.core.errors import UserError
from redrive.gateway.admin_requests import Missing, Routes, read_query
from redrive.gateway.chain import json_response
from redrive.store.backup import copy_store
from redrive.store.report import report_on_running
from redrive.wire.message import HttpRequest, HttpResponse

PIECE_BYTES = 4 * 1024 * 1024
BACKUP_PATH = "/_redrive/store/backup"


@dataclass(slots=True)
class _Backup:
    """The backup that was begun last. `size_bytes` is None until it is whole."""

    id: int = 0
    copied: int = 0
    pages: int = 0
    size_bytes: int | None = None


class StoreAdmin:
    """Checks and copies the store of this server. `place` is where a backup lies until it was fetched."""

    def __init__(self, store: Path | None, place: Path | None) -> None:
        """Both are None for a store in memory."""
        self._store = store
        self._place = place
        self._turn = threading.Lock()
        self._backup = _Backup()

    @property
    def routes(self) -> Routes:
        """What is answered here."""
        return {
            ("GET", "/_redrive/store/check"): self._check,
            ("POST", BACKUP_PATH): self._make,
            ("GET", BACKUP_PATH): self._show,
            ("GET", f"{BACKUP_PATH}/content"): self._content,
            ("DELETE", BACKUP_PATH): self._forget,
        }

    def _check(self, _: HttpRequest) -> HttpResponse:
        store = self._paths()[0]
        return json_response(200, report_on_running(store))

    def _make(self, _: HttpRequest) -> HttpResponse:
        """Copy the store; answers when the copy is whole. Where it stands meanwhile is shown by GET."""
        store, place = self._paths()
        if not self._turn.acquire(blocking=False):
            raise UserError("A backup is being made already.", next_step=f"See how far it is: GET {BACKUP_PATH}")
        try:
            backup = self._backup = _Backup(self._backup.id + 1)

            def progress(copied: int, pages: int) -> None:
                backup.copied, backup.pages = copied, pages

            copy_store(store, place, progress=progress)
            backup.size_bytes = place.stat().st_size
        finally:
            self._turn.release()
        return json_response(200, _shown(backup))

    def _show(self, _: HttpRequest) -> HttpResponse:
        return json_response(200, _shown(self._backup))

    def _content(self, request: HttpRequest) -> HttpResponse:
        """A piece of the backup, from `offset` on; empty behind its end."""
        place = self._paths()[1]
        query = read_query(request, "id", "offset")
        offset = query.get("offset", "0")
        if self._backup.size_bytes is None or query.get("id") != str(self._backup.id) or not offset.isdecimal():
            raise Missing("There is no such backup here.", next_step=f"Make one: POST {BACKUP_PATH}")
        with place.open("rb") as file:
            file.seek(min(int(offset[:20]), self._backup.size_bytes))
            content = file.read(PIECE_BYTES)
        return HttpResponse(200, (("content-type", "application/octet-stream"),), content)

    def _forget(self, _: HttpRequest) -> HttpResponse:
        place = self._paths()[1]
        with self._turn:
            self._backup = _Backup(self._backup.id)
            place.unlink(missing_ok=True)
        return json_response(200, {"status": "ok"})

    def _paths(self) -> tuple[Path, Path]:
        if self._store is None or self._place is None:
            raise UserError(
                "This server keeps everything in memory; there is no file to check or to copy.",
                next_step="Start it with: redrive serve --data DIR",
            )
        return self._store, self._place


def _shown(backup: _Backup) -> dict[str, object]:
    return {"id": backup.id, "copied": backup.copied, "pages": backup.pages, "bytes": backup.size_bytes}
