"""`redrive dlq list --template`: the dead-letter queues that a template declares, and of a stack what is in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from redrive.cli.main import main
from tests.unit.cli.conftest import Terminal

TEMPLATE = """
Resources:
  Dead: {Type: AWS::SQS::Queue}
  Orders:
    Type: AWS::SQS::Queue
    Properties: {RedrivePolicy: {deadLetterTargetArn: {Fn::GetAtt: [Dead, Arn]}, maxReceiveCount: 1}}
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    file = tmp_path / "template.yaml"
    file.write_text(TEMPLATE, "utf-8")
    return file


def test_template_is_read_without_a_server(template: Path) -> None:
    done = CliRunner().invoke(
        main, ["dlq", "list", "--template", str(template), "--endpoint-url", "http://127.0.0.1:9"]
    )

    assert done.exit_code == 0, done.output
    (queue,) = json.loads(done.stdout)["queues"]
    assert (queue["logical_id"], queue["name"], queue["letters"]) == ("Dead", None, None)
    assert queue["of"] == [{"kind": "queue", "name": "Orders", "arn": ""}]


def test_queue_of_a_stack_has_a_name_and_letters(terminal: Terminal, template: Path) -> None:
    terminal.deploy(yaml.safe_load(TEMPLATE), "shop")
    (url,) = [one for one in terminal.client("sqs").list_queues()["QueueUrls"] if "Dead" in one]
    terminal.client("sqs").send_message(QueueUrl=url, MessageBody="hello")

    (queue,) = terminal.json("dlq", "list", "--template", str(template), "--stack", "shop")["queues"]

    assert (queue["url"], queue["letters"]) == (url, 1)
    assert url.endswith(queue["name"])


def test_stack_without_its_template_is_told(terminal: Terminal) -> None:
    done = terminal.run("dlq", "list", "--stack", "shop")

    assert done.exit_code == 2
    assert "--stack needs the template" in done.stderr
