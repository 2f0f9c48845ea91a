"""Systems of known truth: half of them are safe, and half of them break one rule at one known place."""

from __future__ import annotations

import json
from pathlib import Path

from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import Kind
from redrive.prove.system.proving import prove_system
from redrive.prove.tell.verdict import Verdict
from tests.unit.prove.systems.written import (
    COUNTS,
    DEAD,
    FORWARDS,
    LETTERS,
    PUTS_BY_ORDER,
    STREAMED,
    SWALLOWS,
    fed_by,
    function,
    queue,
    table,
    written,
)


def proved(template: Path, faults: int = 1, **options: object) -> Verdict:
    return prove_system(Options(template=template, faults=faults, is_system=True, **options))  # type: ignore[arg-type]


def prove_alone(template: Path, directory: Path, name: str) -> Verdict:
    """One function of the template, as `redrive prove` proves it."""
    subject = subject_of("app:handler", directory / name)
    kind = Kind.DYNAMODB if name == "Pay" else Kind.SQS
    bodies = ("""{"order": "o-1"}""",) if kind is Kind.SQS else None
    return prove(subject, Options(template=template, faults=1, trigger=kind, bodies=bodies))


def rule_of(verdict: Verdict) -> str:
    return "" if verdict.counterexample is None else verdict.counterexample.violation.rule.value


def runs(verdict: Verdict) -> dict[str, int]:
    """How often each function has run without faults."""
    document = json.loads(verdict.as_json())
    return {name: one["runs"] for name, one in document["system"]["functions"].items()}


def told(verdict: Verdict) -> str:
    assert verdict.counterexample is not None
    return "\n".join(step.text for step in verdict.counterexample.steps)


def orders(directory: Path, bill: str, ship: str) -> Path:
    """An order, two queues behind it, and a function behind each."""
    return written(
        directory,
        DEAD, queue("Orders"), queue("Billing"), queue("Shipping"), table("Bills"), table("Parcels"),
        function("Intake", fed_by("Orders"), 'QUEUES: !Sub "${Billing} ${Shipping}"'),
        function("Bill", fed_by("Billing"), "TABLE: !Ref Bills"),
        function("Ship", fed_by("Shipping"), "TABLE: !Ref Parcels"),
        Intake=FORWARDS, Bill=bill, Ship=ship,
    )  # fmt: skip


def test_order_that_two_functions_work_on_by_its_key_is_safe(tmp_path: Path) -> None:
    verdict = proved(orders(tmp_path, PUTS_BY_ORDER, PUTS_BY_ORDER))

    assert rule_of(verdict) == ""
    assert verdict.bounds.is_finished
    assert runs(verdict) == {"Intake": 1, "Bill": 1, "Ship": 1}


def test_one_of_two_functions_counts_each_order_that_comes(tmp_path: Path) -> None:
    verdict = proved(orders(tmp_path, PUTS_BY_ORDER, COUNTS))

    assert rule_of(verdict) == "repeated"
    assert "of Ship" in told(verdict)


def test_function_that_swallows_an_error_loses_the_order_at_its_hop(tmp_path: Path) -> None:
    verdict = proved(orders(tmp_path, SWALLOWS, PUTS_BY_ORDER))

    assert rule_of(verdict) == "lost"
    assert "of Bill" in told(verdict)
    assert "(the queue Billing)" in told(verdict)


SENDS_REPORT = """
import json, os, boto3

def handler(event, context):
    boto3.client("sqs").send_message(QueueUrl=os.environ["QUEUE"], MessageBody=json.dumps({"run": event["run"]}))
"""

