"""A template whose code lies beside it is deployed in a test as it is, and its functions run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.testing.world import World

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Orders: {Type: AWS::SQS::Queue}
  Taken: {Type: AWS::SQS::Queue}
  Take:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.13
      Handler: app.handler
      CodeUri: src/
      Policies: [{SQSSendMessagePolicy: {QueueName: !GetAtt Taken.QueueName}}]
      Environment: {Variables: {TAKEN: !Ref Taken}}
      Events: {Order: {Type: SQS, Properties: {Queue: !GetAtt Orders.Arn}}}
Outputs:
  Orders: {Value: !Ref Orders}
  Taken: {Value: !Ref Taken}
"""
APP = """
import os, boto3, words

def handler(event, context):
    body = words.loud(event["Records"][0]["body"])
    boto3.client("sqs").send_message(QueueUrl=os.environ["TAKEN"], MessageBody=body)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The template of a project, with its code."""
    monkeypatch.setenv("REDRIVE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text(APP)
    (tmp_path / "src" / "words.py").write_text("def loud(text): return text.upper()\n")
    template = tmp_path / "template.yaml"
    template.write_text(TEMPLATE)
    return template


def test_function_whose_code_lies_beside_the_template_runs(project: Path) -> None:
    world = World(seed=1)

    outputs = world.deploy(project)
    with world.reached():
        world.client("sqs").send_message(QueueUrl=outputs["Orders"], MessageBody="tea")
        world.advance(minutes=1)

    taken = world.client("sqs").receive_message(QueueUrl=outputs["Taken"])["Messages"]
    assert [message["Body"] for message in taken] == ["TEA"]
    world.close()


def test_template_that_is_longer_than_a_request_takes_is_deployed(project: Path) -> None:
    queues = {f"Queue{number}": {"Type": "AWS::SQS::Queue"} for number in range(400)}
    project.write_text(json.dumps({"Description": "x" * 1_000, "Resources": queues}, indent=16))
    assert project.stat().st_size > 51_200
    world = World(seed=1)

    world.deploy(project)

    assert len(world.client("sqs").list_queues()["QueueUrls"]) == 400
    world.close()


def test_code_that_is_not_there_is_named(project: Path) -> None:
    (project.parent / "src").rename(project.parent / "elsewhere")
    world = World(seed=1)

    with pytest.raises(UserError, match=r"There is no .*src, which the template names as code"):
        world.deploy(project)
    world.close()
