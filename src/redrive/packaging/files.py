"""The files of a directory of code, and a reproducible archive: its bytes depend on names and contents alone."""

from __future__ import annotations

import fnmatch
import hashlib
import io
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from redrive.core.archives import UNPACKED_BYTES_MAX
from redrive.core.errors import UserError

# Folders that are never code: version control, caches, virtual environments, and the output of tools.
LEFT_OUT = (
    ".aws-sam", ".DS_Store", ".env", ".git", ".gitignore", ".hg", ".idea", ".mypy_cache", ".pytest_cache",
    ".redrive", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "*.pyc", "*.pyo", "__pycache__", "venv",
)  # fmt: skip
# In installed packages, only what Python writes by itself: a package may have a folder of any other name.
LEFT_OUT_OF_PACKAGES = ("*.pyc", "*.pyo", "__pycache__")

# The earliest date that an archive can hold: the same files always give the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
_READ_BYTES = 1024 * 1024


def files_of(directory: Path, left_out: Iterable[str] = LEFT_OUT) -> dict[str, Path]:
    """The files below a directory by relative name, in order; links are followed."""
    patterns = tuple(left_out)
    return dict(sorted(_walk(directory, patterns)))


def _walk(directory: Path, patterns: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    for folder, folders, names in os.walk(directory, followlinks=False):
        folders[:] = [name for name in folders if not _is_left_out(name, patterns)]
        for name in names:
            path = Path(folder) / name
            if not _is_left_out(name, patterns) and path.is_file():
                yield path.relative_to(directory).as_posix(), path


def _is_left_out(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def check_size(files: Mapping[str, Path], what: str) -> None:
    """Refuse code that is larger than AWS allows, in AWS's words. Errors: UserError."""
    size = sum(path.stat().st_size for path in files.values())
    if size > UNPACKED_BYTES_MAX:
        raise UserError(
            f"Unzipped size must be smaller than {UNPACKED_BYTES_MAX} bytes: {what} has {size}.",
            next_step="Leave out what the function does not need, above all large dependencies.",
            exit_code=2,
        )


def digest_of(files: Mapping[str, Path]) -> str:
    """A digest of names, contents, and which files are executable."""
    digest = hashlib.sha256()
    for name, path in files.items():
        digest.update(f"{len(name)}:{name}:{int(_is_executable(path))}:{path.stat().st_size}:".encode())
        with path.open("rb") as content:
            while block := content.read(_READ_BYTES):
                digest.update(block)
    return digest.hexdigest()


def archive_of(files: Mapping[str, Path]) -> bytes:
    """The zip archive of these files: the same bytes for the same names and contents."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, path in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if _is_executable(path) else 0o644)) << 16
            archive.writestr(entry, path.read_bytes())
    return content.getvalue()


def _is_executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o111)
