"""A handler without an event, variables or services: what is guessed, from what, and how the user is told."""

from __future__ import annotations

import json
from pathlib import Path

import botocore.session
import pytest
from click.testing import CliRunner

from redrive.cli.main import main
from redrive.core.errors import UserError
from redrive.languages.event_pattern import parse
from redrive.prove.guess.answers import read_answer
from redrive.prove.guess.reading import EventPath, Reading
from redrive.prove.guess.samples import all_shapes, copied, shape_for, shapes_of_type
from redrive.prove.guess.variables import guessed_value
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.sampled import Wanted, sampled
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.verdict import Verdict

ENVELOPE = {"version": "0", "id": "e-1", "source": "s", "detail-type": "t", "resources": [], "detail": {}}
BUS = Kind.EVENTBRIDGE


def written(tmp_path: Path, body: str, head: str = "") -> None:
    (tmp_path / "app_guess.py").write_text(
        f"import os, boto3\n{head}\ndef handler(event, context):\n    {body}\n"
        "    boto3.client('dynamodb').put_item(TableName='seen', Item={'id': {'S': event['id']}})\n"
    )


def proved(tmp_path: Path, body: str, head: str = "", **options: object) -> Verdict:
    written(tmp_path, body, head)
    return prove(subject_of("app_guess:handler", tmp_path), Options(faults=0, trigger=BUS, **options))  # type: ignore[arg-type]


def event_of(verdict: Verdict) -> dict[str, object]:
    (event,) = map(json.loads, verdict.bodies)
    assert isinstance(event, dict)
    return event


@pytest.mark.parametrize("shape", all_shapes(), ids=lambda shape: shape.name)
def test_each_shape_names_its_page_and_is_found_by_its_name(shape: object) -> None:
    found = next(one for one in all_shapes() if one is shape)

    assert found.documentation.startswith("https://docs.aws.amazon.com/")
    assert found.source.startswith("aws.")
    assert found in shapes_of_type(found.name)


@pytest.mark.parametrize(
    ("pattern", "detail_type"),
    [
        ({"source": ["aws.s3"], "detail-type": ["Object Created"]}, "Object Created"),
        ({"source": ["aws.guardduty"]}, "GuardDuty Finding"),
        ({"detail-type": ["ECS Task State Change"], "detail": {"lastStatus": ["RUNNING"]}}, "ECS Task State Change"),
    ],
)
def test_the_pattern_of_a_rule_chooses_the_kind_of_event(pattern: dict[str, object], detail_type: str) -> None:
    read = parse(json.dumps(pattern))

    event = json.loads(sampled(ENVELOPE, Wanted(), pattern=read).text)

    assert event["detail-type"] == detail_type
    assert event["source"].startswith("aws.")
    assert event["detail"].get("lastStatus", "RUNNING") == "RUNNING"


def test_the_name_of_a_call_chooses_among_those_that_cloudtrail_records() -> None:
    values: dict[EventPath, list[str]] = {
        ("detail-type",): ["AWS API Call via CloudTrail"],
        ("detail", "eventName"): ["RunInstances"],
    }

    found = shape_for(values, None)

    assert found is not None
    assert found.has(("detail", "responseElements", "instancesSet", "items", 0, "instanceId"))


def test_the_keys_that_a_handler_reads_choose_a_kind_that_has_all_of_them() -> None:
    def reading(*keys: str) -> Reading:
        return Reading(paths={("detail", key): "app.py:1" for key in keys})

    found = shape_for({}, reading("instance-id", "state"))

    assert found is not None
    assert found.detail_type == "EC2 Instance State-change Notification"
    assert shape_for({}, reading("instance-id", "invoice")) is None


def test_a_sample_is_a_copy() -> None:
    shape = all_shapes()[0]

    copied(shape)["detail"] = {}

    assert shape.event["detail"]


