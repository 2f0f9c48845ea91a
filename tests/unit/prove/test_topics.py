"""Topics, schedules and streams as triggers: their envelopes, held against what the engine's services deliver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

from redrive.core.clock import HOUR_MS
from redrive.prove.guess.reading import Reading, read_handler
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.inputs import inputs_for
from redrive.prove.stage.rules import usual_events
from redrive.prove.stage.sampled import NOTHING_KNOWN, Wanted
from redrive.prove.stage.sources import messages_of
from redrive.prove.stage.stage import SCOPE, START, Stage
from redrive.prove.stage.streams import usual_stream
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.export import as_test
from tests.unit.prove.conftest import Prover
from tests.unit.prove.invoking import Answering, failed, play_out, stage_for

FUNCTION = f"arn:aws:lambda:{SCOPE.region}:{SCOPE.account}:function:handler"
KINESIS_KEYS = {
    "eventID", "eventVersion", "kinesis", "invokeIdentityArn", "eventName", "eventSourceARN", "eventSource",
    "awsRegion",
}  # fmt: skip
"""https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html, the example"""
TABLE_KEYS = {
    "eventID", "eventVersion", "dynamodb", "awsRegion", "eventName", "eventSourceARN", "eventSource",
}  # fmt: skip
"""https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html, the example"""


def reading(*paths: tuple[str | int, ...]) -> Wanted:
    return Wanted(reading=Reading(dict.fromkeys(paths, "app.py:1")))


def sample(kind: Kind, wanted: Wanted = NOTHING_KNOWN, given: tuple[str, ...] | None = None) -> Any:
    texts, _ = inputs_for(kind, given, wanted)
    return json.loads(texts[0])


def shape(document: Any) -> Any:
    """The members of a document, without their values."""
    if isinstance(document, dict):
        return {name: shape(value) for name, value in document.items()}
    return [shape(one) for one in document] if isinstance(document, list) else ""


def delivered(stage: Stage, invoker: Answering) -> Any:
    """The event of the first run after everything that is due within an hour."""
    while (due := stage.next_due()) is not None and due <= START + HOUR_MS and not invoker.runs:
        stage.move_to(due)
        stage.turn()
    return invoker.events[0]


def put(key: str) -> None:
    boto3.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": key}})


def allowed(stage: Stage, service: str) -> None:
    """Let a service invoke the function."""
    usual_events(stage, ("{}",), Kind.LAMBDA)
    stage.call(
        "lambda", "AddPermission", FunctionName="handler", StatementId="all", Action="lambda:InvokeFunction",
        Principal=service,
    )  # fmt: skip


def test_event_of_a_topic_has_the_members_that_sns_delivers() -> None:
    invoker = Answering()
    stage = stage_for(invoker)
    allowed(stage, "sns.amazonaws.com")
    topic = stage.call("sns", "CreateTopic", Name="orders")["TopicArn"]
    stage.call("sns", "Subscribe", TopicArn=topic, Protocol="lambda", Endpoint=FUNCTION)
    stage.call("sns", "Publish", TopicArn=topic, Subject="sample", Message='{"id":"sample-1"}')

    assert shape(delivered(stage, invoker)) == shape(sample(Kind.SNS))


def test_input_of_a_schedule_is_what_scheduler_makes_of_it() -> None:
    invoker = Answering()
    stage = stage_for(invoker)
    allowed(stage, "scheduler.amazonaws.com")
    role = stage.call(
        "iam", "CreateRole", RoleName="schedule", AssumeRolePolicyDocument=json.dumps({
            "Version": "2012-10-17", "Statement": [
                {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
            ],
        }),
    )["Role"]["Arn"]  # fmt: skip
    allow = {"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    stage.call("iam", "PutRolePolicy", RoleName="schedule", PolicyName="all", PolicyDocument=policy)
    text = json.dumps({"at": "<aws.scheduler.scheduled-time>", "run": "<aws.scheduler.execution-id>", "n": 1})
    stage.call(
        "scheduler", "CreateSchedule", Name="sample", ScheduleExpression="at(2025-01-01T00:10:00)",
        FlexibleTimeWindow={"Mode": "OFF"}, Target={"Arn": FUNCTION, "RoleArn": role, "Input": text},
    )  # fmt: skip

    real, made = delivered(stage, invoker), sample(Kind.SCHEDULE, given=(text,))

    assert shape(real) == shape(made)
    assert made["at"] == "2025-01-01T00:00:00Z"
    assert len(made["run"]) == len(real["run"])


def test_handler_that_reads_the_event_of_scheduler_gets_the_one_without_an_input() -> None:
    event = sample(Kind.SCHEDULE, reading(("time",), ("id",)))

    assert (event["source"], event["detail"]) == ("aws.scheduler", "{}")


def test_keys_that_sound_like_context_attributes_are_these() -> None:
    event = sample(Kind.SCHEDULE, reading(("execution_id",), ("scheduled_time",), ("report",)))

    assert event["scheduled_time"] == "2025-01-01T00:00:00Z"
    assert event["report"] == "sample-report"
    assert event["execution_id"] == sample(Kind.SCHEDULE, given=('{"x":"<aws.scheduler.execution-id>"}',))["x"]


@pytest.mark.parametrize("kind", [Kind.SNS, Kind.SCHEDULE])
def test_events_are_retried_by_lambda_after_one_and_two_minutes_under_one_request_id(kind: Kind) -> None:
    invoker = Answering(*[failed("Error")] * 3)
    stage = stage_for(invoker)
    texts, _ = inputs_for(kind, None, NOTHING_KNOWN)
    messages = messages_of(stage, usual_events(stage, texts, kind))

    messages.send(0)
    play_out(stage, messages)

    assert invoker.at_s == [0, 60, 180]
    assert len(set(invoker.request_ids)) == 1
    assert messages.look().dead == 1


def test_duplicate_of_a_topic_has_the_same_message_id_and_a_second_publication_another_one() -> None:
    invoker = Answering()
    stage = stage_for(invoker)
    texts, _ = inputs_for(Kind.SNS, None, NOTHING_KNOWN)
    messages = messages_of(stage, usual_events(stage, texts, Kind.SNS))

    messages.send(0)
    messages.send(0)
    messages.republish(0)
    play_out(stage, messages)

    ids = [event["Records"][0]["Sns"]["MessageId"] for event in invoker.events]
    assert sorted(ids.count(one) for one in ids) == [1, 2, 2]
    assert len(set(invoker.request_ids)) == 3


def test_event_with_several_records_of_a_topic_is_one_event_for_each() -> None:
    record = sample(Kind.SNS)["Records"][0]

    texts, _ = inputs_for(Kind.SNS, (json.dumps({"Records": [record, record]}), '{"order": 1}'), NOTHING_KNOWN)

    assert [len(json.loads(text)["Records"]) for text in texts] == [1, 1, 1]
    assert json.loads(texts[2])["Records"][0]["Sns"]["Message"] == '{"order": 1}'


def by_message(event: Any, context: Any) -> None:
    put(json.loads(event["Records"][0]["Sns"]["Message"])["id"])


def by_message_id(event: Any, context: Any) -> None:
    put(event["Records"][0]["Sns"]["MessageId"])


def test_handler_that_keys_by_the_message_of_a_topic_is_proved(proved: Prover) -> None:
    verdict = proved(by_message, trigger=Kind.SNS, faults=2)

    assert verdict.counterexample is None
    assert verdict.trigger is Kind.SNS


def test_message_id_is_no_key_because_a_publisher_publishes_again(proved: Prover) -> None:
    found = proved(by_message_id, trigger=Kind.SNS).counterexample

    assert found is not None
    assert [str(leg) for leg in found.history] == ["deliver", "republish"]
    assert "MessageId" in found.advice


def test_handler_that_keys_by_the_execution_id_of_a_schedule_is_proved(proved: Prover) -> None:
    given = ('{"run": "<aws.scheduler.execution-id>"}',)

    verdict = proved(lambda event, context: put(event["run"]), trigger=Kind.SCHEDULE, faults=2, bodies=given)

    assert verdict.counterexample is None


def test_request_id_is_no_key_because_scheduler_may_invoke_twice(proved: Prover) -> None:
    found = proved(lambda event, context: put(context.aws_request_id), trigger=Kind.SCHEDULE).counterexample

    assert found is not None
    assert any("Scheduler invokes the function a second time" in step.text for step in found.steps)


@pytest.mark.parametrize(("kind", "keys"), [(Kind.KINESIS, KINESIS_KEYS), (Kind.DYNAMODB, TABLE_KEYS)])
def test_records_of_streams_have_the_members_that_aws_documents(kind: Kind, keys: set[str]) -> None:
    invoker = Answering()
    stage = stage_for(invoker)
    trigger = usual_stream(stage, kind, None, NOTHING_KNOWN)
    messages = messages_of(stage, trigger)

    messages.send(0)
    play_out(stage, messages)

    (record,) = invoker.events[0]["Records"]
    assert record.keys() == keys
    inner = {
        Kind.KINESIS: {
            "kinesisSchemaVersion", "partitionKey", "sequenceNumber", "data", "approximateArrivalTimestamp",
        },
        Kind.DYNAMODB: {
            "ApproximateCreationDateTime", "Keys", "NewImage", "SequenceNumber", "SizeBytes", "StreamViewType",
        },
    }  # fmt: skip
    assert record["kinesis" if kind is Kind.KINESIS else "dynamodb"].keys() == inner[kind]


SAM = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Letters: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
  Orders: {Type: AWS::Serverless::SimpleTable}
  Source: {Type: AWS::SNS::Topic}
  Files: {Type: AWS::S3::Bucket}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.11
      Handler: app_of_source.handler
      CodeUri: .
      DeadLetterQueue: {Type: SQS, TargetArn: !GetAtt Letters.Arn}
      Environment: {Variables: {TABLE: !Ref Orders}}
      Policies: [{DynamoDBWritePolicy: {TableName: !Ref Orders}}]
      Events:
        It: %s
"""
RUN = '{"run": "<aws.scheduler.execution-id>"}'
SOURCES = {
    Kind.SNS: ("{Type: SNS, Properties: {Topic: !Ref Source}}", '["Records"][0]["Sns"]["Message"]'),
    Kind.S3: (
        "{Type: S3, Properties: {Bucket: !Ref Files, Events: s3:ObjectCreated:*}}",
        '["Records"][0]["s3"]["object"]["key"]',
    ),
    Kind.SCHEDULE: (
        f"{{Type: ScheduleV2, Properties: {{ScheduleExpression: rate(1 hour), Input: '{RUN}'}}}}",
        '["run"]',
    ),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("is_named", [True, False])
def test_function_of_a_template_is_proved_by_what_invokes_it(tmp_path: Path, kind: Kind, is_named: bool) -> None:
    source, path = SOURCES[kind]
    (tmp_path / "app_of_source.py").write_text(
        "import os\nimport boto3\ndef handler(event, context):\n"
        f"    key = {{'id': {{'S': event{path}}}}}\n"
        "    boto3.client('dynamodb').put_item(TableName=os.environ['TABLE'], Item=key)\n"
    )
    (tmp_path / "template.yaml").write_text(SAM % source)

    verdict = prove(None, Options(template=tmp_path / "template.yaml", faults=1, trigger=kind if is_named else None))

    assert verdict.trigger is kind
    assert verdict.counterexample is None
    assert verdict.assumptions["fed by"]


def test_source_of_a_handler_of_a_topic_says_so(tmp_path: Path) -> None:
    file = tmp_path / "app_topic.py"
    file.write_text("def handler(event, context):\n    return event['Records'][0]['Sns']['Message']\n")

    assert json.loads(inputs_for(Kind.SNS, None, Wanted(reading=read_handler(file, "handler")))[0][0])["Records"]


def test_test_of_a_history_says_what_feeds_the_handler(proved: Prover) -> None:
    verdict = proved(by_message_id, trigger=Kind.SNS)

    assert "trigger='sns'" in as_test(verdict, Options(faults=1))
    assert "trigger" not in as_test(verdict, Options(faults=1, template=Path("template.yaml")))
