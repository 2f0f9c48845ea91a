"""Changes in systems: of the function that the cause names, or of the template, shown if the whole system holds."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from redrive.core.errors import UserError
from redrive.prove.calls.given import given_of
from redrive.prove.tell.junit import as_junit
from redrive.prove.tell.result import Conclusion, Result
from redrive.prove.tell.sarif import as_sarif
from redrive.prove.tell.verdict import Counterexample, Verdict
from tests.unit.prove.systems.test_truth import PAYS_BY_CHANGE, payments, proved, rule_of
from tests.unit.prove.systems.written import (
    COUNTS,
    DEAD,
    FORWARDS,
    PUTS_BY_ORDER,
    SWALLOWS,
    fed_by,
    function,
    queue,
    table,
    written,
)


def found(verdict: Verdict) -> Counterexample:
    assert verdict.counterexample is not None
    return verdict.counterexample


def mended(template: Path, counterexample: Counterexample) -> Verdict:
    """The proof again, after the change was made."""
    assert counterexample.change is not None
    assert "With this change that history breaks no rule" in counterexample.tried
    counterexample.change.file.write_text(counterexample.change.after, "utf-8")
    return proved(template)


def system(directory: Path, bill: str) -> Path:
    """A queue, a function, a queue, a function: each function has an app.py."""
    return written(
        directory, DEAD, queue("Orders"), queue("Billing"), table("Bills"),
        function("Intake", fed_by("Orders"), "QUEUES: !Ref Billing"),
        function("Bill", fed_by("Billing"), "TABLE: !Ref Bills"), Intake=FORWARDS, Bill=bill,
    )  # fmt: skip


@pytest.mark.parametrize(
    "bill", [pytest.param(COUNTS, id="behind the fault"), pytest.param(SWALLOWS, id="where the fault struck")]
)
def test_change_is_made_in_the_function_that_the_cause_names(tmp_path: Path, bill: str) -> None:
    template = system(tmp_path, bill)

    verdict = proved(template)

    example = found(verdict)
    result = Result("system", Conclusion.FOUND, verdict.sentence, "", 1.0, "redrive prove", verdict=verdict)
    case = ET.fromstring(as_junit([result], tmp_path)).find(".//testcase")
    (told,) = json.loads(as_sarif([result], tmp_path, "1.0"))["runs"][0]["results"]
    assert example.change is not None
    assert example.change.diff.splitlines()[:2] == ["--- a/Bill/app.py", "+++ b/Bill/app.py"]
    assert "Bill/app.py" in {step.place.file for step in example.steps if step.place is not None}
    assert case is not None
    assert case.get("file") == "Bill/app.py"
    assert told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "Bill/app.py"
    assert "-Bills-" not in json.dumps(told["message"]) + json.dumps(told["codeFlows"])
    assert rule_of(mended(template, example)) == ""


def test_key_of_a_change_is_replaced_by_what_the_change_is_about(tmp_path: Path) -> None:
    template = payments(tmp_path, PAYS_BY_CHANGE)

    example = found(proved(template))

    assert example.change is not None
    assert '+            Item={"id": {"S": record["dynamodb"]["Keys"]["id"]["S"]}' in example.change.diff
    assert "none with up to 1 fault does" in example.tried


REPORTS = """
import json, os, boto3

def handler(event, context):
    failed = []
    for record in event["Records"]:
        try:
            order = json.loads(record["body"])
            boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": order["order"]}})
        except Exception:
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
"""
STARTS = """
import json, os, boto3

def handler(event, context):
    boto3.client("sqs").send_message(QueueUrl=os.environ["QUEUE"], MessageBody=json.dumps({"order": event["id"]}))
"""


def test_mapping_that_reads_no_failures_is_given_the_setting(tmp_path: Path) -> None:
    template = system(tmp_path, REPORTS)

    example = found(proved(template))

    assert example.cause == "response not read"
    assert example.change is not None
    assert example.change.diff.count("\n+ ") == 1
    assert "BatchSize: 1, FunctionResponseTypes: [ReportBatchItemFailures]" in example.change.diff
    assert "none with up to 1 fault does" in example.tried


def test_function_without_dead_letters_is_given_a_queue_that_the_template_has(tmp_path: Path) -> None:
    schedule = "Daily: {Type: Schedule, Properties: {Schedule: rate(1 day)}}"
    template = written(
        tmp_path, DEAD, queue("Billing"), table("Bills"), function("Start", schedule, "QUEUE: !Ref Billing"),
        function("Bill", fed_by("Billing"), "TABLE: !Ref Bills"), Start=STARTS, Bill=PUTS_BY_ORDER,
    )  # fmt: skip

    example = found(proved(template, entrance="StartDaily"))

    assert example.cause == "given up without a dead letter"
    assert example.change is not None
    assert "+      DeadLetterQueue:\n+        Type: SQS\n+        TargetArn: !GetAtt Dead.Arn" in example.change.diff


def test_no_change_is_shown_that_does_not_hold_in_the_system(tmp_path: Path) -> None:
    """What is raised is caught by the return that follows in any case."""
    swallows = (
        "import json, os, boto3\n\ndef handler(event, context):\n    try:\n"
        "        order = json.loads(event['Records'][0]['body'])['order']\n"
        "        boto3.client('dynamodb').put_item(TableName=os.environ['TABLE'], Item={'id': {'S': order}})\n"
        "    except Exception:\n        pass\n    finally:\n        return 'done'\n"
    )

    example = found(proved(system(tmp_path, swallows)))

    assert example.cause == "dropped on an error path"
    assert example.change is None


def test_visibility_timeout_that_lambda_refuses_is_told_with_the_change(tmp_path: Path) -> None:
    template = written(
        tmp_path, DEAD, queue("Orders"), table("Bills"),
        function("Bill", fed_by("Orders"), "TABLE: !Ref Bills", more="Timeout: 120"), Bill=PUTS_BY_ORDER,
    )  # fmt: skip

    with pytest.raises(UserError, match="the queue Orders shows a message again after 60 s") as raised:
        proved(template)

    assert "+++ b/template.yaml" in raised.value.next_step
    assert "VisibilityTimeout: 720" in raised.value.next_step


LOCKS = """
import json, os, time, boto3

