"""Functions that streams feed, and functions that are invoked asynchronously: what their histories have, and find."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.errors import UserError
from redrive.prove.judge.judge import Rule
from redrive.prove.process.subject import GivenSubject, NamedSubject
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import Kind, record_text
from redrive.prove.tell.verdict import Verdict

PAYMENTS = json.dumps([{"id": "a", "amount": 1}, {"id": "b", "amount": 2}])
SEEN: list[Any] = []

SAM = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Letters: {Type: AWS::SQS::Queue}
  Source:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: order, AttributeType: S}, {AttributeName: line, AttributeType: N}]
      KeySchema: [{AttributeName: order, KeyType: HASH}, {AttributeName: line, KeyType: RANGE}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  Copies: {Type: AWS::Serverless::SimpleTable}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.11
      Handler: app_of_stream.handler
      CodeUri: .
      Environment: {Variables: {TABLE: !Ref Copies}}
      Policies: [{DynamoDBWritePolicy: {TableName: !Ref Copies}}, {SQSSendMessagePolicy: {QueueName: "*"}}]
      Events:
        Changes:
          Type: DynamoDB
          Properties: {Stream: !GetAtt Source.StreamArn, StartingPosition: LATEST%s}
"""
COPIER = """
import os
import boto3

def handler(event, context):
    for record in event["Records"]:
        keys = record["dynamodb"]["Keys"]
        key = keys["order"]["S"] + "/" + keys["line"]["N"] + "/" + record["eventName"]
        boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": key}})
"""


def data_of(record: Any) -> Any:
    return json.loads(base64.b64decode(record["kinesis"]["data"]))


def add(item: Any, *, key: str | None = None) -> None:
    """Add to a balance; with a key, once for each key."""
    update = {
        "TableName": "balances", "Key": {"id": {"S": "all"}}, "UpdateExpression": "ADD amount :amount",
        "ExpressionAttributeValues": {":amount": {"N": str(item["amount"])}},
    }  # fmt: skip
    if key is None:
        boto3.client("dynamodb").update_item(**update)
        return
    seen = {"TableName": "seen", "Item": {"id": {"S": key}}, "ConditionExpression": "attribute_not_exists(id)"}
    try:
        boto3.client("dynamodb").transact_write_items(TransactItems=[{"Put": seen}, {"Update": update}])
    except ClientError as error:
        if error.response["Error"]["Code"] != "TransactionCanceledException":
            raise


def counting(event: Any, context: Any) -> None:
    for record in event["Records"]:
        add(data_of(record))


def counting_once(event: Any, context: Any) -> None:
    for record in event["Records"]:
        add(data_of(record), key=data_of(record)["id"])


def counting_by_sequence_number(event: Any, context: Any) -> None:
    for record in event["Records"]:
        add(data_of(record), key=record["kinesis"]["sequenceNumber"])


def swallowing(event: Any, context: Any) -> None:
    for record in event["Records"]:
        try:
            add(data_of(record), key=data_of(record)["id"])
        except ClientError:
            continue


def last_wins(event: Any, context: Any) -> None:
    for record in event["Records"]:
        data = data_of(record)
        item = {"id": {"S": data["name"]}, "state": {"S": data["state"]}}
        boto3.client("dynamodb").put_item(TableName="lamps", Item=item)


def reporting(event: Any, context: Any) -> Any:
    """Count under keys, report the first record that failed, and stop there."""
    for record in event["Records"]:
        try:
            add(data_of(record), key=data_of(record)["id"])
        except (ClientError, BotoCoreError):
            return {"batchItemFailures": [{"itemIdentifier": record["kinesis"]["sequenceNumber"]}]}
    return {"batchItemFailures": []}


def newest_wins(event: Any, context: Any) -> None:
    """Write what is newer than what is there."""
    for record in event["Records"]:
        image = record["dynamodb"].get("NewImage")
        if image is None:
            continue
        try:
            boto3.client("dynamodb").put_item(
                TableName="copies", Item=image, ConditionExpression="attribute_not_exists(id) OR version < :version",
                ExpressionAttributeValues={":version": image["version"]},
            )  # fmt: skip
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise


def by_event_id(event: Any, context: Any) -> None:
    for record in event["Records"]:
        add({"amount": record["dynamodb"]["NewImage"]["version"]["N"]}, key=record["eventID"])


