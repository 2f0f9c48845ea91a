"""Services that the engine does not have: their answers are made up from their shapes, and end loops and waits."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.model import ServiceModel

from redrive.prove.calls.calls import Call
from redrive.prove.calls.outside import made_up_answer
from redrive.prove.judge.judge import Rule
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from tests.support.models import every_service
from tests.unit.prove.conftest import Prover

ORDER = '{"order": "o-1"}'


def answer(service: str, operation: str, serial: int = 0, **params: Any) -> Any:
    output = service_model(service).operation_model(operation).output_shape
    return made_up_answer(Call(service, operation, "", params), output, serial)


@functools.cache
def service_model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def order_of(event: Any) -> str:
    return str(json.loads(event["Records"][0]["body"])["order"])


@pytest.mark.parametrize(
    ("service", "operation", "path", "state"),
    [
        ("textract", "GetDocumentTextDetection", ["JobStatus"], "SUCCEEDED"),
        ("transcribe", "GetTranscriptionJob", ["TranscriptionJob", "TranscriptionJobStatus"], "COMPLETED"),
        ("athena", "GetQueryExecution", ["QueryExecution", "Status", "State"], "SUCCEEDED"),
        ("glue", "GetJobRun", ["JobRun", "JobRunState"], "SUCCEEDED"),
        ("stepfunctions", "DescribeExecution", ["status"], "SUCCEEDED"),
        ("codebuild", "BatchGetBuilds", ["builds", 0, "buildStatus"], "SUCCEEDED"),
        ("rds", "DescribeDBInstances", ["DBInstances", 0, "DBInstanceStatus"], "available"),
        ("redshift-data", "DescribeStatement", ["Status"], "FINISHED"),
    ],
)  # fmt: skip
def test_state_is_one_in_which_a_loop_ends(service: str, operation: str, path: list[Any], state: str) -> None:
    found = answer(service, operation)
    for name in path:
        found = found[name]

    assert found == state


def test_lists_have_a_member_in_answers_to_writes_too() -> None:
    assert answer("ecs", "RunTask")["tasks"][0]["taskArn"].startswith("arn:aws:ecs:")
    assert answer("ecs", "RunTask")["failures"] == []


def test_ids_follow_from_what_was_asked() -> None:
    one, other = answer("sesv2", "SendEmail", FromEmailAddress="a"), answer("sesv2", "SendEmail", FromEmailAddress="b")

    assert one["MessageId"] != other["MessageId"]
    assert one == answer("sesv2", "SendEmail", FromEmailAddress="a")
    assert one["MessageId"] != answer("sesv2", "SendEmail", 1, FromEmailAddress="a")["MessageId"]


def test_nothing_has_failed_and_no_page_follows() -> None:
    found = answer("comprehend", "BatchDetectSentiment", TextList=["a", "b"], LanguageCode="en")

    assert found["ErrorList"] == []
    assert [one["Index"] for one in found["ResultList"]] == [0, 1]
    assert "NextToken" not in answer("textract", "GetDocumentTextDetection")
    assert "FunctionError" not in answer("lambda", "Invoke")


def test_text_of_a_page_stands_in_lines() -> None:
    blocks = answer("textract", "DetectDocumentText")["Blocks"]

    assert [block["BlockType"] for block in blocks] == ["PAGE", "LINE", "WORD"]
    assert blocks[1]["Text"]
    assert blocks[1]["Confidence"] > 90


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("anthropic.claude-3-haiku-20240307-v1:0", ["content", 0, "text"]),
        ("us.amazon.nova-lite-v1:0", ["output", "message", "content", 0, "text"]),
        ("amazon.titan-text-express-v1", ["results", 0, "outputText"]),
        ("amazon.titan-embed-text-v2:0", ["embedding", 0]), ("meta.llama3-8b-instruct-v1:0", ["generation"]),
        ("cohere.command-text-v14", ["generations", 0, "text"]), ("mistral.mistral-7b", ["outputs", 0, "text"]),
    ],
)  # fmt: skip
def test_body_is_that_of_the_models_family(model: str, path: list[Any]) -> None:
    found = json.loads(answer("bedrock-runtime", "InvokeModel", modelId=model, body=b"{}")["body"].read())
    for name in path:
        found = found[name]

    assert found


def test_stream_of_a_model_is_read_event_by_event() -> None:
    found = answer("bedrock-runtime", "InvokeModelWithResponseStream", modelId="anthropic.claude-v2")["body"]

    assert [json.loads(event["chunk"]["bytes"])["completion"] for event in found] == ["sample text"]


def test_body_has_what_the_handler_reads_of_it(tmp_path: Path) -> None:
    source = """