def test_an_unknown_kind_of_event_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match="Object Creatde") as refused:
        sampled(ENVELOPE, Wanted(event_type="aws.s3/Object Creatde"))

    assert "aws.s3/Object Created" in str(refused.value.next_step)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("ORDERS_TABLE", "table"), ("ALERT_TOPIC_ARN", ":sns:"), ("QUEUE_URL", "https://sqs."), ("s3_bucket", "bucket"),
        ("STATE_MACHINE_ARN", ":states:"), ("MAX_ITEMS", "10"), ("LOG_LEVEL", "INFO"), ("THING", "sample-thing"),
    ],
)  # fmt: skip
def test_the_name_of_a_variable_says_what_it_holds(name: str, part: str) -> None:
    assert part in guessed_value(name)


def test_made_up_answers_have_each_member_once_and_no_further_page() -> None:
    session = botocore.session.get_session()
    output = session.get_service_model("ec2").operation_model("DescribeInstances").output_shape

    answer = read_answer(output, {})

    assert answer["Reservations"][0]["Instances"][0]["InstanceId"]  # type: ignore[index]
    assert "NextToken" not in answer


def test_what_was_asked_is_answered_under_the_same_name() -> None:
    session = botocore.session.get_session()
    output = session.get_service_model("ssm").operation_model("GetParameter").output_shape

    assert read_answer(output, {"Name": "/a"})["Parameter"]["Name"] == "/a"  # type: ignore[index]


def test_keys_that_no_sample_has_are_made_up_and_told(tmp_path: Path) -> None:
    verdict = proved(tmp_path, "assert event['detail']['order']['total'] > 0 and event['detail']['lines'][0]['sku']")

    assert event_of(verdict)["detail"] == {
        "id": "sample-1", "order": {"total": 1}, "lines": [{"sku": "sample-sku"}],
    }  # fmt: skip
    assert "app_guess.py:4" in verdict.assumptions["detail.order.total of the event"]
    assert "detail.order of the event" not in verdict.assumptions


def test_a_kind_that_the_user_names_is_sampled(tmp_path: Path) -> None:
    verdict = proved(tmp_path, "pass", event_type="Object Created")

    assert event_of(verdict)["source"] == "aws.s3"
    assert "docs.aws.amazon.com" in verdict.assumptions["event"]


def test_variables_that_nobody_has_set_are_guessed_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setenv("GIVEN_TABLE", "mine")

    verdict = proved(
        tmp_path, "assert TABLE and GIVEN == 'mine'", "TABLE, GIVEN = os.environ['A_TABLE'], os.environ['GIVEN_TABLE']"
    )

    assert "sample-table" in verdict.assumptions["variable A_TABLE"]
    assert "variable GIVEN_TABLE" not in verdict.assumptions


def test_a_clean_run_that_fails_shows_its_lines_and_the_guess_in_them(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"app_guess\.py:4: raise") as refused:
        proved(tmp_path, "raise RuntimeError(event['detail']['code'])")

    assert "detail.code of the event: made up" in str(refused.value.next_step)


RULES = """
Parameters: {Kind: {Type: String, AllowedValues: [a, b]}, Count: {Type: Number, MinValue: 3}}
Transform: AWS::Serverless-2016-10-31
Resources:
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.11
      Handler: app_guess.handler
      CodeUri: app_guess.py
      Events:
        First: {Type: EventBridgeRule, Properties: {Pattern: {source: [first]}}}
        Second: {Type: EventBridgeRule, Properties: {Pattern: {source: [second]}}}
  Table: {Type: AWS::DynamoDB::Table, Properties: {TableName: seen, BillingMode: PAY_PER_REQUEST,
    AttributeDefinitions: [{AttributeName: id, AttributeType: S}], KeySchema: [{AttributeName: id, KeyType: HASH}]}}
"""


def test_a_rule_is_chosen_by_its_logical_id_and_missing_parameters_are_guessed(tmp_path: Path) -> None:
    written(tmp_path, "pass")
    (tmp_path / "t.yaml").write_text(RULES)

    verdict = prove(None, Options(faults=0, template=tmp_path / "t.yaml", rule="WorkerSecond"))

    assert event_of(verdict)["source"] == "second"
    assert "'a'" in verdict.assumptions["parameter Kind"]
    assert "'3'" in verdict.assumptions["parameter Count"]


