"""A pipe from a queue or a stream gives its function a list of records, and tries again as a mapping does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.verdict import Verdict

CODE = """import json, boto3

def handler(event, context):
    for record in event:
        order = json.loads(record["body"])
        boto3.client("sns").publish(TopicArn="arn:aws:sns:us-east-1:000000000000:told", Message=order["sku"])
    return {ANSWER}
"""
ROLE = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}}


def proved(
    folder: Path, code: str, source: dict[str, Any], parameters: dict[str, Any], others: dict[str, Any] | None = None,
    function_id: str = "Function", **more: Any,
) -> Verdict:  # fmt: skip
    (folder / "app_piped.py").write_text(code)
    function = {
        "Type": "AWS::Serverless::Function",
        "Properties": {"Handler": "app_piped.handler", "Runtime": "python3.12", "CodeUri": "."},
    }
    place = "StreamArn" if source["Type"] == "AWS::DynamoDB::Table" else "Arn"
    pipe = {
        "Source": {"Fn::GetAtt": ["Source", place]}, "Target": {"Fn::GetAtt": ["Function", "Arn"]},
        "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]}, "SourceParameters": parameters, **more,
    }  # fmt: skip
    resources = {
        "Source": source, "Role": ROLE, "Function": function, "Pipe": {"Type": "AWS::Pipes::Pipe", "Properties": pipe}
    }  # fmt: skip
    root = {"Transform": "AWS::Serverless-2016-10-31", "Resources": {**resources, **(others or {})}}
    (folder / "template.json").write_text(json.dumps(root))
    return prove(None, Options(faults=1, template=folder / "template.json", function=function_id))


@pytest.mark.parametrize("answer", ["'OK'", "{'batchItemFailures': []}"])
def test_function_of_a_pipe_is_given_the_messages_of_its_queue(tmp_path: Path, answer: str) -> None:
    verdict = proved(
        tmp_path,
        CODE.replace("{ANSWER}", answer),
        {"Type": "AWS::SQS::Queue"},
        {"SqsQueueParameters": {"BatchSize": 1}},
    )

    assert verdict.trigger is Kind.SQS
    assert "a list of records" in verdict.assumptions["pipe Pipe"]
    assert verdict.counterexample is not None
    assert str(verdict.counterexample.violation.subject) == "sns Publish on told"


def test_record_of_kinesis_has_its_data_in_itself(tmp_path: Path) -> None:
    code = """import base64, boto3, json
def handler(event, context):
    for record in event:
        assert record["partitionKey"] and record["sequenceNumber"] and record["eventSource"] == "aws:kinesis"
        order = json.loads(base64.b64decode(record["data"]))
        item = {"id": order["order_id"], "total": order["total"]}
        boto3.resource("dynamodb").Table("totals").put_item(Item=item)
"""
    source = {"Type": "AWS::Kinesis::Stream", "Properties": {"ShardCount": 1}}

    verdict = proved(tmp_path, code, source, {"KinesisStreamParameters": {"StartingPosition": "LATEST"}})

    assert verdict.trigger is Kind.KINESIS
    assert verdict.effects == {"item in totals": 1}


TABLE = {
    "Type": "AWS::DynamoDB::Table",
    "Properties": {
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
    },
}
TOLD = "boto3.client('sns').publish(TopicArn='arn:aws:sns:us-east-1:000000000000:told', Message={})"


@pytest.mark.parametrize(
    ("source", "parameters", "pattern", "read", "effect"),
    [
        (
            {"Type": "AWS::SQS::Queue"}, {},
            {"body": {"kind": ["order"], "amount": [{"numeric": [">", 100]}]}},
            "json.loads(record['body'])['id']", 1,
        ),
        (
            TABLE, {"DynamoDBStreamParameters": {"StartingPosition": "LATEST", "BatchSize": 1}},
            {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"state": {"S": ["paid"]}}}},
            "record['dynamodb']['NewImage']['pk']['S']", 1,
        ),
        (
            TABLE, {"DynamoDBStreamParameters": {"StartingPosition": "LATEST"}},
            {"eventName": ["REMOVE"]},
            "record['dynamodb']['Keys']['pk']['S']", 1,
        ),
        (
            {"Type": "AWS::Kinesis::Stream", "Properties": {"ShardCount": 1}},
            {"KinesisStreamParameters": {"StartingPosition": "LATEST"}},
            {"data": {"kind": ["order"]}, "partitionKey": [{"prefix": "a"}]},
            "json.loads(base64.b64decode(record['data']))['id']", 2,
        ),
    ],
    ids=["queue", "table", "removal", "stream"],
)  # fmt: skip
def test_what_is_made_up_passes_the_filter_of_its_pipe(
    tmp_path: Path, source: dict[str, Any], parameters: dict[str, Any], pattern: dict[str, Any], read: str, effect: int
) -> None:
    told = TOLD.format(read)
    code = f"import base64, json, boto3\ndef handler(event, context):\n    for record in event:\n        {told}\n"
    filtered = {**parameters, "FilterCriteria": {"Filters": [{"Pattern": json.dumps(pattern)}]}}

    verdict = proved(tmp_path, code, source, filtered)

    assert verdict.effects == {"sns Publish on told": effect}
    assert "filter" in verdict.assumptions


def test_pipe_with_an_input_template_is_left_out_and_told(tmp_path: Path) -> None:
    template: dict[str, Any] = {"TargetParameters": {"InputTemplate": '{"sku": <$.body.sku>}'}}
    told = "boto3.client('sns').publish(TopicArn='t', Message=event['sku'])"
    code = f"import boto3\ndef handler(event, context):\n    {told}\n"

    verdict = proved(tmp_path, code, {"Type": "AWS::SQS::Queue"}, {}, **template)

    assert "input template" in verdict.assumptions["pipe Pipe"]


def test_handler_that_reads_a_list_is_fed_by_a_pipe_where_no_template_is(tmp_path: Path) -> None:
    (tmp_path / "app_piped.py").write_text(CODE.replace("{ANSWER}", "None"))

    verdict = prove(subject_of("app_piped:handler", tmp_path), Options(faults=1))

    assert verdict.trigger is Kind.SQS
    assert [json.loads(body) for body in verdict.bodies] == [{"sku": "sample-sku"}]
    assert verdict.counterexample is not None


ENRICHED = """import boto3, json

