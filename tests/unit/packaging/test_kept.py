"""Results that are kept in a project: whole ones alone, and never needed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redrive.packaging.kept import FILES_MAX, KeptInProject


def made(kept: KeptInProject, of: str = "input") -> list[str]:
    """What is returned for an input, and each result that was made for that."""
    results: list[str] = []

    def make() -> str:
        results.append("a résult")
        return "a résult"

    return [kept.text(of, make), *results]


def files(directory: Path) -> list[Path]:
    return list((directory / ".redrive" / "kept").iterdir())


def test_result_is_made_once_for_all_commands(tmp_path: Path) -> None:
    first = KeptInProject(tmp_path)

    assert made(first) == ["a résult", "a résult"]
    assert made(first) == made(KeptInProject(tmp_path)) == ["a résult"]
    assert made(first, "another input") == ["a résult", "a résult"]
    assert (tmp_path / ".redrive" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("damage", [b"", b"a r\xc3\xa9sult", b"\xff\xfe", b"0" * 64 + b"another result"])
def test_damaged_result_is_made_again(tmp_path: Path, damage: bytes) -> None:
    made(KeptInProject(tmp_path))
    files(tmp_path)[0].write_bytes(damage)

    assert made(KeptInProject(tmp_path)) == ["a résult", "a résult"]
    assert made(KeptInProject(tmp_path)) == ["a résult"]


def test_cut_result_is_made_again(tmp_path: Path) -> None:
    made(KeptInProject(tmp_path))
    file = files(tmp_path)[0]
    file.write_bytes(file.read_bytes()[:-1])

    assert made(KeptInProject(tmp_path)) == ["a résult", "a résult"]


def test_project_that_cannot_be_written_to_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / ".redrive").write_text("no folder")

    assert made(KeptInProject(tmp_path)) == made(KeptInProject(tmp_path)) == ["a résult", "a résult"]


def test_no_result_is_kept_of_what_fails(tmp_path: Path) -> None:
    def fail() -> str:
        raise LookupError

    with pytest.raises(LookupError):
        KeptInProject(tmp_path).text("input", fail)
    assert made(KeptInProject(tmp_path)) == ["a résult", "a résult"]


def test_results_are_bounded(tmp_path: Path) -> None:
    """The one that was written first gives way to a new one."""
    kept = KeptInProject(tmp_path)

    for number in range(FILES_MAX + 3):
        made(kept, str(number))

    assert len(files(tmp_path)) == FILES_MAX


def test_commands_may_write_at_the_same_time(tmp_path: Path) -> None:
    """Each finds a whole result, and no partial file stays."""
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: made(KeptInProject(tmp_path), str(number % 3))[0], range(60)))

    assert set(found) == {"a résult"}
    assert [file.suffix for file in files(tmp_path)] == [".kept"] * 3
