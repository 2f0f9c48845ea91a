"""The example of files that arrive: each file once and in order whatever S3 does, and the article's code as printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.conftest import ROOT

EXAMPLE = ROOT / "examples" / "file-arrives"
FAILED = "failed: ServiceUnavailable: the importer does not answer"
DUPLICATE, OLDER = "a duplicate, left out", "older than what was done, left out"


@pytest.fixture(scope="module")
def told() -> Any:
    """What the example says to a pipe. It starts its own server."""
    environment = {name: value for name, value in os.environ.items() if name != "AWS_ENDPOINT_URL"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "run.py")],
        capture_output=True, text=True, timeout=300, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def did(told: Any, key: str) -> list[tuple[str, str]]:
    """What the processor did with a file, and on which way it was told."""
    return [(one["way"], one["did"]) for one in told["files"][key]]


def at(told: Any, key: str) -> list[float]:
    """When, in seconds from the first time."""
    return [one["at_s"] for one in told["files"][key]]


def test_files_are_imported_however_they_come(told: Any) -> None:
    for key in ("in/put.csv", "in/copy.csv", "in/large.csv", "in/throttled.csv"):
        assert did(told, key) == [("bus", "imported")]
    assert did(told, "in/gone.csv") == [("bus", "imported"), ("bus", "removed")]
    assert did(told, "direct/file one.csv") == [("direct", "imported")]


def test_change_that_is_told_twice_is_done_once(told: Any) -> None:
    assert told["told_by_the_bus"]["in/twice.csv"] == 2
    assert did(told, "in/twice.csv") == [("bus", "imported"), ("bus", DUPLICATE)]
    assert sorted(way for way, _ in did(told, "in/both.csv")) == ["bus", "direct"]
    assert sorted(what for _, what in did(told, "in/both.csv")) == [DUPLICATE, "imported"]


def test_older_change_never_undoes_a_newer_one(told: Any) -> None:
    assert did(told, "in/late.csv") == [("bus", "imported"), ("bus", OLDER)]
    assert at(told, "in/late.csv") == [0, 29]
    assert ("bus", OLDER) in did(told, "in/shuffled.csv")
    assert told["now"]["in/shuffled.csv"]["content"] == "v5"


def test_failed_file_comes_again_after_60_300_and_900_seconds_and_then_people_are_told(told: Any) -> None:
    assert did(told, "in/once.csv") == [("bus", FAILED), ("retry", "imported")]
    assert [what for _, what in did(told, "in/stubborn.csv")] == [FAILED, FAILED, FAILED, "imported"]
    assert [what for _, what in did(told, "in/broken.csv")] == [FAILED] * 4
    assert at(told, "in/once.csv") == [0, 60]
    assert at(told, "in/stubborn.csv") == at(told, "in/broken.csv") == [0, 60, 360, 1260]
    assert told["mail"] == ["in/broken.csv was not imported"]


def test_article_s_code_and_patterns_go_wrong_as_its_files_say(told: Any) -> None:
    assert told["listings"] == {
        "listing_idempotency.py": "KeyError: 'eventTime'",
        "listing_dead_letters.py": "KeyError: 'Message'; and every reason is UNKNOWN_ERROR",
        "pattern-called-wrong.json": "matches",
        "pattern-called-right.json": "never matches",
    }