def remembering(event: Any, context: Any) -> None:
    SEEN.append(event)
    for record in event["Records"]:
        boto3.client("sqs").send_message(
            QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/copies.fifo", MessageBody="copy",
            MessageGroupId="copies", MessageDeduplicationId=record["eventID"].replace(":", "-"),
        )  # fmt: skip


def proved(handler: Any, kind: Kind, event: str | None = None, *, faults: int = 1) -> Verdict:
    bodies = None if event is None else (event,)
    return prove(GivenSubject(handler), Options(faults=faults, trigger=kind, bodies=bodies))


def rule_of(verdict: Verdict) -> Rule | None:
    return None if verdict.counterexample is None else verdict.counterexample.violation.rule


def steps_of(verdict: Verdict) -> str:
    assert verdict.counterexample is not None
    return "\n".join(step.text for step in verdict.counterexample.steps)


@pytest.mark.parametrize(
    ("handler", "rule"),
    [
        (counting, Rule.ONCE),
        (counting_by_sequence_number, Rule.ONCE),
        (swallowing, Rule.ALL),
        (counting_once, None),
        (reporting, None),
    ],
)
def test_counter_is_safe_only_under_a_key_of_the_data(handler: Any, rule: Rule | None) -> None:
    assert rule_of(proved(handler, Kind.KINESIS, PAYMENTS)) is rule


def test_key_of_the_data_holds_through_two_faults() -> None:
    assert rule_of(proved(counting_once, Kind.KINESIS, PAYMENTS, faults=2)) is None


def test_sequence_number_is_no_key_because_a_producer_puts_a_record_again() -> None:
    steps = steps_of(proved(counting_by_sequence_number, Kind.KINESIS, PAYMENTS))

    assert "the producer puts the record a second time: the same data, and another sequence number" in steps


def test_record_that_comes_again_overwrites_a_newer_one() -> None:
    states = json.dumps([{"name": "lamp", "state": "on"}, {"name": "lamp", "state": "off"}])
    verdict = proved(last_wins, Kind.KINESIS, states)

    assert rule_of(verdict) is Rule.SAME
    assert verdict.counterexample is not None
    assert "a condition that refuses what is older" in verdict.counterexample.advice


def test_event_id_is_a_key_of_a_change_and_a_version_keeps_the_order() -> None:
    assert rule_of(proved(by_event_id, Kind.DYNAMODB)) is None
    assert rule_of(proved(newest_wins, Kind.DYNAMODB)) is None


def test_change_that_is_counted_is_repeated_when_the_checkpoint_is_lost() -> None:
    def handler(event: Any, context: Any) -> None:
        add({"amount": len(event["Records"])})

    verdict = proved(handler, Kind.DYNAMODB)

    assert rule_of(verdict) is Rule.ONCE


