"""Every operation of every service of botocore is known as a read or as a write."""

from __future__ import annotations

import functools

import pytest

from redrive.prove.calls import verbs
from redrive.prove.calls.calls import Call
from tests.support.models import every_service


@functools.cache
def operations() -> tuple[tuple[str, str], ...]:
    return tuple((service, operation) for service, model in every_service() for operation in model["operations"])


def test_every_operation_of_every_service_is_a_read_or_a_write() -> None:
    unknown = [one for one in operations() if verbs.is_read(*one) is None]

    assert unknown == []
    assert len(operations()) > 10_000


def test_no_verb_and_no_operation_is_in_both_lists() -> None:
    assert set() == verbs.READS & verbs.WRITES
    assert set() == verbs.READ_EXCEPTIONS & verbs.WRITE_EXCEPTIONS


def test_exceptions_contradict_their_verbs() -> None:
    """An exception that agrees with its verb, or with the verb after Admin and Batch, says nothing."""
    for name in verbs.READ_EXCEPTIONS:
        assert verbs.verb_of(name.partition(":")[2]) not in verbs.READS, name
    for name in verbs.WRITE_EXCEPTIONS:
        assert verbs.verb_of(name.partition(":")[2]) not in verbs.WRITES, name


@pytest.mark.parametrize(
    ("service", "operation"),
    [
        ("textract", "AnalyzeDocument"), ("rekognition", "DetectLabels"), ("bedrock-runtime", "InvokeModel"),
        ("translate", "TranslateText"), ("polly", "SynthesizeSpeech"), ("sagemaker-runtime", "InvokeEndpoint"),
        ("kms", "Sign"), ("sts", "AssumeRole"), ("comprehend", "BatchDetectSentiment"),
        ("athena", "BatchGetNamedQuery"),
        ("cognito-idp", "AdminGetUser"), ("rekognition", "CompareFaces"), ("s3", "SelectObjectContent"),
        ("iam", "SimulatePrincipalPolicy"), ("verifiedpermissions", "IsAuthorized"), ("dynamodb", "TransactGetItems"),
    ],
)  # fmt: skip
def test_what_computes_an_answer_is_a_read(service: str, operation: str) -> None:
    assert not Call(service, operation, "").changes


@pytest.mark.parametrize(
    ("service", "operation"),
    [
        ("textract", "StartDocumentAnalysis"), ("rekognition", "IndexFaces"), ("polly", "StartSpeechSynthesisTask"),
        ("sagemaker-runtime", "InvokeEndpointAsync"), ("bedrock-agent-runtime", "InvokeAgent"), ("lambda", "Invoke"),
        ("ses", "VerifyEmailIdentity"), ("cognito-idp", "AdminCreateUser"), ("stepfunctions", "StartExecution"),
        ("ecs", "RunTask"), ("cognito-idp", "GetUserAttributeVerificationCode"), ("location", "BatchEvaluateGeofences"),
        ("sesv2", "SendEmail"), ("apigatewaymanagementapi", "PostToConnection"), ("dynamodb", "TransactWriteItems"),
    ],
)  # fmt: skip
def test_what_leaves_something_is_a_write(service: str, operation: str) -> None:
    assert Call(service, operation, "").changes


def test_transcript_is_a_write_where_the_call_names_a_place_for_it() -> None:
    assert not Call("transcribe", "TranscribeAudio", "", {"Media": {}}).changes
    assert Call("transcribe", "TranscribeAudio", "", {"OutputConfiguration": {"S3": {}}}).changes


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("SELECT * FROM t", True), ("  -- why\n select 1", True), ("/* a */ (SELECT 1)", True),
        ("INSERT INTO t", False),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True), ("WITH a AS (DELETE FROM t RETURNING id) SELECT 1", False),
    ],
)  # fmt: skip
def test_a_statement_is_what_its_text_says(text: str, *, is_read: bool) -> None:
    assert Call("rds-data", "ExecuteStatement", "", {"sql": text}).changes is not is_read
    assert Call("dynamodb", "ExecuteStatement", "", {"Statement": text}).changes is not is_read
    assert Call("dynamodb", "BatchExecuteStatement", "", {"Statements": [{"Statement": text}]}).changes is not is_read
