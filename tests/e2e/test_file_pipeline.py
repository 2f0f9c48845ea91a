"""The example of files that start a state machine: each failure is noticed and mended, and the sums hold."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.conftest import ROOT

EXAMPLE = ROOT / "examples" / "file-pipeline" / "run.py"


def run(*arguments: str) -> Any:
    """What the example says to a pipe."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr or done.stdout
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def told() -> Any:
    return run()


def test_every_file_has_one_result_after_every_failure(told: Any) -> None:
    results = [one for failure in told["failures"] for one in failure["files"].values()]

    assert results == [{"result": "imported", "times": 1}] * (2 * len(told["failures"]))
    assert told["sums"]["files"] == told["sums"]["results"] == len(results) + 1


def test_what_nothing_is_told_of_is_found_by_the_health_check(told: Any) -> None:
    seen = {one["failure"]: one["after_2_min"] for one in told["failures"]}

    assert seen["notification off"][0] == "the bucket does not tell EventBridge"
    assert seen["pattern wrong"][0] == "the rule's pattern does not match an event as S3 sends it"
    assert seen["machine gone"] == seen["ARN changed"] == []


def test_throttled_starts_are_made_again_after_each_stage(told: Any) -> None:
    """The schedules of 60 and of 300 s are refused as well; that of 900 s starts the execution."""
    (throttling,) = (one for one in told["failures"] if one["failure"] == "throttling")

    assert all(60 + 300 + 900 <= after <= 60 + 300 + 900 + 30 for after in throttling["started_after_s"].values())


def test_each_failure_is_told_by_an_alarm_unless_it_mends_itself(told: Any) -> None:
    alarms = {
        one["failure"]: {text.split(":")[0] for _, text in one["told"] if text.startswith("alarm ")}
        for one in told["failures"]
    }

    silent = {"notification off", "pattern wrong", "rule disabled"}
    assert {name for name, names in alarms.items() if names == {"alarm unhealthy"}} == silent
    assert {name for name, names in alarms.items() if not names} == {"duplicates", "importer fails"}
    assert all("alarm starts-fail" in names for name, names in alarms.items() if names and name not in silent)
    assert all(minutes <= 12 for one in told["failures"] for minutes, text in one["told"] if "unhealthy" in text)


def test_people_are_told_of_what_they_have_to_mend(told: Any) -> None:
    texts = [text for _, text in told["told"]]

    assert "machine-gone/1.csv: INVALID_PARAMETER; the machine was made again" in texts
    assert "role-without-permission/1.csv: NO_PERMISSIONS after 0 stages; it is parked" in texts
    assert "throttled-for-long/1.csv: ThrottlingException after 3 stages; it is parked" in texts
    assert any(text.startswith("bad/1.csv was rejected: ") for text in texts)


def test_name_of_the_articles_retry_is_no_key(told: Any) -> None:
    assert told["listing"] == {"answers": ["retried", "retried", "escalated"], "executions_of_one_event": 2}


def test_sums_hold_under_failures_drawn_from_seeds() -> None:
    assert run("--seeds", "3")["wrong"] == []
