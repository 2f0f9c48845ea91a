"""The directory of a store: who may read it, and that one process at a time has it.

    redrive.sqlite   the store; beside it SQLite keeps a log (-wal) and the log's index (-shm)
    redrive.lock     the process that has the directory
    functions/       unpacked code; can be made again from the store
    redrive.backup   a backup on its way out

Two locks keep a second server out: that of the file redrive.lock, which names its holder, and that of the directory
itself, which nobody can delete from under it. The store's own file is locked by SQLite, whose locks a process loses
when it closes any other handle of that file, and which flock is not independent of on every system.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redrive.core.errors import UserError

STORE_FILE = "redrive.sqlite"
LOCK_FILE = "redrive.lock"
BACKUP_FILE = "redrive.backup"
FUNCTIONS_FOLDER = "functions"
SUFFIXES = ("", "-wal", "-shm", "-journal")
"""What SQLite keeps beside a file."""

_OTHERS = 0o077
_OWNER_FOLDER = 0o700
_OWNER_FILE = 0o600


class InUse(UserError):
    """Another process has the directory."""


@dataclass(slots=True)
class DataDirectory:
    """A directory that this process has for itself, until `release`."""

    path: Path
    locks: list[int] = field(default_factory=list)

    @property
    def store(self) -> Path:
        """The file of the store."""
        return self.path / STORE_FILE

    @property
    def functions(self) -> Path:
        """Where the code of functions is unpacked."""
        return self.path / FUNCTIONS_FOLDER

    @property
    def backup(self) -> Path:
        """Where a backup is written before it is handed out."""
        return self.path / BACKUP_FILE

    def narrow(self) -> Sequence[str]:
        """Take from others what earlier versions let them read; answers what.

        The directory itself is narrowed only if nothing else is in it: it may be a place that was shared on purpose.
        """
        ours = {f"{STORE_FILE}{suffix}" for suffix in SUFFIXES} | {LOCK_FILE, BACKUP_FILE, FUNCTIONS_FOLDER}
        present = {entry.name for entry in self.path.iterdir()}
        narrowed = []
        for place in (self.path, *(self.path / name for name in sorted(present & ours))):
            mode = stat.S_IMODE(place.stat().st_mode)
            if mode & _OTHERS and (place != self.path or present <= ours):
                try:
                    place.chmod(mode & ~_OTHERS)
                except PermissionError:  # Somebody else's file, which this process may only read and write.
                    continue
                narrowed.append(str(place))
        return narrowed

    def release(self) -> None:
        """Let others have the directory. After the store is closed."""
        while self.locks:
            os.close(self.locks.pop())


def take_directory(path: Path) -> DataDirectory:
    """Make the directory, for its owner alone, if it is not there; hold it.

    Errors: InUse; UserError if it cannot be used or written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=_OWNER_FOLDER)
        lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_FILE)
    except OSError as error:
        raise UserError(
            f"The data directory {path} cannot be used: {error.strerror}.", next_step="Choose another --data."
        ) from error
    directory = DataDirectory(path, locks=[lock])
    try:
        _lock(lock, path, lock)
        itself = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        directory.locks.append(itself)
        _lock(itself, path, lock)
        _sign(lock, path)
    except BaseException:
        directory.release()
        raise
    return directory


def take_existing(path: Path) -> DataDirectory:
    """Hold a directory in which there is a store. Errors: as those of `take_directory`; UserError if none is there."""
    if not any((path / f"{STORE_FILE}{suffix}").exists() for suffix in SUFFIXES[:2]):
        raise UserError(f"There is no store in {path}.", next_step="Name the directory that --data names.")
    return take_directory(path)


def create_private(path: Path) -> None:
    """Make an empty file that only its owner may read, unless it is there. What SQLite keeps beside it has its mode."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _OWNER_FILE))


def _lock(handle: int, path: Path, named_in: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES) and handle != named_in:
            return  # Some file systems lock files and no directories.
        holder = os.pread(named_in, 32, 0).decode(errors="replace").strip() or "unknown"
        raise InUse(
            f"The data directory {path} is in use by another redrive server (process {holder}).",
            next_step="Stop that one, or choose another --data.",
        ) from error


def _sign(lock: int, path: Path) -> None:
    """Write down who has the directory."""
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        raise UserError(
            f"The data directory {path} cannot be written: {error.strerror}.",
            next_step="Free some space, or choose another --data.",
        ) from error
