"""`redrive states`: what executions did, what definitions should do better, and what is run again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.cli.test_queues import role

ARN = "arn:aws:states:us-east-1:000000000000"
SEND = {
    "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage",
    "Parameters": {"QueueUrl.$": "$.url", "MessageBody": "x"}, "ResultPath": None,
}  # fmt: skip
DEFINITION = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map", "ItemsPath": "$.items", "Next": "Send", "ResultPath": None,
            "ItemProcessor": {"StartAt": "Note", "States": {"Note": {"Type": "Pass", "End": True}}},
        },
        "Send": SEND | {
            "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 60, "MaxAttempts": 1}], "Next": "Done",
        },
        "Done": {"Type": "Succeed"},
    },
}  # fmt: skip


@pytest.fixture
def machine(terminal: Terminal) -> Callable[..., str]:
    """Makes a machine of a definition; answers its ARN."""
    allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    arn = role(terminal, "states")
    terminal.client("iam").put_role_policy(
        RoleName="states", PolicyName="all", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": allowed})
    )

    def make(definition: dict[str, Any], name: str = "files") -> str:
        return str(
            terminal.client("stepfunctions").create_state_machine(
                name=name, roleArn=arn, definition=json.dumps(definition)
            )["stateMachineArn"]
        )

    return make


def start(terminal: Terminal, machine: str, value: Any, name: str = "e") -> None:
    terminal.client("stepfunctions").start_execution(stateMachineArn=machine, name=name, input=json.dumps(value))
    terminal.advance(1)


def test_execution_is_a_tree_of_visits_with_attempts_and_goes_on_when_redriven(
    terminal: Terminal, machine: Callable[..., str], tmp_path: Path
) -> None:
    missing = "http://127.0.0.1/000000000000/missing"
    start(terminal, machine(DEFINITION), {"items": [1, 2], "url": missing})
    terminal.advance(61)

    failed = terminal.json("states", "show", "files", "--svg", str(tmp_path / "path.svg"))

    assert (failed["status"], failed["redrivable"]) == ("FAILED", True)
    each, send = failed["states"]
    assert (each["outcome"], [(one["state"], one["iteration"]) for one in each["inside"]]) == (
        "succeeded", [("Note", 0), ("Note", 1)],
    )  # fmt: skip
    assert (send["state"], send["outcome"], [one["outcome"] for one in send["attempts"]]) == (
        "Send", "failed", ["failed", "failed"],
    )  # fmt: skip
    assert send["attempts"][0]["error"] == send["error"] != ""
    assert "Send" in (tmp_path / "path.svg").read_text("utf-8")

    terminal.client("sqs").create_queue(QueueName="missing")
    told = terminal.json("states", "redrive", "files/e")
    terminal.advance(1)
    again = terminal.run("states", "redrive", "files/e")
    ended = terminal.json("states", "show", "files/e")

    assert [(one["was"], one["redrives"], one["refused"]) for one in told["executions"]] == [("FAILED", 1, "")]
    assert (again.exit_code, "SUCCEEDED" in again.output) == (4, True)
    assert (ended["status"], ended["redrives"]) == ("SUCCEEDED", 1)
    assert [(one["state"], one["outcome"]) for one in ended["states"]] == [
        ("Each", "succeeded"), ("Send", "succeeded"), ("Done", "succeeded"),
    ]  # fmt: skip
    assert ended["states"][1]["redriven"]


def test_states_behind_a_parallel_and_a_map_belong_to_no_branch_of_theirs(
    terminal: Terminal, machine: Callable[..., str], tmp_path: Path
) -> None:
    """Their causes are events of a branch, and of an item. What has failed inside of a Map was not stopped."""
    passes = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
    others = {"StartAt": "Q", "States": {"Q": {"Type": "Pass", "Next": "R"}, "R": {"Type": "Pass", "End": True}}}
    sends = {"StartAt": "Send", "States": {"Send": SEND | {"End": True}}}
    definition = {
        "StartAt": "Both",
        "States": {
            "Both": {"Type": "Parallel", "Branches": [passes, others], "ResultPath": None, "Next": "Each"},
            "Each": {
                "Type": "Map", "ItemsPath": "$.items", "ItemProcessor": sends, "Next": "Done",
                "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}],
            },
            "Done": {"Type": "Succeed"},
            "Caught": {"Type": "Pass", "End": True},
        },
    }  # fmt: skip
    start(terminal, machine(definition), {"items": [{"url": "http://127.0.0.1/000000000000/none"}]})

    shown = terminal.json("states", "show", "files/e", "--svg", str(tmp_path / "path.svg"))

    told = {one["state"]: (one.get("iteration"), one["outcome"]) for one in shown["states"]}
    assert told == {"Both": (None, "succeeded"), "Each": (None, "caught"), "Caught": (None, "succeeded")}
    (sent,) = shown["states"][1]["inside"]
    assert (sent["iteration"], sent["outcome"]) == (0, "failed")
    assert (tmp_path / "path.svg").read_text("utf-8").count('class="taken"') == 3


def test_machines_and_their_executions_are_listed(terminal: Terminal, machine: Callable[..., str]) -> None:
    files = machine({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    machine({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}, "other")
    for name in ("one", "two"):
        start(terminal, files, {}, name)

    machines = terminal.json("states", "list")["machines"]
    executions = terminal.json("states", "list", "files", "--status", "succeeded")["executions"]

    assert {one["machine"]: (one["latest"] or {}).get("name") for one in machines} == {"files": "two", "other": None}
    assert [one["name"] for one in executions] == ["two", "one"]
    assert terminal.run("states", "list", "nothing").exit_code != 0


def test_definition_is_checked_in_a_file_in_a_template_and_on_the_server(
    terminal: Terminal, machine: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "files.asl.json").write_text(json.dumps(DEFINITION), "utf-8")
    resource = {"Type": "AWS::Serverless::StateMachine", "Properties": {"DefinitionUri": "files.asl.json"}}
    template = {"Transform": "AWS::Serverless-2016-10-31", "Resources": {"Files": resource}}
    (tmp_path / "template.json").write_text(json.dumps(template), "utf-8")
    machine(DEFINITION)

    told = [
        terminal.run("states", "lint", what, "--json")
        for what in (str(tmp_path / "files.asl.json"), str(tmp_path / "template.json"), "files")
    ]

    rules = [{one["rule"] for one in json.loads(done.stdout)["machines"][0]["findings"]} for done in told]
    assert rules == [{"missing-catch", "retry-without-key"}] * 3
    assert [done.exit_code for done in told] == [1, 1, 1]


def test_definition_that_aws_refuses_is_told_with_the_place_and_one_without_faults_ends_with_zero(
    terminal: Terminal, tmp_path: Path
) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.yaml"
    bad.write_text('{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}}}', "utf-8")
    good.write_text("StartAt: A\nStates:\n  A: {Type: Pass, End: true}\n", "utf-8")

    refused = terminal.run("states", "lint", str(bad), "--json")
    passed = terminal.run("states", "lint", str(good))

    (finding,) = json.loads(refused.stdout)["machines"][0]["findings"]
    assert (finding["rule"], finding["level"], finding["place"]) == (
        "MISSING_TRANSITION_TARGET", "error", "/States/A/Next",
    )  # fmt: skip
    assert (refused.exit_code, passed.exit_code) == (1, 0)
