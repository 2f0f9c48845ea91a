from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.handlers.checkout import NoRepository, checked_out, tidied
from benchmarks.handlers.listed import Added, Listed
from benchmarks.handlers.running import Newcomer

CODE = """\
import json
import os

import boto3


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        boto3.client("sns").publish(TopicArn=os.environ["TOPIC_ARN"], Message="sold " + order["number"])


def quiet(event, context):
    print(len(event["Records"]))
"""


@pytest.fixture
def mirrors(tmp_path: Path) -> Path:
    """A folder with one git directory, of the repository someone/orders."""
    work, mirror = tmp_path / "work", tmp_path / "mirrors" / "someone+orders" / "repo"
    (work / "service" / "src").mkdir(parents=True)
    (work / "service" / "src" / "app.py").write_text(CODE, "utf-8")
    git(work, "init", "--quiet")
    git(work, "add", ".")
    git(work, "-c", "user.name=Someone", "-c", "user.email=someone@example.com", "commit", "--quiet", "-m", "orders")
    git(tmp_path, "clone", "--quiet", "--bare", str(work), str(mirror))
    return tmp_path / "mirrors"


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def listed(mirrors: Path) -> Listed:
    return Listed(
        repository="https://github.com/someone/orders",
        commit=git(mirrors / "someone+orders" / "repo", "rev-parse", "HEAD"), folder="service", file="src/app.py",
        function="handler", licence="MIT", trigger="queue", truth=["repeated"], why="Publishes each time.",
    )  # fmt: skip


def newcomer() -> Newcomer:
    return Newcomer(Path(sys.executable), seconds=20, faults=1)


def test_a_handler_is_proved_in_the_folder_of_its_project(mirrors: Path) -> None:
    handler = listed(mirrors)

    with checked_out(handler, mirrors) as folder:
        found = newcomer().proves(handler, folder, Added(("--event", "e.json"), {}, {"e.json": {"number": "7"}}))

    assert found.verdict == "repeated", found.output
    assert "sns Publish" in found.sentence
    assert found.exit_code == 1


def test_a_handler_that_changes_nothing_is_told_from_one_that_cannot_run(mirrors: Path) -> None:
    handler = listed(mirrors)

    with checked_out(handler, mirrors) as folder:
        quiet = newcomer().proves(replace(handler, function="quiet"), folder)
        absent = newcomer().proves(replace(handler, function="absent"), folder)

    assert (quiet.verdict, absent.verdict) == ("nothing", "refused")


def test_what_a_run_leaves_in_the_checkout_is_taken_back(mirrors: Path) -> None:
    handler = listed(mirrors)

    with checked_out(handler, mirrors) as folder:
        (folder / handler.path).write_text("changed", "utf-8")
        (folder / "new").mkdir()
        (folder / "new" / "file").touch()
        tidied(folder)

        assert (folder / handler.path).read_text("utf-8") == CODE
        assert not (folder / "new").exists()
    assert not folder.exists()


@pytest.mark.parametrize(
    "changed",
    [
        lambda handler: replace(handler, commit="0" * 40),
        lambda handler: replace(handler, file="other.py"),
        lambda handler: replace(handler, repository="https://github.com/a/b"),
    ],
    ids=["commit", "file", "repository"],
)
def test_what_is_not_in_the_mirrors_is_told(mirrors: Path, changed: Callable[[Listed], Listed]) -> None:
    handler = changed(listed(mirrors))

    with pytest.raises(NoRepository), checked_out(handler, mirrors):
        pass