def handler(event, context):
    dynamodb = boto3.client("dynamodb")
    for record in event["Records"]:
        order = json.loads(record["body"])["order"]
        dynamodb.put_item(
            TableName=os.environ["TABLE"],
            Item={"id": {"S": f"lock {order}"}, "until": {"N": str(int(time.time()) + 20)}},
            ConditionExpression="attribute_not_exists(id) OR #u < :now", ExpressionAttributeNames={"#u": "until"},
            ExpressionAttributeValues={":now": {"N": str(int(time.time()))}},
        )
        dynamodb.put_item(TableName=os.environ["TABLE"], Item={"id": {"S": order}})
        dynamodb.delete_item(TableName=os.environ["TABLE"], Key={"id": {"S": f"lock {order}"}})
"""


@pytest.mark.parametrize("ends", [pytest.param(True, id="with an end"), pytest.param(False, id="for ever")])
def test_lock_in_the_table_of_the_work_is_no_work(tmp_path: Path, *, ends: bool) -> None:
    """A run that dies leaves it: that is no second item, and does not stand for the one that is missing."""
    locks = LOCKS if ends else LOCKS.replace(" OR #u < :now", " AND attribute_not_exists(#u) OR :now < :now")
    template = written(
        tmp_path, DEAD, queue("Orders"), table("Bills"), function("Bill", fed_by("Orders"), "TABLE: !Ref Bills"),
        Bill=locks,
    )  # fmt: skip

    assert rule_of(proved(template)) == ("" if ends else "stuck")


def test_rows_that_are_given_stand_in_the_table_of_that_logical_id(tmp_path: Path) -> None:
    reads = PUTS_BY_ORDER.replace(
        '        boto3.client("dynamodb").put_item(',
        '        boto3.client("dynamodb").get_item(TableName=os.environ["TABLE"], Key={"id": {"S": "rate"}})["Item"]\n'
        '        boto3.client("dynamodb").put_item(',
    )
    template = written(
        tmp_path, DEAD, queue("Orders"), table("Bills"), function("Bill", fed_by("Orders"), "TABLE: !Ref Bills"),
        Bill=reads,
    )  # fmt: skip

    verdict = proved(template, given=given_of({"rows": {"Bills": [{"id": "rate"}]}}))

    assert rule_of(verdict) == ""


def test_policy_that_cannot_be_made_allows_everything(tmp_path: Path) -> None:
    """The function could not be made without its role."""
    role = (
        "Role: {Type: AWS::IAM::Role, Properties: {AssumeRolePolicyDocument: {Version: '2012-10-17', Statement: "
        "[{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: sts:AssumeRole}]}, Policies: "
        "[{PolicyName: p, PolicyDocument: {Version: '2012-10-17', Statement: [{Effect: Allow, Action: 'sqs:*', "
        "Resource: nowhere}]}}]}}\n"
    )
    template = written(
        tmp_path, DEAD, role, queue("Orders"), table("Bills"),
        function("Bill", fed_by("Orders"), "TABLE: !Ref Bills", more="Role: !GetAtt Role.Arn"),
        Bill=PUTS_BY_ORDER,
    )  # fmt: skip

    verdict = proved(template, faults=0)

    assert verdict.assumptions["resource Role"].startswith("a role that may do everything, because")


def test_dead_letters_in_a_queue_of_another_stack_are_not_lost(tmp_path: Path) -> None:
    """Of a nested stack and of an export the template knows the name of a queue alone."""
    event = (
        "Placed: {Type: EventBridgeRule, Properties: {Pattern: {source: [shop], detail: {order: [{exists: true}]}}}}"
    )
    nested = "Shared: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: ../elsewhere.yaml}}\n"
    kept = "EventInvokeConfig: {DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Shared.Outputs.Arn}}}"
    puts = (
        "import boto3, os\n\ndef handler(event, context):\n    boto3.client('dynamodb').put_item("
        "TableName=os.environ['TABLE'], Item={'id': {'S': event['detail']['order']}})\n"
    )
    template = written(
        tmp_path, nested, table("Bills"), function("Bill", event, "TABLE: !Ref Bills", more=kept), Bill=puts
    )

    verdict = proved(template)

    assert rule_of(verdict) == ""
    assert "another stack's" in verdict.assumptions["dead-letter queue RedriveProveLetters"]
