"""`redrive delete`: what is deleted, what remains and why."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.cli.conftest import Terminal

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
TEMPLATE: dict[str, Any] = {
    "Resources": {
        "Kept": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain", "Properties": {"QueueName": "kept"}},
        "Gone": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "gone"}},
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {"RoleName": "stubborn", "AssumeRolePolicyDocument": TRUST},
        },
    }
}


def make_stubborn(terminal: Terminal) -> None:
    """Give the stack's role a policy that the stack knows nothing of: it cannot be deleted then."""
    terminal.client("iam").put_role_policy(
        RoleName="stubborn", PolicyName="by-hand",
        PolicyDocument='{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}',
    )  # fmt: skip


def test_deleted_stack_tells_what_remained_and_why(terminal: Terminal) -> None:
    terminal.deploy(TEMPLATE)

    told = terminal.json("delete", "mine")

    (remained,) = told["remained"]
    assert told["status"] == "DELETE_COMPLETE"
    assert (remained["resource"], remained["status"]) == ("Kept", "DELETE_SKIPPED")
    assert "DeletionPolicy" in remained["why"]
    assert terminal.client("sqs").list_queues()["QueueUrls"] == [remained["id"]]


def test_progress_goes_to_standard_error(terminal: Terminal) -> None:
    terminal.deploy(TEMPLATE)

    done = terminal.run("delete", "mine")

    assert "DELETE_COMPLETE      Gone\n" in done.stderr
    assert json.loads(done.stdout)["stack"] == "mine"


def test_stack_that_cannot_be_deleted_names_the_reason_and_the_command_that_leaves_it(terminal: Terminal) -> None:
    terminal.deploy(TEMPLATE)
    make_stubborn(terminal)

    done = terminal.run("delete", "mine")
    again = terminal.run("delete", "mine", "--retain", "Role")

    whys = {one["resource"]: one["why"] for one in json.loads(done.stdout)["remained"]}
    assert done.exit_code == 1
    assert "must delete policies first" in whys["Role"]
    assert "redrive delete mine" in done.stderr
    assert "--retain Role" in done.stderr
    assert again.exit_code == 0


def test_mistyped_stack_is_guessed(terminal: Terminal) -> None:
    terminal.deploy(TEMPLATE)

    done = terminal.run("delete", "mien")

    assert done.exit_code == 2
    assert "There is no stack mien in us-east-1." in done.stderr
    assert "Did you mean mine?" in done.stderr