CLAIMS_AND_WRITES = """
import json, os, time, boto3
from botocore.exceptions import ClientError

def handler(event, context):
    dynamodb = boto3.client("dynamodb")
    for record in event["Records"]:
        run = json.loads(record["body"])["run"]
        until = int(time.time()) + 20
        try:
            dynamodb.put_item(
                TableName=os.environ["LEDGER"],
                Item={"id": {"S": run}, "status": {"S": "RUNNING"}, "until": {"N": str(until)}},
                ConditionExpression="attribute_not_exists(id) OR (#s = :running AND #u < :now)",
                ExpressionAttributeNames={"#s": "status", "#u": "until"},
                ExpressionAttributeValues={":running": {"S": "RUNNING"}, ":now": {"N": str(int(time.time()))}},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            kept = dynamodb.get_item(TableName=os.environ["LEDGER"], Key={"id": {"S": run}}, ConsistentRead=True)
            if kept["Item"]["status"]["S"] == "DONE":
                continue
            raise
        dynamodb.put_item(TableName=os.environ["REPORTS"], Item={"id": {"S": run}, "total": {"N": "7"}})
        dynamodb.update_item(
            TableName=os.environ["LEDGER"], Key={"id": {"S": run}}, UpdateExpression="SET #s = :done",
            ExpressionAttributeNames={"#s": "status"}, ExpressionAttributeValues={":done": {"S": "DONE"}},
        )
"""

SKIPS_WHAT_IS_CLAIMED = CLAIMS_AND_WRITES.replace(
    """            if kept["Item"]["status"]["S"] == "DONE":
                continue
            raise
""", """            continue
"""
).replace(
    """            kept = dynamodb.get_item(TableName=os.environ["LEDGER"], Key={"id": {"S": run}}, ConsistentRead=True)
""", ""
)  # fmt: skip


def nightly(directory: Path, works: str) -> Path:
    """A schedule invokes a function, which sends to a queue, behind which another one keeps a ledger."""
    schedule = (
        "Nightly: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day), "
        """Input: '{"run": "<aws.scheduler.execution-id>"}'}}"""
    )
    return written(
        directory,
        DEAD, queue("Runs"), table("Ledger"), table("Reports"),
        function("Start", schedule, "QUEUE: !Ref Runs", more=LETTERS),
        function("Work", fed_by("Runs"), "LEDGER: !Ref Ledger, REPORTS: !Ref Reports"),
        Start=SENDS_REPORT, Work=works,
    )  # fmt: skip


def test_scheduled_run_with_a_lease_in_the_second_function_is_safe(tmp_path: Path) -> None:
    verdict = proved(nightly(tmp_path, CLAIMS_AND_WRITES))

    assert rule_of(verdict) == ""
    assert verdict.system["comes_in_by"] == "the schedule StartNightly"
    assert verdict.ledger is not None
    assert "Ledger" in verdict.ledger


def test_ledger_of_the_second_function_that_skips_what_has_begun_loses_the_run(tmp_path: Path) -> None:
    verdict = proved(nightly(tmp_path, SKIPS_WHAT_IS_CLAIMED))

    assert rule_of(verdict) == "lost"
    assert "of Work" in told(verdict)


TELLS = """
import json, os, boto3

def handler(event, context):
    key = event["detail"]["object"]["key"]
    boto3.client("sns").publish(TopicArn=os.environ["TOPIC"], Message=json.dumps({"key": key}))
"""

INDEXES = """
import json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        key = json.loads(json.loads(record["body"])["Message"])["key"]
        boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": key}})
"""

APPENDS = INDEXES.replace(
    """put_item(TableName=os.environ["TABLE"], Item={"id": {"S": key}})""",
    """update_item(
            TableName=os.environ["TABLE"], Key={"id": {"S": "index"}}, UpdateExpression="ADD files :one",
            ExpressionAttributeValues={":one": {"N": "1"}})""",
)


