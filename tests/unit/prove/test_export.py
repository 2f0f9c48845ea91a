"""An exported history is that of a handler that may have changed, and is played from wherever it lies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove, replay
from redrive.prove.search.options import Options
from redrive.prove.tell.export import as_test

HANDLER = """
import boto3

def handler(event, context):
    dynamodb = boto3.client("dynamodb")
    {before}
    try:
        dynamodb.put_item(TableName="ledger", Item={{"id": {{"S": "1"}}}},
            ConditionExpression="attribute_not_exists(id)")
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return
    dynamodb.put_item(TableName="reports", Item={{"id": {{"S": "1"}}}})
"""
OPTIONS = Options(faults=1)


def write(folder: Path, before: str = "") -> None:
    (folder / "app.py").write_text(HANDLER.format(before=before), "utf-8")


def test_history_names_the_calls_that_its_faults_strike_at(tmp_path: Path) -> None:
    write(tmp_path)

    verdict = prove(subject_of("app:handler", tmp_path), OPTIONS)

    assert verdict.counterexample is not None
    history = [str(leg) for leg in verdict.counterexample.history]
    assert history == ["deliver crash-after dynamodb:PutItem ledger #1", "deliver"]


def test_history_fails_still_when_the_handler_makes_a_harmless_call_more(tmp_path: Path) -> None:
    write(tmp_path)
    verdict = prove(subject_of("app:handler", tmp_path), OPTIONS)
    assert verdict.counterexample is not None

    write(tmp_path, 'dynamodb.get_item(TableName="settings", Key={"id": {"S": "x"}})')
    found = replay(subject_of("app:handler", tmp_path), verdict.counterexample.history, OPTIONS)

    assert found is not None
    assert found.violation == verdict.counterexample.violation


def test_history_whose_call_is_gone_does_not_pass(tmp_path: Path) -> None:
    write(tmp_path)
    verdict = prove(subject_of("app:handler", tmp_path), OPTIONS)
    assert verdict.counterexample is not None

    (tmp_path / "app.py").write_text(HANDLER.format(before="").replace('"ledger"', '"memory"'), "utf-8")

    with pytest.raises(UserError, match=r"does not fit the handler any more.*redrive prove app:handler"):
        replay(subject_of("app:handler", tmp_path), verdict.counterexample.history, OPTIONS)


def test_exported_test_finds_its_handler_from_another_directory(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / "tests" / "test_history.py"
    file.parent.mkdir()
    verdict = prove(subject_of("app:handler", tmp_path), OPTIONS)
    file.write_text(as_test(verdict, OPTIONS, file=file, root=tmp_path), "utf-8")

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        cwd=file.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "item in reports is missing" in ran.stdout
