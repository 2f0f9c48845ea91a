"""Findings that somebody has accepted: they do not fail, what stands behind them does, and what is gone is told."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from redrive.core.errors import UserError
from redrive.prove.judge.judge import Rule
from redrive.prove.search.baseline import Accepted, read_baseline, with_entry
from tests.unit.prove.project.conftest import STORES, Command, Project
from tests.unit.prove.project.test_whole import FILES, SENDING, TEMPLATE

TWO = """
import boto3

QUEUES = "https://sqs.us-east-1.amazonaws.com/000000000000/"

def handler(event, context):
    for record in event["Records"]:
        boto3.client("sqs").send_message(QueueUrl=QUEUES + "first", MessageBody="1")
        boto3.client("sqs").send_message(QueueUrl=QUEUES + "second", MessageBody="2")
"""
"""Repeats two messages: a history that repeats the second one repeats the first one as well."""
MAILS = """
import boto3

def handler(event, context):
    for record in event["Records"]:
        boto3.client("dynamodb").put_item(TableName="reports", Item={"id": {"S": "1"}})
        boto3.client("sqs").send_message(
            QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/mails", MessageBody="1"
        )
"""


def entry(**changes: Any) -> dict[str, Any]:
    return {"handler": "app:handler", "rule": "repeated", "subject": "message to x", "reason": "known"} | changes


def proof(found: Any) -> Any:
    return json.loads(found.stdout)


def test_accepted_finding_does_not_fail_and_is_shown(project: Project, prove: Command) -> None:
    project({"app.py": MAILS})

    found = prove("app.py:handler", "--baseline", "accepted.yaml", "--accept", "two mails are fine")
    again = prove("app.py:handler", "--baseline", "accepted.yaml")

    assert found.exit_code == 0
    assert yaml.safe_load(Path("accepted.yaml").read_text("utf-8")) == [
        {"handler": "app:handler", "rule": "repeated", "subject": "message to mails", "reason": "two mails are fine"}
    ]
    assert again.exit_code == 0
    assert "behind 1 accepted finding" in again.stdout
    assert "accepted: repeated: message to mails (two mails are fine)" in again.stdout


def test_search_goes_on_behind_an_accepted_finding(project: Project, prove: Command) -> None:
    project({"app.py": TWO})

    prove("app.py:handler", "--baseline", "a.json", "--accept", "first")
    second = prove("app.py:handler", "--baseline", "a.json", "-o", "json")
    prove("app.py:handler", "--baseline", "a.json", "--accept", "second")
    last = prove("app.py:handler", "--baseline", "a.json", "-o", "json")

    subjects = [one["subject"] for one in json.loads(Path("a.json").read_text("utf-8"))]
    assert second.exit_code == 1
    assert len(set(subjects)) == 2
    assert proof(second)["counterexample"]["rule"] == "repeated"
    assert last.exit_code == 0, last.output
    assert {one["reason"] for one in proof(last)["accepted"]} == {"first", "second"}


def test_finding_that_no_longer_occurs_is_told(project: Project, prove: Command) -> None:
    project({"app.py": STORES, "a.json": json.dumps([entry()])})

    found = prove("app.py:handler", "--baseline", "a.json")
    limited = prove("app.py:handler", "--baseline", "a.json", "--only", "crash")

    assert found.exit_code == 0
    assert "no longer occurs: repeated: message to x (known): remove it from the baseline" in found.stdout
    assert "no longer occurs" not in limited.stdout


@pytest.mark.parametrize(("until", "code"), [("2020-01-01", 1), ("2999-01-01", 0)])
def test_acceptance_ends_with_its_last_day(project: Project, prove: Command, until: str, code: int) -> None:
    project({"app.py": MAILS, "a.json": json.dumps([entry(subject="message to mails", until=until)])})

    found = prove("app.py:handler", "--baseline", "a.json")

    assert found.exit_code == code
    assert ("no longer accepted of app:handler" in found.stderr) == bool(code)


def test_accepted_finding_of_a_function_holds_for_this_function_alone(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE + SENDING, **FILES, "other.json": json.dumps([entry(handler="Storing")])})

    prove("--function", "Sending", "--baseline", "a.yaml", "--accept", "known")
    accepted = prove("--baseline", "a.yaml", "--junit", "j.xml")
    other = prove("--baseline", "other.json")

    assert "handler: Sending" in Path("a.yaml").read_text("utf-8")
    assert "subject: message to Mails\n" in Path("a.yaml").read_text("utf-8")
    assert accepted.exit_code == 0
    assert 'failures="0"' in Path("j.xml").read_text("utf-8")
    assert other.exit_code == 1
    assert "Storing: no longer occurs: repeated: message to x" in other.stdout


def test_accept_is_about_one_function_and_needs_a_baseline(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE + SENDING, **FILES})

    assert prove("--accept", "known").exit_code == 2
    assert prove("--accept", "known", "--baseline", "a.yaml").exit_code == 2
    assert prove("--baseline", "nowhere.yaml").exit_code == 2


def test_comments_of_a_baseline_stay() -> None:
    new = Accepted("app:handler", Rule.ALL, "x", "known: yes", date(2027, 3, 31))
    text = with_entry("# why\n- {handler: a, rule: lost, subject: y, reason: z}\n", new, is_json=False)

    assert text.startswith("# why\n- {handler")
    assert yaml.safe_load(text)[1] == new.document()


@pytest.mark.parametrize(
    "document",
    ["{}", "[1]", json.dumps([entry(rule="odd")]), json.dumps([entry(reason="")]), json.dumps([entry(until="soon")]),
     json.dumps([entry(more=1)]), "[}"],
)  # fmt: skip
def test_wrong_baseline_is_refused(tmp_path: Path, document: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(document, "utf-8")

    with pytest.raises(UserError) as error:
        read_baseline(file)

    assert error.value.exit_code == 2
    assert str(file) in error.value.what
