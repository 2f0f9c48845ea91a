"""Searches and histories that do not end by themselves end, and say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner

from redrive.cli.main import main
from redrive.prove.judge.judge import Rule
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.story import STEPS_MAX
from tests.unit.prove.conftest import EXAMPLES, Prover, example


def test_handler_that_sends_its_message_again_for_ever_is_stuck(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        for record in event["Records"]:
            try:
                boto3.client("dynamodb").put_item(TableName="reports", Item={"id": {"S": "1"}})
            except ClientError:
                url = "https://sqs.us-east-1.amazonaws.com/000000000000/messages"
                boto3.client("sqs").send_message(QueueUrl=url, MessageBody=record["body"])

    verdict = proved(handler)

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.UNSTUCK
    assert verdict.counterexample.violation.sentence.startswith("It never ends: after 112 runs")
    assert len(verdict.counterexample.steps) < STEPS_MAX
    assert any("steps are left out" in step.text for step in verdict.counterexample.steps)


def test_search_that_is_stopped_says_what_it_has_completed() -> None:
    told: list[int] = []

    verdict = prove(
        example("safe"), Options(faults=3),
        progress=lambda faults, *_: told.append(faults), may_go_on=lambda: told[-1:] != [2],
    )  # fmt: skip

    assert not verdict.bounds.is_finished
    assert (
        verdict.sentence == f"no counterexample in {len(told)} histories, search not finished: up to 1 fault complete"
    )
    assert json.loads(verdict.as_json())["ok"] is False
    assert json.loads(verdict.as_json())["bounds"]["complete_faults"] == verdict.bounds.complete_faults == 1


def test_search_that_is_stopped_between_two_levels_has_completed_the_first() -> None:
    """The next history has one fault more, and was not begun."""
    whole = prove(example("safe"), Options(faults=1))
    told: list[int] = []

    verdict = prove(
        example("safe"), Options(faults=2),
        progress=lambda faults, *_: told.append(faults), may_go_on=lambda: len(told) < whole.bounds.histories,
    )  # fmt: skip

    assert not verdict.bounds.is_finished
    assert verdict.bounds.complete_faults == 1


def test_progress_says_what_is_tried() -> None:
    told: list[str] = []

    prove(example("safe"), Options(faults=1), progress=lambda *values: told.append(values[3]))

    assert told[0] == "deliver"
    assert "crash-after dynamodb:PutItem reports" in told
    assert "duplicate" in told


def test_command_without_a_terminal_says_at_once_what_it_proves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)

    result = CliRunner().invoke(main, ["prove", "safe:handler", "--faults", "0"])

    assert result.stderr.splitlines()[0] == "proving safe:handler"


def test_command_that_was_stopped_exits_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)

    result = CliRunner().invoke(main, ["prove", "safe:handler", "--seconds", "0.001"])

    assert result.exit_code == 3
    assert "search not finished: nothing complete" in result.stdout


def test_history_that_was_searched_alone_is_told_in_the_singular() -> None:
    assert prove(example("safe"), Options(faults=0)).sentence == "no counterexample up to 0 faults in 1 history"


def test_export_makes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    file = tmp_path / "new" / "test_x.py"

    result = CliRunner().invoke(main, ["prove", "running_means_skip:handler", "--faults", "1", "--export", str(file)])

    assert result.exit_code == 1
    assert file.is_file()
