"""Results that take long and follow from their input alone, kept in a project's folder from command to command.

A file that is damaged, or half written, is no result: it is computed again. Deleting the folder loses nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from redrive.packaging.own_files import FOLDER, make_folder

FILES_MAX = 40
"""So many results are kept; the one that was written first gives way."""
_HEX = 64
_SUFFIX = ".kept"


class Kept(Protocol):
    """Where results are kept."""

    def text(self, of: str, make: Callable[[], str]) -> str:
        """What `make` makes of the input `of`, which says all that the text follows from. Errors: those of `make`."""
        ...


class NothingKept:
    """Makes each result."""

    def text(self, of: str, make: Callable[[], str]) -> str:
        return make()


NOTHING_KEPT = NothingKept()


class KeptInProject:
    """Results in the project of a directory, and in memory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, str] = {}

    def text(self, of: str, make: Callable[[], str]) -> str:
        name = _digest(of)
        text = self._known.get(name)
        if text is None:
            text = self._read(name)
            if text is None:
                text = make()
                self._write(name, text)
            self._known[name] = text
        return text

    @property
    def _folder(self) -> Path:
        return self._directory / FOLDER / "kept"

    def _read(self, name: str) -> str | None:
        try:
            written = (self._folder / f"{name}{_SUFFIX}").read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        text = written[_HEX:]
        return text if written[:_HEX] == _digest(text) else None

    def _write(self, name: str, text: str) -> None:
        """Write a whole file under another name first. What cannot be written there is made again next time."""
        with contextlib.suppress(OSError):
            make_folder(self._directory)
            self._folder.mkdir(exist_ok=True)
            descriptor, partial = tempfile.mkstemp(dir=self._folder)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(f"{_digest(text)}{text}")
                Path(partial).replace(self._folder / f"{name}{_SUFFIX}")
            except OSError:
                Path(partial).unlink(missing_ok=True)
                raise
            for old in self._oldest_first()[:-FILES_MAX]:
                old.unlink(missing_ok=True)

    def _oldest_first(self) -> list[Path]:
        return sorted(self._folder.iterdir(), key=lambda file: file.stat().st_mtime)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
