"""A data directory belongs to one process, and to its owner alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.store.files.directory import LOCK_FILE, STORE_FILE, InUse, take_directory, take_existing


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_directory_that_is_held_is_refused_by_name_of_its_holder(tmp_path: Path) -> None:
    held = take_directory(tmp_path / "data")

    with pytest.raises(InUse, match=f"process {os.getpid()}"):
        take_directory(tmp_path / "data")

    held.release()
    take_directory(tmp_path / "data").release()


def test_deleting_the_lock_file_lets_nobody_in(tmp_path: Path) -> None:
    held = take_directory(tmp_path / "data")
    (tmp_path / "data" / LOCK_FILE).unlink()

    with pytest.raises(InUse):
        take_directory(tmp_path / "data")

    held.release()


def test_new_directory_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        held = take_directory(tmp_path / "a" / "data")
    finally:
        os.umask(before)

    assert mode(held.path) == 0o700
    assert mode(held.path / LOCK_FILE) == 0o600
    assert held.narrow() == []
    held.release()


def test_files_that_others_could_read_are_narrowed_and_named(tmp_path: Path) -> None:
    for name in (STORE_FILE, f"{STORE_FILE}-wal", LOCK_FILE):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    tmp_path.chmod(0o755)

    held = take_directory(tmp_path)
    narrowed = held.narrow()

    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    assert mode(tmp_path) == 0o700
    assert str(tmp_path / STORE_FILE) in narrowed
    held.release()


def test_directory_in_which_there_is_something_else_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "notes.txt").chmod(0o644)
    tmp_path.chmod(0o755)

    held = take_directory(tmp_path)
    held.narrow()

    assert (mode(tmp_path), mode(tmp_path / "notes.txt")) == (0o755, 0o644)
    held.release()


def test_directory_without_a_store_is_not_made_into_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no store"):
        take_existing(tmp_path / "data")

    assert list(tmp_path.iterdir()) == []
