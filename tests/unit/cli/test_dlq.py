"""`redrive dlq`: dead-letter queues, their letters, and why these are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Terminal

ARN = "arn:aws:sqs:us-east-1:000000000000"
RULE = "arn:aws:events:us-east-1:000000000000:rule/orders"


def attributes(**named: str) -> Any:
    return {name: {"DataType": "String", "StringValue": value} for name, value in named.items()}


@pytest.fixture
def dead(terminal: Terminal) -> str:
    """A queue with three letters of a rule, of two causes, and one of nobody."""
    sqs = terminal.client("sqs")
    url = str(sqs.create_queue(QueueName="dead")["QueueUrl"])
    for number, code in enumerate(("NO_PERMISSIONS", "THROTTLING", "NO_PERMISSIONS")):
        event = {"id": f"e-{number}", "source": "shop", "detail-type": "Order", "detail": {}}
        told = attributes(RULE_ARN=RULE, ERROR_CODE=code, ERROR_MESSAGE=f"no, request {number}")
        sqs.send_message(QueueUrl=url, MessageBody=json.dumps(event), MessageAttributes=told)
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    return url


def visible(terminal: Terminal, url: str) -> int:
    names = ["ApproximateNumberOfMessages"]
    told = terminal.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return int(told[names[0]])


def test_list_names_queues_with_their_letters_and_sources(terminal: Terminal, dead: str) -> None:
    policy = json.dumps({"deadLetterTargetArn": f"{ARN}:dead", "maxReceiveCount": 3})
    terminal.client("sqs").create_queue(QueueName="orders", Attributes={"RedrivePolicy": policy})
    topic = terminal.client("sns").create_topic(Name="alerts")["TopicArn"]
    terminal.client("sns").subscribe(
        TopicArn=topic, Protocol="sqs", Endpoint=f"{ARN}:orders",
        Attributes={"RedrivePolicy": json.dumps({"deadLetterTargetArn": f"{ARN}:dead"})},
    )  # fmt: skip

    (told,) = terminal.json("dlq", "list")["queues"]

    assert (told["name"], told["letters"]) == ("dead", 4)
    assert [(one["kind"], one["name"]) for one in told["of"]] == [
        ("queue", "orders"), ("subscription", "alerts to orders")
    ]  # fmt: skip


def test_triage_groups_letters_by_cause_and_leaves_the_queue_as_it_was(terminal: Terminal, dead: str) -> None:
    told = terminal.json("dlq", "triage", "dead")

    groups = {(one["origin"], one["code"]): one for one in told["groups"]}
    assert told["letters"] == 4
    assert {key: one["letters"] for key, one in groups.items()} == {
        ("rule", "NO_PERMISSIONS"): 2, ("rule", "THROTTLING"): 1, ("unknown", None): 1
    }  # fmt: skip
    assert groups["rule", "NO_PERMISSIONS"]["class"] == "permission"
    assert visible(terminal, dead) == 4


def test_show_tells_letters_and_one_of_them_whole(terminal: Terminal, dead: str) -> None:
    letters = terminal.json("dlq", "show", f"{ARN}:dead", "-n", "2")["letters"]
    whole = terminal.json("dlq", "show", dead, letters[0]["message_id"][-12:])

    assert len(letters) == 2
    assert whole["work"] == letters[0]["work"]
    assert whole["failure"]["code"] == "NO_PERMISSIONS"
    assert visible(terminal, dead) == 4


def test_letter_and_queue_that_do_not_exist_are_told(terminal: Terminal, dead: str) -> None:
    missing, nowhere = terminal.run("dlq", "show", "dead", "nothing"), terminal.run("dlq", "triage", "nowhere")

    assert missing.exit_code == nowhere.exit_code == 2
    assert "dead has no letter nothing" in missing.stderr
    assert "There is no queue nowhere." in nowhere.stderr


def test_export_goes_on_after_an_interruption(terminal: Terminal, dead: str, tmp_path: Path) -> None:
    file = tmp_path / "letters.jsonl"
    terminal.run("dlq", "export", "dead", "--to", str(file))
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:2]) + lines[2][:20], "utf-8")

    again = terminal.run("dlq", "export", "dead", "--to", str(file))

    assert "2 letters were written" in again.stderr
    ids = [json.loads(line)["message_id"] for line in file.read_text("utf-8").splitlines()]
    assert len(ids) == len(set(ids)) == 4
    assert visible(terminal, dead) == 4


def test_export_into_another_file_is_refused(terminal: Terminal, dead: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("my notes\n", "utf-8")

    refused = terminal.run("dlq", "export", "dead", "--to", str(file))

    assert refused.exit_code == 2
    assert file.read_text("utf-8") == "my notes\n"
