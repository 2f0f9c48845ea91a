"""A change of a template leaves the rest of its text as it was written, and is shown only if it ends the history."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from redrive.languages.template import Node, read_root
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.advice.changes.declared import changed_template
from redrive.prove.tell.advice.changes.written import WrittenTemplate
from redrive.prove.tell.advice.finding import Cause, Finding
from redrive.prove.tell.verdict import Counterexample

PLACE = ("Resources", "Queue", "Properties")


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        pytest.param(
            "Resources:\n  Queue:\n    Properties:\n      A: 1  # why\n\n  # Next\n  Other: {}\n", 5,
            "Resources:\n  Queue:\n    Properties:\n      A: 1  # why\n      B: 5\n\n  # Next\n  Other: {}\n",
            id="block, behind a comment",
        ),
        pytest.param(
            "Resources:\n  Queue:\n    Properties:\n      A: |\n        x\n\n  Other: {}\n", 5,
            "Resources:\n  Queue:\n    Properties:\n      A: |\n        x\n      B: 5\n\n  Other: {}\n",
            id="block, behind a text of lines",
        ),
        pytest.param(
            "Resources:\n  Queue:\n    Properties:\n      B: 4 # four\n", 5,
            "Resources:\n  Queue:\n    Properties:\n      B: 5 # four\n", id="another value",
        ),
        pytest.param(
            "Resources: {Queue: {Properties: {A: !GetAtt X.Arn}}}\n", {"C": {"Fn::GetAtt": ["X", "Arn"]}},
            "Resources: {Queue: {Properties: {A: !GetAtt X.Arn, B: {C: !GetAtt X.Arn}}}}\n", id="flow",
        ),
        pytest.param(
            "Resources:\n  Queue:\n    Properties:\n      A: [1]\n", {"C": {"D": ["x"]}, "E": {"Ref": "X"}},
            "Resources:\n  Queue:\n    Properties:\n      A: [1]\n      B:\n        C:\n          D:\n            - x\n"
            "        E: !Ref X\n",
            id="block, with members of its own",
        ),
        pytest.param(
            '{"Resources": {"Queue": {"Properties": {\n  "A": 1\n}}}}', {"Fn::GetAtt": ["X", "Arn"]},
            '{"Resources": {"Queue": {"Properties": {\n  "A": 1,\n  "B": {"Fn::GetAtt": ["X", "Arn"]}\n}}}}', id="JSON",
        ),
        pytest.param(
            "Resources: {Queue: {Properties: {}}}\n", 5, "Resources: {Queue: {Properties: {B: 5}}}\n", id="empty"
        ),
    ],
)  # fmt: skip
def test_member_is_put_where_the_objects_members_stand(before: str, value: Node, after: str) -> None:
    template = WrittenTemplate(before)

    edit = template.with_member(PLACE, "B", value)

    assert edit is not None
    assert template.edited([edit]) == after
    found: Node = read_root(after)
    for name in (*PLACE, "B"):
        assert isinstance(found, dict)
        found = found[name]
    assert found == value


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n", id="no properties"),
        pytest.param("Resources: {Queue: {Properties: {B: {C: 1}}}}\n", id="another value in an object"),
    ],
)
def test_what_is_not_there_has_no_member(text: str) -> None:
    edit = WrittenTemplate(text).with_member(PLACE, "B", 1)

    assert edit is None or "B: 1" in WrittenTemplate(text).edited([edit])


def test_template_that_a_tool_has_made_is_not_changed() -> None:
    made: dict[str, object] = {
        "Resources": {
            "Queue": {"Type": "AWS::SQS::Queue", "Metadata": {"aws:cdk:path": "Stack/Queue"}},
            "F": {"Type": "AWS::Lambda::Function", "Properties": {}},
            "M": {
                "Type": "AWS::Lambda::EventSourceMapping",
                "Properties": {"FunctionName": {"Ref": "F"}, "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]}},
            },
        }
    }  # fmt: skip
    finding = Finding(Cause.UNREAD_RESPONSE)
    by_hand = json.dumps(made).replace("aws:cdk:path", "written")

    assert changed_template(finding, "F", Kind.SQS, "", json.dumps(made)) == ""
    assert "ReportBatchItemFailures" in changed_template(finding, "F", Kind.SQS, "", by_hand)


HEAD = """Transform: AWS::Serverless-2016-10-31
Resources:
  Bills:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
  Done:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
  Bill:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.12
      Handler: app.handler
      CodeUri: .
      Environment:
        Variables:
          TABLE: !Ref Bills
          DONE: !Ref Done
          KEPT_HOURS: 24
