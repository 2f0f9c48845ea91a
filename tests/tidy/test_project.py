"""The papers agree with the tree: commands exist, decisions are listed, change fragments are named right."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.tidy.source import PACKAGE, ROOT, sources

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|[`;&] *)make +([a-z][a-z-]*)", re.MULTILINE)
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
FRAGMENT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.(added|changed|fixed|removed)\.md")
ROOM = re.compile(r"`([a-z]+)(?:/[^`]*)?`")
DECISION = re.compile(r"\d{4}-[a-z0-9-]+\.md|dependencies\.md")


def unknown_targets(page: str, makefile: str) -> list[str]:
    """Targets that a page's code names and the Makefile lacks."""
    code = "\n".join(FENCE.findall(page) + re.findall(r"`make [^`]*`", page))
    return sorted(set(COMMAND.findall(code)) - set(TARGET.findall(makefile)))


def misnamed_fragments(names: Iterable[str]) -> list[str]:
    """Files in changes/ that are neither its README nor `<slug>.<added|changed|fixed|removed>.md`."""
    return [name for name in names if name != "README.md" and not FRAGMENT.fullmatch(name)]


def unlisted_decisions(names: Iterable[str], index: str) -> Iterator[str]:
    """Decisions that are misnamed or that the index does not link."""
    for name in names:
        if name != "README.md":
            if not DECISION.fullmatch(name):
                yield f"{name} is no NNNN-title.md"
            if f"({name})" not in index:
                yield f"{name} is not in the index"


def unnamed_packages(imported: Iterable[str], named: Iterable[str]) -> list[str]:
    """Packages outside the standard library that the source imports and the contracts do not name."""
    outside = {name.split(".")[0] for name in imported} - sys.stdlib_module_names - {"redrive"}
    return sorted(outside - set(named))


def misnamed_rooms(page: str, rooms: Iterable[str]) -> Iterator[str]:
    """Rooms that a page's table of rooms names and that do not exist, and rooms that the page never names."""
    known = set(rooms)
    column: int | None = None
    for line in page.splitlines():
        cells = line.strip("| ").split(" | ")
        if not line.startswith("|"):
            column = None
        elif "Room" in cells:
            column = cells.index("Room")
        elif column is not None and column < len(cells):
            yield from (f"{name} does not exist" for name in ROOM.findall(cells[column]) if name not in known)
    yield from (f"{name} is not named" for name in sorted(known - set(ROOM.findall(page))))


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_commands_in_our_pages_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert unknown_targets(page.read_text(encoding="utf-8"), makefile) == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_pages_name_the_rooms_that_there_are(page: str) -> None:
    rooms = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]

    assert list(misnamed_rooms((ROOT / page).read_text(encoding="utf-8"), rooms)) == []


def test_map_of_proofs_names_every_module_of_its_rooms() -> None:
    top = PACKAGE / "prove"
    told = (top / "__init__.py").read_text("utf-8")
    modules = [file.name for file in top.glob("*/*.py") if file.name != "__init__.py"]

    assert [name for name in modules if f" {name} " not in told] == []
    assert [name for name in re.findall(r"(?<= )\w+\.py(?= )", told) if not list(top.rglob(name))] == []


def test_change_fragments_are_named_right() -> None:
    assert misnamed_fragments(path.name for path in sorted((ROOT / "changes").iterdir())) == []


def test_changelog_has_a_place_for_unreleased_changes() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")

    assert list(unlisted_decisions((path.name for path in sorted(folder.iterdir())), index)) == []


def test_contracts_name_every_package_that_the_source_imports() -> None:
    """The list of packages that core and languages must not import grows with the dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (bare,) = (contract for contract in contracts if "redrive.core" in contract.get("source_modules", []))
    imported = [name for source in sources(PACKAGE) for _, name in source.imports]

    assert unnamed_packages(imported, bare["forbidden_modules"]) == []


def test_every_dependency_is_explained_in_one_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    explained = (ROOT / "docs" / "decisions" / "dependencies.md").read_text(encoding="utf-8")
    wanted = [
        re.split(r"[<>=;\[ ]", requirement)[0]
        for requirements in project["project"]["optional-dependencies"].values()
        for requirement in requirements
    ]

    assert [name for name in wanted if f"\n| {name} |" not in explained] == []


def test_unknown_command_in_a_page_is_seen() -> None:
    makefile = "test: setup\n\t@true\nnew-service:\n"
    page = "Then `make fly`.\n\n```\nmake test k=x\nmake new-service NAME=x && make tea\n```\nThey make money.\n"

    assert unknown_targets(page, makefile) == ["fly", "tea"]


def test_room_that_is_missing_or_made_up_is_seen() -> None:
    page = (
        "| It … | Room |\n|---|---|\n| is SQL | `store/` |\n| looks | `doctor/`, `wire/` |\n\nApart stands `handler`.\n"
    )

    assert list(misnamed_rooms(page, ["handler", "store", "wire"])) == ["doctor does not exist"]
    assert list(misnamed_rooms(page, ["doctor", "handler", "sim", "store", "wire"])) == ["sim is not named"]


def test_misnamed_fragments_are_seen_and_others_pass() -> None:
    good = ["README.md", "fifo-groups.fixed.md", "clock.added.md"]
    bad = ["Fifo.fixed.md", "clock.md", "clock.improved.md", "clock.added.txt"]

    assert misnamed_fragments(good + bad) == bad


def test_misnamed_and_unlisted_decisions_are_seen() -> None:
    index = "* [One](0001-one.md)\n* [Two](two.md)\n"

    found = list(unlisted_decisions(["README.md", "0001-one.md", "0003-three.md", "two.md"], index))

    assert found == ["0003-three.md is not in the index", "two.md is no NNNN-title.md"]


def test_package_missing_from_the_contracts_is_seen() -> None:
    imported = ["json.loads", "redrive.core.arn", "yaml.safe_load", "attrs.define"]

    assert unnamed_packages(imported, ["yaml"]) == ["attrs"]
