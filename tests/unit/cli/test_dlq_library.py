"""`redrive.deadletters` in a program, its runbook, and the ready function that watches a queue."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import boto3
import pytest

from redrive.cli.surface import Surface
from redrive.deadletters import Action, Answer, DeadLetterQueue, decided
from tests.unit.cli.conftest import Terminal

ROOT = Path(__file__).parents[3]
ARN = "arn:aws:sqs:us-east-1:000000000000"


@pytest.fixture
def dead(terminal: Terminal) -> DeadLetterQueue:
    """Four letters of a target that was too slow, and two that it could not read."""
    sqs, events = terminal.client("sqs"), terminal.client("events")
    sqs.create_queue(QueueName="orders")
    events.put_rule(Name="r", EventPattern='{"source": ["shop"]}')
    events.put_targets(Rule="r", Targets=[{"Id": "one", "Arn": f"{ARN}:orders"}])
    url = sqs.create_queue(QueueName="dead-orders")["QueueUrl"]
    for number, code in enumerate(["TIMEOUT"] * 4 + ["INVALID_JSON"] * 2):
        told = {
            "RULE_ARN": "arn:aws:events:us-east-1:000000000000:rule/r", "TARGET_ARN": f"{ARN}:orders",
            "ERROR_CODE": code, "ERROR_MESSAGE": "a | b <i>*c*",
        }  # fmt: skip
        attributes = {name: {"DataType": "String", "StringValue": value} for name, value in told.items()}
        sqs.send_message(QueueUrl=url, MessageBody=json.dumps({"order": number}), MessageAttributes=attributes)
    server = Surface(terminal.endpoint_url)

    def wait(seconds: float) -> None:
        if seconds > 0:
            server.advance_clock(advance_s=seconds)

    session = boto3.session.Session("test", "test", region_name="us-east-1")
    return DeadLetterQueue(
        "dead-orders", session=session, endpoint_url=terminal.endpoint_url,
        now=lambda: server.get_clock()["now_ms"], wait=wait,
    )  # fmt: skip


def waiting(terminal: Terminal, name: str) -> int:
    sqs = terminal.client("sqs")
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(told["Attributes"]["ApproximateNumberOfMessages"])


def test_example_of_the_guide_brings_letters_back(terminal: Terminal, dead: DeadLetterQueue, tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guide" / "dead-letters.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(example, "dead-letters.md", "exec"), names)

    assert names["bring_back"](dead, tmp_path / "dead-orders.journal") == 4

    assert (waiting(terminal, "orders"), waiting(terminal, "dead-orders")) == (4, 0)
    exported = (tmp_path / "dead-orders.journal.discarded.jsonl").read_text("utf-8").splitlines()
    assert sorted(json.loads(json.loads(line)["body"])["order"] for line in exported) == [4, 5]


def test_looking_and_checking_leave_the_letters_visible(terminal: Terminal, dead: DeadLetterQueue) -> None:
    assert len(list(dead.letters(most=2))) == 2
    assert [rule.action for rule in dead.plan().rules] == [Action.REDRIVE, Action.LEAVE]
    assert {decided(findings) for _, findings in dead.check()} == {Answer.CAUTION}

    assert waiting(terminal, "dead-orders") == 6


def test_runbook_tells_each_cause_and_the_commands_for_it(terminal: Terminal, dead: DeadLetterQueue) -> None:
    told = terminal.run("dlq", "runbook", "dead-orders").stdout

    assert ": 6 letters of 2 causes." in told
    assert r"| 1 | 4 | rule r | TIMEOUT: a \| b \<i\>\*c\* | transient |" in told
    assert 'redrive dlq discard dead-orders --group 2 --reason "WHY"' in told


def test_runbook_of_an_empty_queue_has_no_commands(terminal: Terminal) -> None:
    terminal.client("sqs").create_queue(QueueName="empty")

    told = terminal.run("dlq", "runbook", "empty").stdout

    assert ": 0 letters of 0 causes." in told
    assert "redrive dlq" not in told


def test_ready_function_tells_a_topic_under_the_permissions_of_its_template(
    terminal: Terminal, dead: DeadLetterQueue
) -> None:
    template = ROOT / "examples" / "dead-letter-watch" / "template.yaml"
    parameters = ["--parameter", "QueueName=dead-orders", "--parameter", "Logs=yes"]
    deployed = terminal.run("deploy", str(template), "--stack", "watch", *parameters)
    assert deployed.exit_code == 0, deployed.output
    sqs, sns = terminal.client("sqs"), terminal.client("sns")
    inbox = sqs.create_queue(QueueName="inbox")["QueueUrl"]
    anybody = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [anybody]})
    sqs.set_queue_attributes(QueueUrl=inbox, Attributes={"Policy": policy})
    (topic,) = (one["TopicArn"] for one in sns.list_topics()["Topics"])
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=f"{ARN}:inbox")

    terminal.advance(16 * 60)

    first = sqs.receive_message(QueueUrl=inbox)["Messages"][0]
    told = json.loads(first["Body"])
    triage = json.loads(told["MessageAttributes"]["triage"]["Value"])
    assert told["Subject"] == "6 dead letters in dead-orders"
    assert told["Message"].startswith("# Dead letters in dead-orders")
    assert [(one["letters"], one["code"], one["remedy"]) for one in triage["groups"]] == [
        (4, "TIMEOUT", "redrive now"), (2, "INVALID_JSON", "examine, then redrive or discard"),
    ]  # fmt: skip
    assert waiting(terminal, "dead-orders") == 6
