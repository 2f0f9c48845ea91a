"""A handler is proved from its SAM template: what SAM makes is its world, and CodeUri says where its code lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from redrive.cli.main import main
from redrive.core.errors import UserError
from redrive.packaging.kept import KeptInProject
from redrive.prove.project.source import read_template
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.stage import SCOPE

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Runtime: python3.11, Handler: app.handler}}
Resources:
  Orders: {Type: AWS::SQS::Queue}
  Seen: {Type: AWS::Serverless::SimpleTable}
  Layer: {Type: AWS::Serverless::LayerVersion, Properties: {ContentUri: layer}}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: worker_of_sam/
      Layers: [!Ref Layer]
      Environment: {Variables: {TABLE: !Ref Seen}}
      Policies: [{DynamoDBWritePolicy: {TableName: !Ref Seen}}]
      Events:
        Order: {Type: SQS, Properties: {Queue: !GetAtt Orders.Arn}}
Outputs:
  LayerArn: {Value: !Ref Layer}
"""
HANDLER = """
import os
import boto3

def handler(event, context):
    for record in event["Records"]:
        boto3.client("dynamodb").put_item(
            TableName=os.environ["TABLE"], Item={"id": {"S": record["messageId"]}, "body": {"S": record["body"]}}
        )
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    code = tmp_path / "worker_of_sam"
    code.mkdir()
    (code / "app.py").write_text(HANDLER)
    file = tmp_path / "template.yaml"
    file.write_text(TEMPLATE)
    return file


def test_sams_translation_is_kept_for_the_next_command(template: Path, tmp_path: Path) -> None:
    """Importing the translator takes longer than a short proof."""
    made: list[str] = []

    class Counting(KeptInProject):
        def text(self, of: str, make: Callable[[], str]) -> str:
            def count() -> str:
                made.append(of)
                return make()

            return super().text(of, count)

    plain = read_template(template, {}, SCOPE)
    found = [read_template(template, {}, SCOPE, kept=Counting(tmp_path)).root for _ in range(3)]
    template.write_text(TEMPLATE.replace("Orders: {Type", "Others: {Type").replace("Orders.Arn", "Others.Arn"))
    other = read_template(template, {}, SCOPE, kept=Counting(tmp_path)).root

    assert found == [plain.root] * 3
    assert list(found[0]["Resources"]) == list(plain.root["Resources"])  # type: ignore[arg-type] # Two templates.
    assert "Others" in other["Resources"]  # type: ignore[operator] # As above.
    assert len(made) == 2


def test_handler_of_a_sam_template_is_proved_from_where_its_code_lies(template: Path) -> None:
    verdict = prove(None, Options(template=template, faults=1))

    assert verdict.handler == "app:handler"
    assert verdict.counterexample is not None
    assert [kind == "item in Seen" for kind in verdict.effects] == [True]


def test_template_that_sam_refuses_cannot_be_proved_and_the_reason_is_sams(template: Path) -> None:
    template.write_text(TEMPLATE.replace("Layers:", "Lairs:"))

    with pytest.raises(UserError, match=r"Resource with id \[Worker\] is invalid\. property Lairs not defined"):
        prove(None, Options(template=template))


def test_parameters_of_samconfig_hold_for_a_proof_and_those_of_the_command_come_first(template: Path) -> None:
    declared = "Parameters: {Batch: {Type: Number, AllowedValues: [1, 2]}}\n"
    template.write_text(
        declared + TEMPLATE.replace("Queue: !GetAtt Orders.Arn", "BatchSize: !Ref Batch, Queue: !GetAtt Orders.Arn")
    )
    config = template.parent / "samconfig.toml"
    config.write_text('[default.deploy.parameters]\nparameter_overrides = "Batch=2"\n')
    command = ["prove", "--template", str(template), "--faults", "0"]

    configured = CliRunner().invoke(main, command)
    given = CliRunner().invoke(main, [*command, "-p", "Batch=3"])
    missing = CliRunner().invoke(main, [*command, "--config-env", "prod"])

    assert configured.exit_code == 0, configured.output
    assert "AllowedValues" in given.stderr or "allowed values" in given.stderr.lower()
    assert "has no environment prod" in missing.stderr


def test_handler_that_only_reads_is_told_of_tables_by_their_logical_ids(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import os\nimport boto3\n"
        "def handler(event, context):\n"
        "    boto3.client('dynamodb').scan(TableName=os.environ['TABLE'])\n"
    )
    (tmp_path / "template.yaml").write_text(
        "Transform: AWS::Serverless-2016-10-31\n"
        "Resources:\n"
        "  Orders: {Type: AWS::Serverless::SimpleTable}\n"
        "  Jobs: {Type: AWS::SQS::Queue}\n"
        "  Read:\n"
        "    Type: AWS::Serverless::Function\n"
        "    Properties:\n"
        "      CodeUri: .\n      Handler: app.handler\n      Runtime: python3.12\n"
        "      Environment: {Variables: {TABLE: !Ref Orders}}\n"
        "      Events: {Job: {Type: SQS, Properties: {Queue: !GetAtt Jobs.Arn}}}\n"
    )

    with pytest.raises(UserError, match=r"dynamodb Scan on Orders at app.py:4"):
        prove(None, Options(template=tmp_path / "template.yaml"))
