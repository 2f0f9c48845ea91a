"""Unpacks function code from a zip archive to a directory: once per digest, and never outside that directory."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import re
import shutil
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from redrive.core.archives import (
    UNPACKED_BYTES_MAX,
    BadArchive,
    Parts,
    is_link,
    mode_of,
    parts_of,
    sound_entries,
)

READ_BYTES = 256 * 1024

_INTERPRETER = re.compile(rb"\A#!/var/lang/bin/(python|node)[\d.]*(?=[ \n])")
"""The first line of a script for an interpreter where only AWS has it, as in the CDK's layer of the AWS CLI."""


class UnusableCode(Exception):
    """The archive cannot be unpacked: it is damaged, too large, or has paths outside of itself."""


class CodeDirectory:
    """Unpacked code by digest, under one directory, the `root`. Thread-safe: each digest has its own lock."""

    def __init__(self, root: Path, load_code: Callable[[str], bytes]) -> None:
        self.root = root
        self._load_code = load_code
        self._guard = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._is_closed = False

    def path(self, digest: str) -> Path:
        """The directory of the code with that digest; unpacks the code at the first call. Errors: UnusableCode."""
        directory = self.root / hashlib.sha256(digest.encode()).hexdigest()[:32]
        if directory.is_dir():
            return directory
        with self._guard:
            turn = self._turns.setdefault(digest, threading.Lock())
        with turn:
            if not directory.is_dir():
                self._unpack(digest, directory)
        with self._guard:
            self._turns.pop(digest, None)
        return directory

    def merged(self, digests: Sequence[str]) -> Path:
        """The directory with the files of several archives; a later archive's files replace earlier ones.

        Errors: UnusableCode.
        """
        parts = [self.path(digest) for digest in digests]
        name = hashlib.sha256("\n".join(digests).encode()).hexdigest()[:32]
        directory = self.root / f"layers-{name}"
        if directory.is_dir():
            return directory
        partial = Path(tempfile.mkdtemp(prefix="merging-", dir=self.root))
        try:
            for part in parts:
                _merge(part, partial)
            partial.chmod(0o755)
            partial.rename(directory)
        except BaseException as error:
            shutil.rmtree(partial, ignore_errors=True)
            if isinstance(error, OSError) and directory.is_dir():
                return directory  # Another thread was first.
            raise
        return directory

    def close(self) -> None:
        """Stop unpacking; unpacking under way soon fails with UnusableCode."""
        self._is_closed = True

    def _unpack(self, digest: str, directory: Path) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=self.root))
        try:
            unpack(self._load_code(digest), partial, goes_on=lambda: not self._is_closed)
            partial.chmod(0o755)
            partial.rename(directory)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def unpack(
    archive: bytes, directory: Path, *,
    bytes_max: int = UNPACKED_BYTES_MAX, goes_on: Callable[[], bool] = lambda: True,
) -> None:  # fmt: skip
    """Write the files of a zip archive into an empty directory, read-only, while `goes_on` is true.

    Errors: UnusableCode.
    """
    try:
        entries = sound_entries(archive, bytes_max=bytes_max)
        with zipfile.ZipFile(io.BytesIO(archive)) as content:
            folders: set[Parts] = set()
            for entry in entries:
                if not goes_on():
                    raise UnusableCode("The invoker is closed.")
                place = parts_of(entry)
                _make_folder(directory, place if entry.is_dir() else place[:-1], folders)
                if not entry.is_dir() and not is_link(entry):
                    _write(content, entry, directory.joinpath(*place))
            # After all files, so that no file is written through a link.
            for entry in filter(is_link, entries):
                directory.joinpath(*parts_of(entry)).symlink_to(content.read(entry).decode())
    except BadArchive as error:
        raise UnusableCode(str(error)) from error
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, OSError, EOFError, UnicodeError) as error:
        raise UnusableCode(f"Could not unzip uploaded file: {error}") from error


def _merge(source: Path, target: Path) -> None:
    """Add the files of a folder to another, replacing files of the same names. Files are hard-linked, not copied."""
    for entry in sorted(source.iterdir()):
        place = target / entry.name
        if entry.is_dir() and not entry.is_symlink():
            if place.is_symlink() or place.is_file():
                place.unlink()
            place.mkdir(exist_ok=True)
            _merge(entry, place)
            continue
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        os.link(entry, place, follow_symlinks=False)


def _make_folder(directory: Path, place: Parts, made: set[Parts]) -> None:
    if place and place not in made:
        directory.joinpath(*place).mkdir(parents=True, exist_ok=True)
        made.add(place)


def _write(content: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> None:
    """Write a file. Reads no more bytes than its directory entry says, then verifies the checksum.

    A script for an interpreter of AWS's runtimes gets a first line by which that interpreter is found on PATH.
    """
    mode = 0o555 if mode_of(entry) & 0o111 else 0o444
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with content.open(entry) as source, os.fdopen(handle, "wb") as target:
        target.write(_INTERPRETER.sub(_found_by_path, source.read(READ_BYTES)))
        shutil.copyfileobj(source, target, READ_BYTES)
        os.fchmod(handle, mode)


def _found_by_path(line: re.Match[bytes]) -> bytes:
    return b"#!/usr/bin/env " + (b"python3" if line[1] == b"python" else line[1])
