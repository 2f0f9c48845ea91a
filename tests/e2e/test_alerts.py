"""The example of the alarms: which alarm tells each trouble, what is told in vain, what the articles' documents do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.conftest import ROOT

EXAMPLE = ROOT / "examples" / "alerts"


@pytest.fixture(scope="module")
def told() -> Any:
    """What the example says to a pipe, after its last event. It starts its own server."""
    environment = {name: value for name, value in os.environ.items() if name != "AWS_ENDPOINT_URL"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "run.py"), "--until", "09:30"],
        capture_output=True, text=True, timeout=300, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_trouble_is_told_by_the_alarms_that_are_for_it(told: Any) -> None:
    told_by = {
        one["trouble"]: {alarm["alarm"]: alarm["after_min"] for alarm in one["told_by"]} for one in told["troubles"]
    }

    assert told["not_told"] == []
    assert told_by["throttles"]["rule-retries"] < 15
    assert told_by["disabled rule"] == {"unhealthy": 3}
    assert told_by["crash after the effect"] == {"execution-outlives-its-lease": 3}
    assert told_by["slow downstream"] == {"unhealthy": 13, "files-are-late": 21}
    # Two of three failures: at once and after five minutes; the letter after three times five minutes.
    assert told_by["poison message"] == {"executions-fail-repeatedly": 6, "dead-letters-wait": 16, "unhealthy": 18}
    assert set(told_by["permission taken away"]) == {"unhealthy", "rule-gives-up"}


def test_planned_work_is_told_in_vain_unless_it_is_muted(told: Any) -> None:
    assert [(one["alarm"], one["during"]) for one in told["in_vain"]] == [
        ("unhealthy", "nothing"), ("unhealthy", "work on the rule"),
    ]  # fmt: skip
    assert told["muted"] == [{"at": "09:03", "alarm": "unhealthy"}]


def test_article_s_alarms_tell_nothing(told: Any) -> None:
    assert [one["told_as_printed"] for one in told["troubles"]] == [[]] * 6
    assert {state.partition(":")[0] for state in told["printed_alarms"].values()} == {"INSUFFICIENT_DATA"}


def test_article_s_document_of_metric_filters_is_refused(told: Any) -> None:
    documents = told["documents"]

    assert 'Unknown parameter in input: "MetricFilters"' in documents["the document, to PutMetricFilter"]
    assert 'Missing required parameter in input: "filterPattern"' in documents["its first filter"]
    assert documents["its first filter, sent without boto3's check"].startswith("InvalidParameterException")
    assert documents["metrics of the namespace EventBridge/Rules"] == "0"
    assert documents["7.1, of the log group that is named"].startswith("ResourceNotFoundException")


def test_article_s_queries_run_as_printed_and_their_comments_are_told(told: Any) -> None:
    queries = {one["name"]: one for one in told["queries"]}

    assert queries["printed/4.3.1 failed rules"]["rows"][0]["rule_name"] == "import-files"
    assert "begins a comment in SQL" in queries["printed/4.3.1 failed rules"]["notes"][0]
    assert {row["max(@duration)"] for row in queries["printed/4.3.2 delays"]["rows"]} == {"0"}
    assert "is disabled" in queries["printed/7.1 latest failures"]["rows"][0]["@message"]
    assert max(float(row["max(ProcessingLatency)"]) for row in queries["mended/4.3.2 delays"]["rows"]) >= 45_000
