"""What names a handler under proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.prove.process.subject import Place, subject_of
from tests.unit.prove.conftest import EXAMPLES


@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("safe:handler", EXAMPLES),
        ("safe.handler", EXAMPLES),
        ("safe.py:handler", EXAMPLES),
        ("prove/safe.py:handler", EXAMPLES.parent),
    ],
)
def test_handler_is_named_by_module_or_by_file(name, root):
    assert subject_of(name, root).name == "safe:handler"


def test_file_that_is_not_there_is_said_so():
    with pytest.raises(UserError, match=r"There is no file .*nothing\.py"):
        subject_of("nothing.py:handler", EXAMPLES)


def test_module_that_is_a_link_out_of_its_folder_is_the_users(tmp_path: Path):
    """It is imported anew for each run, and its lines are shown under the name that it has there."""
    shared, folder = tmp_path / "shared", tmp_path / "function"
    shared.mkdir()
    folder.mkdir()
    (shared / "app.py").write_text(
        "import inspect\nRUNS = []\ndef handler(event, place):\n    RUNS.append(1)\n    return len(RUNS), place()\n",
        "utf-8",
    )
    (folder / "app.py").symlink_to(shared / "app.py")
    subject = subject_of("app:handler", folder)

    seen = []
    for _ in range(2):
        with subject.environment() as handler:
            seen.append(handler({}, subject.place))

    assert seen == [(1, Place("app.py", 5, "return len(RUNS), place()", folder / "app.py"))] * 2


def test_modules_remember_nothing_between_environments(tmp_path: Path) -> None:
    """A run is a new execution environment: the handler's module and those beside it begin anew."""
    (tmp_path / "seen.py").write_text("events = []\n")
    (tmp_path / "app.py").write_text(
        "import seen\n\ndef handler(event, context):\n    seen.events.append(event)\n    return len(seen.events)\n"
    )

    assert answers_of("app:handler", tmp_path) == [1, 1]


def test_package_adds_to_its_path_for_one_environment(tmp_path: Path) -> None:
    """What a package does to its search path is gone with the environment."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "__init__.py").write_text(
        "__path__.append('elsewhere')\n\ndef handler(event, context):\n    return len(__path__)\n"
    )

    assert answers_of("jobs:handler", tmp_path) == [2, 2]


def answers_of(name: str, root: Path) -> list[object]:
    """What a handler answers in two environments, one after the other."""
    subject = subject_of(name, root)
    answers = []
    for _ in range(2):
        with subject.environment() as handler:
            answers.append(handler({}, None))
    return answers
