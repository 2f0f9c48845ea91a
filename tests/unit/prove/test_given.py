"""What the user gives beforehand is there, and what is written in a wrong shape is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.prove.calls.given import read_given
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options

GIVEN = """
rows: {orders: [{id: o-1, total: 12.5, lines: [{sku: a}]}]}
objects:
  - {bucket: inbox, key: a.json, body: {x: 1}}
  - {bucket: inbox, key: b.txt, file: b.txt}
secrets: {db: {username: app}}
parameters: {/region: eu, /zones: [a, b]}
"""
HANDLER = """
import json
import boto3

def handler(event, context):
    row = boto3.resource("dynamodb").Table("orders").get_item(Key={"id": "o-1"})["Item"]
    s3, ssm = boto3.client("s3"), boto3.client("ssm")
    read = [s3.get_object(Bucket="inbox", Key=key)["Body"].read() for key in ("a.json", "b.txt")]
    secret = json.loads(boto3.client("secretsmanager").get_secret_value(SecretId="db")["SecretString"])
    values = [ssm.get_parameter(Name=name)["Parameter"]["Value"] for name in ("/region", "/zones")]
    assert (str(row["total"]), row["lines"][0]["sku"]) == ("12.5", "a")
    assert read == [b'{"x": 1}', b"from a file"]
    assert (secret["username"], values) == ("app", ["eu", "a,b"])
    s3.put_object(Bucket="inbox", Key="done", Body=b"")
"""
TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Inbox: {Type: AWS::S3::Bucket, Properties: {BucketName: inbox}}
  Orders: {Type: AWS::DynamoDB::Table, Properties: {TableName: orders, BillingMode: PAY_PER_REQUEST,
    AttributeDefinitions: [{AttributeName: id, AttributeType: S}], KeySchema: [{AttributeName: id, KeyType: HASH}]}}
  Queue: {Type: AWS::SQS::Queue}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.11
      Handler: app_given.handler
      CodeUri: app_given.py
      Events: {In: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn}}}
"""


@pytest.mark.parametrize("template", [None, TEMPLATE], ids=["alone", "template"])
def test_what_is_given_is_there(tmp_path: Path, template: str | None) -> None:
    (tmp_path / "app_given.py").write_text(HANDLER)
    (tmp_path / "b.txt").write_text("from a file")
    (tmp_path / "given.yaml").write_text(GIVEN)
    (tmp_path / "t.yaml").write_text(template or "")
    file = None if template is None else tmp_path / "t.yaml"

    verdict = prove(
        subject_of("app_given:handler", tmp_path),
        Options(faults=0, given=read_given(tmp_path / "given.yaml"), template=file),
    )

    assert verdict.counterexample is None
    assert list(verdict.effects) == ["PutObject on inbox"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tables: {}", "no section 'tables'"), ("rows: []", "section rows is an object, and not a list"),
        ("rows: {orders: {id: 1}}", "rows of orders are a list"),
        ("rows: {orders: [1]}", "Row 1 of orders is a number"),
        ("objects: {a: b}", "section objects is a list"), ("objects: [{key: a, body: x}]", "no bucket"),
        ("objects: [{bucket: b, key: a}]", "either a body or a file"),
        ("objects: [{bucket: b, key: a, file: none.txt}]", "cannot be read"),
        ("objects: [{bucket: b, key: a, size: 1}]", "no member 'size'"),
        ("secrets: [a]", "section secrets is an object"), ("parameters: {/a: }", "parameter /a has no value"),
    ],
)  # fmt: skip
def test_wrong_shape_is_refused_by_name(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "given.yaml").write_text(text)

    with pytest.raises(UserError, match=says):
        read_given(tmp_path / "given.yaml")


ASKING = """
import boto3

def handler(event, context):
    found = boto3.client("rds").describe_db_snapshots()["DBSnapshots"]
    assert [one["Status"] for one in found] == ["creating", "available"]
    assert found[1]["SnapshotCreateTime"].year == 2024
    assert found[0]["DBSnapshotIdentifier"]
    queue = "https://sqs.us-east-1.amazonaws.com/000000000000/jobs"
    (one,) = boto3.client("sqs").receive_message(QueueUrl=queue)["Messages"]
    assert one["Body"] == '{"id": 1}'
    boto3.client("s3").put_object(Bucket="done", Key="done", Body=b"")
"""
ANSWERS = """
answers:
  - call: rds DescribeDBSnapshots
    answer: {DBSnapshots: [{Status: creating}, {Status: available, SnapshotCreateTime: "2024-05-06T00:00:00Z"}]}
messages: {jobs: [{id: 1}]}
"""


def test_given_answers_of_services_are_completed_and_given_messages_are_received(tmp_path: Path) -> None:
    (tmp_path / "given.yaml").write_text(ANSWERS)
    (tmp_path / "app_asking.py").write_text(ASKING)
    given = read_given(tmp_path / "given.yaml")

    verdict = prove(subject_of("app_asking:handler", tmp_path), Options(faults=0, given=given))

    assert list(verdict.effects.values()) == [1]


@pytest.mark.parametrize(
    "text", ["answers: [{call: rds, answer: {}}]", "messages: {jobs: 1}", "answers: [{call: rds X}]"]
)
def test_answers_and_messages_of_a_wrong_shape_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "given.yaml").write_text(text)

    with pytest.raises(UserError):
        read_given(tmp_path / "given.yaml")
