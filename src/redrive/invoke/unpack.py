"""Function code from a zip archive to a directory: once per digest, and never outside that directory."""

from __future__ import annotations

import hashlib
import io
import lzma
import shutil
import stat
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

UNPACKED_BYTES_MAX = 262_144_000  # https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html


class UnusableCode(Exception):
    """The archive cannot be unpacked: it is damaged, too large, or names places outside of itself."""


class CodeDirectory:
    """Unpacked code by digest, under one directory. May be used from many threads."""

    def __init__(self, root: Path, load_code: Callable[[str], bytes]) -> None:
        self._root = root
        self._load_code = load_code
        self._turn = threading.Lock()

    def path(self, digest: str) -> Path:
        """Where the code of that digest lies; unpacks it first if this is the first time. Errors: UnusableCode."""
        directory = self._root / hashlib.sha256(digest.encode()).hexdigest()[:32]
        with self._turn:
            if not directory.is_dir():
                self._root.mkdir(parents=True, exist_ok=True)
                partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=self._root))
                try:
                    unpack(self._load_code(digest), partial)
                    partial.chmod(0o755)
                    partial.rename(directory)
                except BaseException:
                    shutil.rmtree(partial, ignore_errors=True)
                    raise
        return directory


def unpack(archive: bytes, directory: Path) -> None:
    """Write the files of a zip archive under a directory, read-only. Errors: UnusableCode."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as content:
            entries = content.infolist()
            if sum(entry.file_size for entry in entries) > UNPACKED_BYTES_MAX:
                raise UnusableCode(f"Unzipped size must be smaller than {UNPACKED_BYTES_MAX} bytes")
            links = [entry for entry in entries if stat.S_ISLNK(entry.external_attr >> 16)]
            for entry in entries:
                if entry not in links:
                    _write(content, entry, directory)
            # After all files, so that none is written through a link.
            _make_links(content, links, directory)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, OSError, EOFError, UnicodeError) as error:
        raise UnusableCode(f"Could not unzip uploaded file: {error}") from error


def _place(entry: zipfile.ZipInfo, directory: Path) -> Path:
    """Where an entry belongs, its folder made. Errors: UnusableCode."""
    place = PurePosixPath(entry.filename.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts:
        raise UnusableCode(f"The archive names a place outside of itself: {entry.filename}")
    path = directory / place
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _make_links(content: zipfile.ZipFile, links: Sequence[zipfile.ZipInfo], directory: Path) -> None:
    """Make the symbolic links of a package, which may lead to other places in it only. Errors: UnusableCode."""
    made = [_place(entry, directory) for entry in links]
    for entry, path in zip(links, made, strict=True):
        path.symlink_to(content.read(entry).decode())
    for entry, path in zip(links, made, strict=True):
        if not path.resolve().is_relative_to(directory.resolve()):
            raise UnusableCode(f"The archive holds a symbolic link to a place outside of itself: {entry.filename}")


def _write(content: zipfile.ZipFile, entry: zipfile.ZipInfo, directory: Path) -> None:
    path = _place(entry, directory)
    mode = entry.external_attr >> 16
    if entry.is_dir():
        path.mkdir(exist_ok=True)
        return
    path.unlink(missing_ok=True)
    with content.open(entry) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)
    path.chmod(0o555 if mode & 0o111 else 0o444)