def test_a_rule_that_the_template_has_not_is_refused_with_those_that_it_has(tmp_path: Path) -> None:
    written(tmp_path, "pass")
    (tmp_path / "t.yaml").write_text(RULES)

    with pytest.raises(UserError, match="no rule Third") as refused:
        prove(None, Options(faults=0, template=tmp_path / "t.yaml", rule="Third"))

    assert "WorkerFirst, WorkerSecond" in str(refused.value.next_step)


def test_the_event_is_printed_and_kept_for_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "pass")
    monkeypatch.chdir(tmp_path)
    command = ["prove", "app_guess.py:handler", "--faults", "0"]

    first = CliRunner().invoke(main, [*command, "--event-type", "Object Created", "--save-event", "kept.json"])
    again = CliRunner().invoke(main, [*command, "--trigger", "eventbridge", "--event", "kept.json"])

    kept = json.loads((tmp_path / "kept.json").read_text("utf-8"))
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert kept["detail"]["bucket"]["name"] == "sample-bucket"
    assert json.dumps(kept, separators=(",", ":"))[:200] in first.stdout
    assert "assumed: event:" in first.stdout
    assert "assumed: event:" not in again.stdout


@pytest.mark.parametrize("asks", ["client.get_queue_url(QueueName='jobs')['QueueUrl']",
                                  "boto3.resource('sqs').get_queue_by_name(QueueName='jobs').url"])  # fmt: skip
def test_queue_that_is_asked_for_by_its_name_is_made(tmp_path: Path, asks: str) -> None:
    (tmp_path / "app_guess.py").write_text(
        "import boto3\nclient = boto3.client('sqs', region_name='us-east-1')\ndef handler(event, context):\n"
        f"    url = {asks}\n    client.get_queue_attributes(QueueUrl=url, AttributeNames=['All'])\n"
        "    client.send_message(QueueUrl=url, MessageBody=event['id'])\n"
    )

    verdict = prove(subject_of("app_guess:handler", tmp_path), Options(faults=0, trigger=BUS))

    assert verdict.effects["message to jobs"] == 1
    assert verdict.assumptions["queue jobs"] == "a standard queue"


def test_second_attempt_at_a_schedule_of_the_future_is_refused(tmp_path: Path) -> None:
    """A schedule for a time that is past would have ended, and its name would be free again."""
    (tmp_path / "app_guess.py").write_text(
        "import boto3\ndef handler(event, context):\n    made = event['id'], event['datetime'][:19]\n"
        "    for name in ('early', 'late'):\n"
        "        boto3.client('scheduler').create_schedule(Name=f'{made[0]}-{name}', ActionAfterCompletion='DELETE',\n"
        "            ScheduleExpression=f'at({made[1]})', FlexibleTimeWindow={'Mode': 'OFF'}, Target={\n"
        "                'Arn': 'arn:aws:sqs:us-east-1:000000000000:reminders',\n"
        "                'RoleArn': 'arn:aws:iam::000000000000:role/r'})\n"
    )

    verdict = prove(subject_of("app_guess:handler", tmp_path), Options(faults=1, trigger=Kind.LAMBDA))

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.subject == "scheduler CreateSchedule on sample-id-late"


def test_object_that_is_tagged_is_there(tmp_path: Path) -> None:
    (tmp_path / "app_guess.py").write_text(
        "import boto3\ndef handler(event, context):\n"
        "    boto3.client('s3').put_object_tagging(Bucket='videos', Key=event['key'],"
        " Tagging={'TagSet': [{'Key': 'a', 'Value': 'b'}]})\n"
    )

    verdict = prove(subject_of("app_guess:handler", tmp_path), Options(faults=0, trigger=Kind.LAMBDA))

    assert verdict.effects["PutObjectTagging on videos"] == 1
