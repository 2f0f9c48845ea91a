"""A service of the Serverless Framework: its variables, functions, events and resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redrive.prove.project.finding import find_templates
from redrive.prove.project.source import ProjectTemplate, read_template
from redrive.prove.stage.stage import SCOPE
from tests.unit.prove.project.conftest import STORES, Command, Project

SERVICE = """
service: shop
provider:
  name: aws
  runtime: python3.6
  stage: ${opt:stage, self:custom.stage}
  environment:
    TABLE: ${self:custom.table.${sls:stage}}
custom:
  stage: ${opt:stage, 'dev'}
  table: {dev: orders-dev}
functions:
  place-order:
    handler: src/app.handler
    environment: {MODE: "${env:MODE, 'plain'}", OTHER: "${cf:others.Url}", SHARED: "${file(shared.yml):color}"}
    events:
      - sqs: {arn: {"Fn::GetAtt": [Orders, Arn]}, batchSize: 1, functionResponseType: ReportBatchItemFailures}
  tell:
    handler: src/app.tell
    onError: {"Fn::GetAtt": [Dead, Arn]}
    maximumRetryAttempts: 1
    events:
      - schedule: {rate: [rate(1 hour)], input: {id: 7}}
      - sns: told
      - s3: {bucket: inbox, event: "s3:ObjectCreated:*"}
      - http: GET orders/{id}
      - stream: {type: dynamodb, arn: {"Fn::GetAtt": [Rows, StreamArn]}}
      - alexaSkill: amzn1
resources:
  Resources:
    Orders: {Type: "AWS::SQS::Queue", Properties: {VisibilityTimeout: 60}}
    Dead: {Type: "AWS::SQS::Queue"}
    Inbox: {Type: "AWS::S3::Bucket", Properties: {BucketName: inbox}}
    Rows:
      Type: AWS::DynamoDB::Table
      Properties:
        BillingMode: PAY_PER_REQUEST
        AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
        KeySchema: [{AttributeName: id, KeyType: HASH}]
        StreamSpecification: {StreamViewType: NEW_IMAGE}
"""


@pytest.fixture
def service(tmp_path: Path) -> ProjectTemplate:
    (tmp_path / "serverless.yml").write_text(SERVICE, "utf-8")
    (tmp_path / "shared.yml").write_text("color: blue", "utf-8")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text(STORES, "utf-8")
    assert find_templates(tmp_path) == [tmp_path / "serverless.yml"]
    return read_template(tmp_path / "serverless.yml", {}, SCOPE)


def test_functions_have_the_framework_s_names_and_what_feeds_them(service: ProjectTemplate) -> None:
    feeds = {one.logical_id: sorted({feed.kind for feed in one.feeds}) for one in service.functions}

    assert feeds == {
        "PlaceDashorderLambdaFunction": ["sqs"],
        "TellLambdaFunction": ["caller", "dynamodb", "eventbridge", "s3", "topic"],
    }


def test_variables_are_those_of_the_default_stage_and_of_files_beside(service: ProjectTemplate) -> None:
    function: Any = service.root
    for step in ("Resources", "PlaceDashorderLambdaFunction", "Properties"):
        function = function[step]

    variables = function["Environment"]["Variables"]

    assert {**variables, "OTHER": ""} == {"TABLE": "orders-dev", "MODE": "plain", "OTHER": "", "SHARED": "blue"}
    assert (function["Runtime"], function["Timeout"]) == ("python3.12", 6)  # Lambda takes python3.6 no longer.
    assert any("cf:others.Url" in name for name in service.guesses)
    assert any("python3.6" in told for told in service.guesses.values())


def test_service_is_proved_as_a_project(project: Project, prove: Command) -> None:
    project({"serverless.yml": SERVICE, "shared.yml": "color: blue", "src/app.py": STORES})

    done = prove("--function", "PlaceDashorderLambdaFunction", "--faults", "0")

    assert (done.exit_code, "fed by: queue Orders" in done.output) == (0, True), done.output
