"""Backups: one file that is a complete store, made while the server continues to write.

Bodies that are files beside the store become rows in the copy.

The copy is a snapshot of one instant. The reader holds the snapshot while the log grows. The copy is made in pieces, so
that other threads can run. An incomplete backup has another file name.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from redrive.core.errors import UserError
from redrive.store.connection import SqliteDatabase, damaged, unusable
from redrive.store.files.bodies import BodyFiles, bodies_beside
from redrive.store.files.directory import create_private
from redrive.store.files.life import write_closed
from redrive.store.files.opening import reading
from redrive.store.tables.bodies import BodyTable

PAGES_PER_PIECE = 1_024
"""4 MiB: some milliseconds of copying, during which the interpreter lock is free."""

Progress = Callable[[int, int], None]
"""Called with the number of copied pages and the number of all pages."""


def partial_of(file: Path) -> Path:
    """The file name of an incomplete backup."""
    return file.with_name(f"{file.name}.part")


def refuse_existing(file: Path) -> None:
    """Errors: UserError if the backup's file exists already, or its folder does not exist."""
    if file.exists():
        raise UserError(f"{file} is there already; it was left as it is.", next_step="Choose another FILE.")
    if not file.parent.is_dir():
        raise UserError(f"There is no folder {file.parent}.", next_step="Make it, or choose another FILE.")


def copy_store(path: Path, target: Path, *, progress: Progress) -> None:
    """Copy a store, which may be in use, over the file `target`. The copy is a store that was closed properly.

    Whoever may delete files of bodies meanwhile keeps them (`BodyFiles.kept`).
    Errors: UserError: the disk is full, or the store cannot be read; StoreDamaged. After an error, `target` is deleted.
    """
    target.unlink(missing_ok=True)
    create_private(target)
    try:
        _copy(path, target, progress)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _copy(path: Path, target: Path, progress: Progress) -> None:
    with reading(path, without_log=False) as source, closing(_target(target)) as copy:
        try:
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # The first read starts the snapshot.
            source.backup(
                copy, pages=PAGES_PER_PIECE, progress=lambda _, remaining, total: progress(total - remaining, total)
            )
            copy.execute("PRAGMA journal_mode = DELETE")
            _bring_bodies_in(BodyFiles(bodies_beside(path)), copy)
            write_closed(SqliteDatabase(copy))
        except sqlite3.DatabaseError as error:
            raise unusable(str(target), error) from error


def check_copy(file: Path) -> None:
    """Read a backup to its end and check it. Errors: StoreDamaged."""
    with reading(file, without_log=True) as connection:
        finding = "; ".join(row[0] for row in connection.execute("PRAGMA integrity_check(3)").fetchall())
    if finding != "ok":
        raise damaged(str(file), finding)


def put_in_place(partial: Path, file: Path) -> None:
    """Sync a complete backup to the disk and give it its final name. Errors: UserError if the name is taken."""
    _sync(partial)
    try:
        os.link(partial, file)
    except FileExistsError:
        refuse_existing(file)
    except OSError:  # The file system has no hard links.
        refuse_existing(file)
        partial.rename(file)
    partial.unlink(missing_ok=True)
    _sync(file.parent)


def _bring_bodies_in(files: BodyFiles, copy: sqlite3.Connection) -> None:
    if not copy.execute("SELECT 1 FROM sqlite_schema WHERE name = 'bodies'").fetchall():
        return  # A store of an earlier version.
    bodies = BodyTable(SqliteDatabase(copy))
    for body_id, size in bodies.in_files():
        copy.execute("BEGIN")
        bodies.bring_in(body_id, size, files)
        copy.execute("COMMIT")


def _target(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = OFF")  # The whole file is synced at the end.
    return connection


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
