"""Code of dataclasses that is kept compiled: the classes are those that Python makes, and damage does no harm."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from pathlib import Path

import pytest

from redrive.core.made_code import compiled_once


@pytest.fixture(autouse=True)
def writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an installation, whatever the environment of the tests says."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)


def described(folder: Path) -> tuple[object, ...]:
    """What a class does that is made here."""

    def made() -> type:
        @dataclasses.dataclass(frozen=True, slots=True, order=True)
        class Point:
            """A place."""

            x: int
            y: int = 2
            names: list[str] = dataclasses.field(default_factory=list, repr=False, compare=False)

        return Point

    with compiled_once("test", folder):
        kind = made()
    point = kind(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 3
    return (
        point == kind(1, 2), point < kind(1, 3), hash(point) == hash(kind(1)), repr(point), dataclasses.astuple(point),
        str(inspect.signature(kind)), inspect.get_annotations(vars(kind)["__init__"]),
    )  # fmt: skip


def files_in(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def test_classes_of_kept_code_are_those_that_python_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = described(tmp_path)
    (file,) = files_in(tmp_path)
    written = file.stat().st_mtime_ns

    def compile_none(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr("redrive.core.made_code.compile", compile_none, raising=False)

    assert described(tmp_path) == plain
    assert file.stat().st_mtime_ns == written
    assert plain[:3] == (True, True, True)
    assert plain[6] == {"x": "int", "y": "int", "names": "list[str]", "return": None}


@pytest.mark.parametrize("damage", [b"", b"short", b"\x00" * 200])
def test_damaged_file_is_written_again(tmp_path: Path, damage: bytes) -> None:
    plain = described(tmp_path)
    (file,) = files_in(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage or whole[:-1])

    assert described(tmp_path) == plain
    assert file.read_bytes() == whole


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Neither in the module of dataclasses, nor where Python is told to write no compiled code, nor where it cannot."""
    sys.dont_write_bytecode = True
    described(tmp_path)
    assert files_in(tmp_path) == []

    sys.dont_write_bytecode = False
    (tmp_path / "__pycache__").write_text("no folder")
    described(tmp_path)

    assert "exec" not in vars(dataclasses)
    assert (tmp_path / "__pycache__").read_text() == "no folder"
