"""The directory of a store: who may read it, and the locks that let only one process use it.

    redrive.sqlite   the store; beside it SQLite keeps a log (-wal) and the log's index (-shm)
    redrive.sqlite-bodies/   large bodies of objects, which belong to the store
    redrive.lock     the process that holds the directory
    functions/       unpacked code; can be made again from the store
    redrive.backup   a backup that a client is about to fetch

Two locks keep a second server out: one on the file redrive.lock, which names its holder, and one on the directory
itself, which still holds if somebody deletes the file. SQLite locks the store's file itself. redrive must not lock that
file, too: closing any other handle of it releases SQLite's locks, and flock is not independent of them on every system.
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
BODIES_FOLDER = f"{STORE_FILE}-bodies"
LOCK_FILE = "redrive.lock"
BACKUP_FILE = "redrive.backup"
FUNCTIONS_FOLDER = "functions"
SUFFIXES = ("", "-wal", "-shm", "-journal")
"""The suffixes of a store's file and of the files that SQLite keeps beside it."""

_OTHERS = 0o077
_OWNER_FOLDER = 0o700
_OWNER_FILE = 0o600


class InUse(UserError):
    """Another process holds the directory."""


@dataclass(slots=True)
class DataDirectory:
    """A directory that only this process may use, until `release`."""

    path: Path
    locks: list[int] = field(default_factory=list)

    @property
    def store(self) -> Path:
        """The store's file."""
        return self.path / STORE_FILE

    @property
    def functions(self) -> Path:
        """The folder of the functions' unpacked code."""
        return self.path / FUNCTIONS_FOLDER

    @property
    def backup(self) -> Path:
        """The file of a backup until a client has fetched it."""
        return self.path / BACKUP_FILE

    def narrow(self) -> Sequence[str]:
        """Remove other users' access to files that earlier versions created too openly. Returns their paths.

        The directory itself is changed only if it has no other files, because it may be shared on purpose.
        """
        ours = {f"{STORE_FILE}{suffix}" for suffix in SUFFIXES} | {
            LOCK_FILE,
            BACKUP_FILE,
            BODIES_FOLDER,
            FUNCTIONS_FOLDER,
        }
        present = {entry.name for entry in self.path.iterdir()}
        narrowed = []
        for place in (self.path, *(self.path / name for name in sorted(present & ours))):
            mode = stat.S_IMODE(place.stat().st_mode)
            if mode & _OTHERS and (place != self.path or present <= ours):
                try:
                    place.chmod(mode & ~_OTHERS)
                except PermissionError:  # The file belongs to another user; this process may only read and write it.
                    continue
                narrowed.append(str(place))
        return narrowed

    def release(self) -> None:
        """Release the directory for other processes. Call it after the store is closed."""
        while self.locks:
            os.close(self.locks.pop())


def take_directory(path: Path) -> DataDirectory:
    """Create the directory, for its owner only, if it does not exist, and lock it.

    Errors: InUse; UserError if the directory cannot be used or written.
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
    """Lock a directory that contains a store. Errors: those of `take_directory`; UserError if there is no store."""
    if not any((path / f"{STORE_FILE}{suffix}").exists() for suffix in SUFFIXES[:2]):
        raise UserError(f"There is no store in {path}.", next_step="Name the directory that --data names.")
    return take_directory(path)


def create_private(path: Path) -> None:
    """Create an empty file, unless it exists, that only its owner may read. SQLite's files beside it get its mode."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _OWNER_FILE))


def _lock(handle: int, path: Path, named_in: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES) and handle != named_in:
            return  # Some file systems support locks on files but not on directories.
        holder = os.pread(named_in, 32, 0).decode(errors="replace").strip() or "unknown"
        raise InUse(
            f"The data directory {path} is in use by another redrive server (process {holder}).",
            next_step="Stop that one, or choose another --data.",
        ) from error


def _sign(lock: int, path: Path) -> None:
    """Write this process's id into the lock file."""
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        raise UserError(
            f"The data directory {path} cannot be written: {error.strerror}.",
            next_step="Free some space, or choose another --data.",
        ) from error