import json
import boto3
def handler(event, context):
    answer = boto3.client("sagemaker-runtime").invoke_endpoint(EndpointName="e", Body=b"{}")
    result = json.loads(answer["Body"].read())
    boto3.client("dynamodb").put_item(TableName="done", Item={"id": {"S": "1"}, "n": {"S": str(result["prediction"])}})
"""
    (tmp_path / "app_model.py").write_text(source, "utf-8")

    verdict = prove(subject_of("app_model:handler", tmp_path), Options(faults=1))

    assert verdict.counterexample is None
    assert verdict.effects == {"item in done": 1}


def test_waiter_ends_and_its_refusal_is_met(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        ecs = boto3.client("ecs")
        task = ecs.run_task(cluster="c", taskDefinition="t", clientToken=order_of(event))["tasks"][0]["taskArn"]
        ecs.get_waiter("tasks_stopped").wait(cluster="c", tasks=[task])
        boto3.client("dynamodb").put_item(TableName="done", Item={"id": {"S": order_of(event)}})

    verdict = proved(handler, bodies=(ORDER,))

    assert verdict.effects == {"ecs RunTask on t": 1, "item in done": 1}
    assert verdict.counterexample is not None  # ECS knows the token again for 24 hours; a duplicate comes after days.
    assert "ecs RunTask" in verdict.counterexample.violation.sentence


def start(event: Any, **named: str) -> None:
    machine = "arn:aws:states:us-east-1:000000000000:stateMachine:orders"
    boto3.client("stepfunctions").start_execution(stateMachineArn=machine, input="{}", **named)


def test_execution_without_a_name_is_started_twice_and_with_one_once(proved: Prover) -> None:
    unnamed = proved(lambda event, context: start(event), bodies=(ORDER,))
    named = proved(lambda event, context: start(event, name=order_of(event)), bodies=(ORDER,))

    assert unnamed.counterexample is not None
    assert unnamed.counterexample.violation.rule is Rule.ONCE
    assert named.counterexample is None


def test_mail_is_sent_twice_unless_a_record_is_made_before(proved: Prover) -> None:
    def send(event: Any) -> None:
        boto3.client("sesv2").send_email(
            FromEmailAddress="a@example.com", Destination={"ToAddresses": ["b@example.com"]},
            Content={"Simple": {"Subject": {"Data": "s"}, "Body": {"Text": {"Data": order_of(event)}}}},
        )  # fmt: skip

    verdict = proved(lambda event, context: send(event), bodies=(ORDER,))

    assert verdict.counterexample is not None
    assert "sesv2 SendEmail" in verdict.counterexample.violation.sentence


def test_reading_a_document_is_no_effect(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        place = {"S3Object": {"Bucket": "b", "Name": "k"}}
        boto3.client("rekognition").detect_labels(Image=place)
        blocks = boto3.client("textract").detect_document_text(Document=place)["Blocks"]
        text = " ".join(block["Text"] for block in blocks if block["BlockType"] == "LINE")
        boto3.client("dynamodb").put_item(TableName="texts", Item={"id": {"S": order_of(event)}, "text": {"S": text}})

    verdict = proved(handler, bodies=(ORDER,))

    assert verdict.counterexample is None
    assert verdict.effects == {"item in texts": 1}


def test_each_service_has_an_answer_to_each_kind_of_call() -> None:
    """One operation in seven, of all services."""
    answers = [
        made_up_answer(Call(service, operation, "", {}), model.operation_model(operation).output_shape, 0)
        for service, document in every_service()
        if (model := ServiceModel(document, service))
        for operation in model.operation_names[::7]
    ]

    assert len(answers) > 2_500
    assert all("ResponseMetadata" in answer for answer in answers)