def uploads(directory: Path, second: str) -> Path:
    """An object in a bucket, EventBridge, a function, a topic, a queue, a function."""
    event = (
        "Put: {Type: EventBridgeRule, Properties: {Pattern: {source: [aws.s3], detail-type: [Object Created], "
        "detail: {bucket: {name: [!Ref Files]}}}}}"
    )
    return written(
        directory,
        DEAD, queue("Inbox"), table("Table"),
        "Files: {Type: AWS::S3::Bucket, Properties: {NotificationConfiguration: {EventBridgeConfiguration: "
        "{EventBridgeEnabled: true}}}}\n",
        "Uploads: {Type: AWS::SNS::Topic, Properties: {Subscription: [{Protocol: sqs, "
        "Endpoint: !GetAtt Inbox.Arn}]}}\n",
        "Allowed: {Type: AWS::SQS::QueuePolicy, Properties: {Queues: [!Ref Inbox], PolicyDocument: {Version: "
        "'2012-10-17', Statement: [{Effect: Allow, Principal: {Service: sns.amazonaws.com}, Action: sqs:SendMessage, "
        "Resource: !GetAtt Inbox.Arn}]}}}\n",
        function("Tell", event, "TOPIC: !Ref Uploads", more=LETTERS),
        function("Index", fed_by("Inbox"), "TABLE: !Ref Table"),
        Tell=TELLS, Index=second,
    )  # fmt: skip


def test_object_that_is_indexed_under_its_key_three_hops_later_is_safe(tmp_path: Path) -> None:
    verdict = proved(uploads(tmp_path, INDEXES))

    assert rule_of(verdict) == ""
    assert verdict.system["comes_in_by"] == "the bucket Files"
    assert runs(verdict) == {"Tell": 1, "Index": 1}


def test_object_that_is_counted_three_hops_later_is_counted_twice(tmp_path: Path) -> None:
    verdict = proved(uploads(tmp_path, APPENDS))

    assert rule_of(verdict) == "repeated"
    assert "(the rule TellPut)" in told(verdict)


PLACES = """
import json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        boto3.client("dynamodb").put_item(
            TableName=os.environ["TABLE"],
            Item={"id": {"S": order["order"]}, "state": {"S": "PLACED"}, "placed_by": {"S": context.aws_request_id}},
        )
"""

PAYS_BY_CHANGE = """
import os, boto3

def handler(event, context):
    for record in event["Records"]:
        if record["eventName"] == "REMOVE":
            continue
        boto3.client("dynamodb").put_item(
            TableName=os.environ["PAYMENTS"],
            Item={"id": {"S": record["eventID"]}, "order": record["dynamodb"]["Keys"]["id"]},
        )
"""

PAYS_BY_ORDER = PAYS_BY_CHANGE.replace("""{"S": record["eventID"]}""", """record["dynamodb"]["Keys"]["id"]""")


def payments(directory: Path, pays: str) -> Path:
    """A function writes orders into a table, whose stream feeds another one."""
    stream = (
        "Changes: {Type: DynamoDB, Properties: {Stream: !GetAtt Orders.StreamArn, StartingPosition: TRIM_HORIZON, "
        "MaximumRetryAttempts: 3, BisectBatchOnFunctionError: true, DestinationConfig: "
        "{OnFailure: {Type: SQS, Destination: !GetAtt Dead.Arn}}}}"
    )
    return written(
        directory,
        DEAD, queue("Inbox"), table("Orders", STREAMED), table("Payments"),
        function("Place", fed_by("Inbox"), "TABLE: !Ref Orders"),
        function("Pay", stream, "PAYMENTS: !Ref Payments"),
        Place=PLACES, Pay=pays,
    )  # fmt: skip


def test_each_function_alone_is_acquitted_and_the_system_pays_twice(tmp_path: Path) -> None:
    """The id of a change is a key for who reads the stream, but the function before writes each order again."""
    template = payments(tmp_path, PAYS_BY_CHANGE)

    alone = [prove_alone(template, tmp_path, name) for name in ("Place", "Pay")]
    together = proved(template)

    assert [rule_of(one) for one in alone] == ["", ""]
    assert "what others do about it is proved by --system" in alone[0].assumptions["stream of Orders"]
    assert rule_of(together) == "repeated"
    assert "of Pay" in told(together)
    assert together.counterexample is not None
    assert together.counterexample.advice.startswith(
        "Place was tried again, and Pay was given the same work again under another id. In Pay, take the key from what"
    )


def test_change_of_a_table_that_is_paid_under_the_key_of_the_order_is_safe(tmp_path: Path) -> None:
    verdict = proved(payments(tmp_path, PAYS_BY_ORDER))

    assert rule_of(verdict) == ""