"""
FED = """      Events:
        Fed:
          Type: SQS
          Properties:
            Queue: !GetAtt Orders.Arn
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 60
"""
LETTERS = """      RedrivePolicy:
        deadLetterTargetArn: !GetAtt Dead.Arn
        maxReceiveCount: 3
  Dead:
    Type: AWS::SQS::Queue
    Properties:
      MessageRetentionPeriod: {seconds}
"""
RULE = "      Events: {Placed: {Type: EventBridgeRule, Properties: {Pattern: {source: [shop]}}}}\n"
PUTS = """
import json, os, boto3

def handler(event, context):
    order = event["detail"] if "detail" in event else json.loads(event["Records"][0]["body"])
    boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": order["orderId"]}})
"""
EXPIRES = """
import json, os, time, boto3

def handler(event, context):
    dynamodb, table = boto3.client("dynamodb"), os.environ["TABLE"]
    done = os.environ["DONE"]
    order = json.loads(event["Records"][0]["body"])["orderId"]
    until = str(int(time.time()) + int(os.environ["KEPT_HOURS"]) * 3600)
    seen = {"TableName": done, "Item": {"id": {"S": f"seen {order}"}, "until": {"N": until}},
            "ConditionExpression": "attribute_not_exists(id) OR #u < :now", "ExpressionAttributeNames": {"#u": "until"},
            "ExpressionAttributeValues": {":now": {"N": str(int(time.time()))}}}
    adds = {"TableName": table, "Key": {"id": {"S": "all"}}, "UpdateExpression": "ADD orders :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}}}
    try:
        dynamodb.transact_write_items(TransactItems=[{"Put": seen}, {"Update": adds}])
    except dynamodb.exceptions.TransactionCanceledException as error:
        if error.response["CancellationReasons"][0]["Code"] != "ConditionalCheckFailed":
            raise
"""


def found(directory: Path, template: str, code: str) -> Counterexample | None:
    (directory / "app.py").write_text(code, "utf-8")
    (directory / "template.yaml").write_text(template, "utf-8")
    return prove(None, Options(template=directory / "template.yaml", function="Bill", faults=1)).counterexample


@pytest.mark.parametrize(
    ("template", "code", "cause", "line"),
    [
        pytest.param(
            HEAD + RULE, PUTS, "given up without a dead letter", "+        TargetArn: !GetAtt BillDeadLetters.Arn",
            id="a new queue",
        ),
        pytest.param(
            HEAD + FED + LETTERS.format(seconds=120), PUTS, "dead letters expired",
            "+      MessageRetentionPeriod: 1209600", id="a longer retention",
        ),
        pytest.param(
            HEAD + FED, PUTS, "never comes to rest", "+        deadLetterTargetArn: !GetAtt BillDeadLetters.Arn",
            id="a redrive policy",
        ),
        pytest.param(
            HEAD + FED + LETTERS.format(seconds=1_209_600), EXPIRES, "record expires too early",
            "+          KEPT_HOURS: 720", id="a longer life of a record",
        ),
    ],
)  # fmt: skip
def test_change_of_the_template_ends_the_history(
    tmp_path: Path, template: str, code: str, cause: str, line: str
) -> None:
    example = found(tmp_path, template, code)

    assert example is not None
    assert (example.cause, example.change is not None) == (cause, True)
    assert example.change is not None
    assert line in example.change.diff.splitlines()
    assert found(tmp_path, example.change.after, code) is None


def test_change_of_inline_code_is_one_of_the_template(tmp_path: Path) -> None:
    order = 'order = json.loads(event["Records"][0]["body"])'
    drawn = '{"S": context.aws_request_id}, "order": {"S": order["orderId"]}'
    code = re.sub("order = .*", order, PUTS).replace('{"S": order["orderId"]}', drawn).strip("\n")
    inline = "      InlineCode: |\n" + "".join(f"        {line}".rstrip() + "\n" for line in code.splitlines())
    template = HEAD.replace("      CodeUri: .\n", inline).replace("app.handler", "index.handler") + FED

    example = found(tmp_path, template + LETTERS.format(seconds=1_209_600), "")

    assert example is not None
    assert example.change is not None
    assert example.change.name == "template.yaml"
    assert '\n+            boto3.client("dynamodb")' in example.change.diff
    assert 'Item={"id": {"S": order["orderId"]}, ' in example.change.diff