def test_event_is_that_of_the_mapping() -> None:
    SEEN.clear()
    proved(remembering, Kind.DYNAMODB, faults=0)

    (record, _) = SEEN[0]["Records"]
    assert set(record) == {
        "eventID", "eventName", "eventVersion", "eventSource", "awsRegion", "dynamodb", "eventSourceARN",
    }  # fmt: skip
    assert record["eventName"] == "INSERT"
    assert record["dynamodb"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"


def test_given_changes_are_made_upon_what_was_there_before() -> None:
    SEEN.clear()
    old, new = {"id": {"S": "a"}, "n": {"N": "1"}}, {"id": {"S": "a"}, "n": {"N": "2"}}
    keys = {"id": {"S": "a"}}
    event = {
        "Records": [
            {"eventName": "MODIFY", "dynamodb": {"Keys": keys, "OldImage": old, "NewImage": new}},
            {"eventName": "REMOVE", "dynamodb": {"Keys": keys, "OldImage": new}},
        ]
    }

    proved(remembering, Kind.DYNAMODB, json.dumps(event), faults=0)

    names = [record["eventName"] for record in SEEN[0]["Records"]]
    assert names == ["MODIFY", "REMOVE"]
    assert SEEN[0]["Records"][0]["dynamodb"]["OldImage"] == old


def test_event_that_is_no_change_of_a_table_is_refused() -> None:
    with pytest.raises(UserError, match="no change of a table"):
        proved(remembering, Kind.DYNAMODB, json.dumps({"Records": [{"body": "x"}]}), faults=0)


def written(tmp_path: Path, settings: str) -> Path:
    (tmp_path / "app_of_stream.py").write_text(COPIER)
    file = tmp_path / "template.yaml"
    file.write_text(SAM % settings)
    return file


def prove_template(tmp_path: Path, settings: str, *, faults: int = 1) -> Verdict:
    subject = NamedSubject("app_of_stream", "handler", tmp_path)
    return prove(subject, Options(faults=faults, template=written(tmp_path, settings)))


def test_record_without_limits_blocks_its_shard_as_long_as_a_call_fails(tmp_path: Path) -> None:
    verdict = prove_template(tmp_path, "")

    assert verdict.trigger is Kind.DYNAMODB
    assert rule_of(verdict) is Rule.UNSTUCK
    assert verdict.counterexample is not None
    assert "blocks its shard" in verdict.counterexample.violation.sentence
    assert "MaximumRetryAttempts" in verdict.counterexample.advice


def test_record_that_is_given_up_without_a_destination_is_lost(tmp_path: Path) -> None:
    verdict = prove_template(tmp_path, ", MaximumRetryAttempts: 1")

    assert rule_of(verdict) is Rule.ALL
    assert verdict.counterexample is not None
    assert "destination on failure" in verdict.counterexample.advice


def test_record_that_is_given_up_is_read_again_from_the_stream(tmp_path: Path) -> None:
    settings = (
        ", MaximumRetryAttempts: 1, BisectBatchOnFunctionError: true, "
        "DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Letters.Arn}}"
    )
    verdict = prove_template(tmp_path, settings)

    assert rule_of(verdict) is None
    assert list(verdict.effects.values()) == [2]


def test_sample_has_what_the_handler_reads_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "readings_of_stream.py").write_text(
        "import base64, json, boto3\n"
        "def handler(event, context):\n"
        "    for record in event['Records']:\n"
        "        payload = base64.b64decode(record['kinesis']['data']).decode('utf-8')\n"
        "        reading = json.loads(payload)\n"
        "        item = {'id': {'S': reading['sensor']['id']}, 'amount': {'N': str(reading['amount'])}}\n"
        "        boto3.client('dynamodb').put_item(TableName='readings', Item=item)\n"
    )
    subject = NamedSubject("readings_of_stream", "handler", tmp_path)

    verdict = prove(subject, Options(faults=0, trigger=Kind.KINESIS))

    assert [json.loads(record_text(body)) for body in verdict.bodies] == [
        {"sensor": {"id": "sample-id"}, "amount": 1}, {"sensor": {"id": "sample-id"}, "amount": 2},
    ]  # fmt: skip


def keyed_by_request(event: Any, context: Any) -> None:
    boto3.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": context.aws_request_id}})


def keyed_by_order(event: Any, context: Any) -> None:
    boto3.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": event["order"]}})


def test_asynchronous_invocation_keeps_its_request_id_but_a_second_one_has_another() -> None:
    verdict = proved(keyed_by_request, Kind.LAMBDA, '{"order": "a"}')

    assert rule_of(verdict) is Rule.ONCE
    assert "the caller invokes the function a second time" in steps_of(verdict)
    assert rule_of(proved(keyed_by_order, Kind.LAMBDA, '{"order": "a"}', faults=2)) is None


ANSWERING = """
import base64, json, boto3

def handler(event, context):
    for record in event["Records"]:
        account = json.loads(base64.b64decode(record["kinesis"]["data"]))["account"]
        boto3.client("dynamodb").put_item(TableName="accounts", Item={"id": {"S": account}})
    return "done"  # %s
"""


def test_answer_means_something_only_for_a_handler_that_names_failures(tmp_path: Path) -> None:
    (tmp_path / "answering.py").write_text(ANSWERING % "")
    (tmp_path / "reporting.py").write_text(ANSWERING % "not batchItemFailures")
    options = Options(faults=0, trigger=Kind.KINESIS)

    verdict = prove(NamedSubject("answering", "handler", tmp_path), options)

    assert "no ReportBatchItemFailures" in verdict.assumptions["mapping"]
    assert json.loads(record_text(verdict.bodies[0])) == {"account": "sample-account"}
    with pytest.raises(UserError, match="is given its records again"):
        prove(NamedSubject("reporting", "handler", tmp_path), options)