def enrich(event, context):
    found = [json.loads(record["body"]) for record in event]
    boto3.resource("dynamodb").Table("seen").put_item(Item={"id": found[0]["customer"]})
    return [{**one, "name": "n"} for one in found]

def handler(event, context):
    for one in event:
        boto3.client("sns").publish(TopicArn="arn:aws:sns:us-east-1:000000000000:told", Message=one["name"])
"""
ENRICH = {
    "Type": "AWS::Serverless::Function",
    "Properties": {"Handler": "app_piped.enrich", "Runtime": "python3.12", "CodeUri": "."},
}


@pytest.mark.parametrize(
    ("function_id", "kind", "effect"),
    [("Enrich", Kind.SQS, "item in seen"), ("Function", Kind.LAMBDA, "sns Publish on told")],
)
def test_enrichment_is_fed_by_the_pipe_and_its_target_by_what_it_reads_of_a_list(
    tmp_path: Path, function_id: str, kind: Kind, effect: str
) -> None:
    queue = {"Type": "AWS::SQS::Queue"}
    enrichment = {"Fn::GetAtt": ["Enrich", "Arn"]}

    verdict = proved(tmp_path, ENRICHED, queue, {}, {"Enrich": ENRICH}, function_id, Enrichment=enrichment)

    assert verdict.trigger is kind
    assert verdict.effects == {effect: 1}
    assert "its enrichment, the function Enrich," in verdict.assumptions["pipe Pipe"]


def test_api_destination_that_enriches_is_told_as_what_it_is(tmp_path: Path) -> None:
    api = {"Type": "AWS::Events::ApiDestination", "Properties": {"HttpMethod": "POST"}}
    enrichment = {"Fn::GetAtt": ["Api", "Arn"]}

    verdict = proved(tmp_path, ENRICHED, {"Type": "AWS::SQS::Queue"}, {}, {"Api": api}, Enrichment=enrichment)

    assert verdict.effects == {"sns Publish on told": 1}
    assert "the API destination Api" in verdict.assumptions["pipe Pipe"]


def test_task_of_a_machine_that_a_pipe_starts_is_given_a_list(tmp_path: Path) -> None:
    work = {"Type": "Task", "Resource": {"Fn::GetAtt": ["Function", "Arn"]}, "End": True}
    machine = {
        "Type": "AWS::Serverless::StateMachine",
        "Properties": {"Definition": {"StartAt": "Work", "States": {"Work": work}}},
    }

    verdict = proved(
        tmp_path, CODE.replace("{ANSWER}", "None"), {"Type": "AWS::SQS::Queue"}, {}, {"Machine": machine},
        Target={"Ref": "Machine"},
    )  # fmt: skip

    assert verdict.trigger is Kind.TASK
    assert json.loads(json.loads(verdict.bodies[0])[0]["body"]) == {"sku": "sample-sku"}
    assert verdict.effects == {"sns Publish on told": 1}
