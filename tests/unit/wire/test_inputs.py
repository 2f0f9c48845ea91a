"""Parameters in a document of their own: read by the model, whatever the protocol of the service."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.wire.model.files import Models
from redrive.wire.model.inputs import InputReader, missing_members


def read(models: Models, service: str, operation: str, document: dict[str, Any]) -> dict[str, Any]:
    model = models.service(service)
    return InputReader(model.spec.wording).read(model.operations[operation], document)


@pytest.mark.parametrize(
    ("service", "operation", "document", "params"),
    [
        ("lambda", "Invoke", {"FunctionName": "f", "InvocationType": "Event", "Payload": '{"n":1}'},
         {"FunctionName": "f", "InvocationType": "Event", "Payload": b'{"n":1}'}),
        ("lambda", "UpdateFunctionCode", {"FunctionName": "f", "ZipFile": "aGk="},
         {"FunctionName": "f", "ZipFile": b"hi"}),
        ("dynamodb", "PutItem", {"Item": {"B": {"S": "text"}, "key": {"B": "aGk="}, "all": {"BS": ["aGk="]}}},
         {"Item": {"B": {"S": "text"}, "key": {"B": b"hi"}, "all": {"BS": [b"hi"]}}}),
        ("scheduler", "CreateSchedule", {"Name": "n", "StartDate": 1.5, "EndDate": "1970-01-01T00:00:02Z"},
         {"Name": "n", "StartDate": 1_500, "EndDate": 2_000}),
        ("logs", "PutLogEvents", {"LogGroupName": "g", "LogEvents": [{"Timestamp": 1, "Message": "m"}]},
         {"logGroupName": "g", "logEvents": [{"timestamp": 1, "message": "m"}]}),
        ("sqs", "CreateQueue", {"QueueName": "q", "Tags": {"a": "1"}, "Attributes": None},
         {"QueueName": "q", "tags": {"a": "1"}}),
    ],
)  # fmt: skip
def test_document_becomes_what_the_operation_takes(
    models: Models, service: str, operation: str, document: dict[str, Any], params: dict[str, Any]
) -> None:
    """Members are named as in AWS's SDKs and stand side by side; the body of a request is text.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html
    """
    assert read(models, service, operation, document) == params


@pytest.mark.parametrize(
    ("service", "operation", "document", "message"),
    [
        ("sqs", "SendMessage", {"MessageBody": 5}, "NUMBER_VALUE can not be converted to a String"),
        ("sqs", "SendMessage", {"DelaySeconds": 1.5}, "DECIMAL_VALUE can not be converted to an Integer"),
        ("sqs", "SendMessage", {"Foo": None}, "SendMessageRequest has no member Foo."),
        ("sqs", "CreateQueue", {"tags": {}}, "CreateQueueRequest has no member tags."),
        ("lambda", "Invoke", {"Payload": {}}, "Start of structure or map found where not expected."),
    ],
)
def test_document_that_is_not_what_the_model_says_is_refused(
    models: Models, service: str, operation: str, document: dict[str, Any], message: str
) -> None:
    with pytest.raises(ServiceError) as refusal:
        read(models, service, operation, document)

    assert (refusal.value.code, refusal.value.message) == ("SerializationException", message)


def test_required_members_that_are_absent_or_null_are_missing(models: Models) -> None:
    operations = models.service("sqs").operations

    assert missing_members(operations["SendMessage"], {"MessageBody": None}) == ["QueueUrl", "MessageBody"]
    assert missing_members(operations["ListQueues"], {}) == []
