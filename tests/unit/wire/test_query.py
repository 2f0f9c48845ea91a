"""The query protocol: forms in, XML out; SQS speaks it beside JSON, under names of its own."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import botocore.parsers
import pytest

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models
from redrive.wire.route import Router
from tests.unit.wire.botocore_client import signature

FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
QUEUE = "http://localhost:4566/123456789012/orders"


def decode(router: Router, service: str, fields: dict[str, str]) -> dict[str, Any]:
    request = HttpRequest("POST", "/", "", FORM | signature(service), urlencode(fields).encode())
    route = router.route(request)
    return route.codec.decode(route.operation, request, route.path_params)


def test_legacy_batch_with_attributes(router: Router) -> None:
    """Lists and maps are numbered under the name of one element.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
    """
    entry = "SendMessageBatchRequestEntry"
    params = decode(
        router,
        "sqs",
        {
            "Action": "SendMessageBatch",
            "Version": "2012-11-05",
            "QueueUrl": QUEUE,
            f"{entry}.1.Id": "a",
            f"{entry}.1.MessageBody": "one",
            f"{entry}.1.DelaySeconds": "5",
            f"{entry}.2.Id": "b",
            f"{entry}.2.MessageBody": "two & three",
            f"{entry}.2.MessageAttribute.1.Name": "city",
            f"{entry}.2.MessageAttribute.1.Value.DataType": "String",
            f"{entry}.2.MessageAttribute.1.Value.StringValue": "Ulm",
            f"{entry}.2.MessageAttribute.2.Name": "raw",
            f"{entry}.2.MessageAttribute.2.Value.DataType": "Binary",
            f"{entry}.2.MessageAttribute.2.Value.BinaryValue": "AP8=",
            f"{entry}.2.MessageSystemAttribute.1.Name": "AWSTraceHeader",
            f"{entry}.2.MessageSystemAttribute.1.Value.DataType": "String",
            f"{entry}.2.MessageSystemAttribute.1.Value.StringValue": "Root=1",
        },
    )

    assert params == {
        "QueueUrl": QUEUE,
        "Entries": [
            {"Id": "a", "MessageBody": "one", "DelaySeconds": 5},
            {
                "Id": "b",
                "MessageBody": "two & three",
                "MessageAttributes": {
                    "city": {"DataType": "String", "StringValue": "Ulm"},
                    "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
                },
                "MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}},
            },
        ],
    }


def test_numbers_give_the_order_and_may_have_gaps(router: Router) -> None:
    """`.10` comes after `.9`, whatever is missing between."""
    fields = {"Action": "GetQueueAttributes"} | {f"AttributeName.{n}": str(n) for n in (10, 9, 2)}

    assert decode(router, "sqs", fields) == {"AttributeNames": ["2", "9", "10"]}


def test_single_element_may_come_without_its_number(router: Router) -> None:
    """As AWS's own examples write it: `AttributeName=All`, `Attribute.Name=…&Attribute.Value=…`.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
    """
    listed = decode(router, "sqs", {"Action": "ReceiveMessage", "AttributeName": "All"})
    mapped = decode(
        router, "sqs", {"Action": "SetQueueAttributes", "Attribute.Name": "DelaySeconds", "Attribute.Value": "5"}
    )

    assert listed == {"AttributeNames": ["All"]}
    assert mapped == {"Attributes": {"DelaySeconds": "5"}}


@pytest.mark.parametrize(
    ("service", "fields", "message"),
    [
        (
            "iam",
            {"Action": "ListUsers", "Version": "2010-05-08", "MaxItems": "many"},
            "'many' can not be converted to the type integer",
        ),
        (
            "sqs",
            {"Action": "SendMessage", "DelaySeconds": "3000000000"},
            "'3000000000' can not be converted to the type integer",
        ),
        ("sqs", {"Action": "GetQueueAttributes", "AttributeName.x": "All"}, "A list has numbered elements; found x."),
        (
            "sqs",
            {"Action": "GetQueueAttributes"} | {f"AttributeName.{number:03}x{'y' * 99}": "All" for number in range(99)},
            "A list has numbered elements; found "
            + ", ".join(f"{number:03}xyyyyyyyyyyyyyyyy" for number in range(20))
            + ".",
        ),
        (
            "sqs",
            {"Action": "GetQueueAttributes", f"AttributeName.{'9' * 5_000}": "All"},
            f"A list has numbered elements; found {'9' * 20}.",
        ),
        (
            "sqs",
            {"Action": "SetQueueAttributes", "Attribute.1.Name": "DelaySeconds"},
            "An entry of Attributes needs both Name and Value.",
        ),
        ("sqs", {"Action": "SendMessage", "MessageBody.x": "1"}, "MessageBody is a string, not a structure."),
    ],
)
def test_field_that_does_not_fit_is_refused(router: Router, service: str, fields: dict[str, str], message: str) -> None:
    """The query protocol calls it MalformedInput."""
    with pytest.raises(ServiceError) as caught:
        decode(router, service, fields)
    response = router.codec(service, "query").encode_error(caught.value, "id-1")

    assert caught.value.message == message
    assert b"<Code>MalformedInput</Code>" in response.body
    assert response.status == 400


def test_legacy_receive_answers_in_the_names_of_the_query_protocol(router: Router, models: Models) -> None:
    """Message, Attribute and MessageAttribute repeat, each with a Name and a Value.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
    """
    message = {
        "MessageId": "m",
        "Body": "1 < 2\r\n",
        "Attributes": {"SentTimestamp": "1"},
        "MessageAttributes": {"city": {"DataType": "String", "StringValue": "Ulm"}},
    }

    response = router.codec("sqs", "query").encode(
        models.service("sqs").operations["ReceiveMessage"], {"Messages": [message]}, "id-1"
    )

    assert response.body.decode() == (
        '<ReceiveMessageResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><ReceiveMessageResult><Message>'
        "<MessageId>m</MessageId><Body>1 &lt; 2&#xD;\n</Body>"
        "<Attribute><Name>SentTimestamp</Name><Value>1</Value></Attribute>"
        "<MessageAttribute><Name>city</Name>"
        "<Value><DataType>String</DataType><StringValue>Ulm</StringValue></Value></MessageAttribute>"
        "</Message></ReceiveMessageResult>"
        "<ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></ReceiveMessageResponse>"
    )


@pytest.mark.parametrize(
    ("service", "error", "status", "code", "kind"),
    [
        ("iam", ServiceError("NoSuchEntityException", "m"), 404, "NoSuchEntity", "Sender"),
        ("iam", ServiceError("NoSuchEntity", "m"), 404, "NoSuchEntity", "Sender"),
        ("sts", ServiceError("MalformedPolicyDocumentException", "m"), 400, "MalformedPolicyDocument", "Sender"),
        ("cloudformation", ServiceError("AlreadyExistsException", "m"), 400, "AlreadyExistsException", "Sender"),
        ("cloudformation", ServiceError("ValidationException", "m"), 400, "ValidationError", "Sender"),
        ("cloudformation", ServiceError("AccessDeniedException", "m"), 403, "AccessDenied", "Sender"),
        ("iam", ServiceError("ServiceFailureException", "m"), 500, "ServiceFailure", "Receiver"),
        ("sqs", ServiceError("OverLimit", "m"), 403, "OverLimit", "Sender"),
        ("sqs", ServiceError("QueueNameExists", "m"), 400, "QueueAlreadyExists", "Sender"),
    ],
)
def test_error_has_the_code_and_status_of_the_query_protocol(
    router: Router, *, service: str, error: ServiceError, status: int, code: str, kind: str
) -> None:
    """Either name may be raised; the client sees the query code."""
    response = router.codec(service, "query").encode_error(error, "id-1")

    parsed = botocore.parsers.create_parser("query").parse(
        {"status_code": response.status, "headers": dict(response.headers), "body": response.body}, None
    )

    assert response.status == status
    detail = {"Detail": None} if service == "sqs" else {}
    assert parsed["Error"] == {"Type": kind, "Code": code, "Message": "m", **detail}
    assert parsed["ResponseMetadata"]["RequestId"] == "id-1"


@pytest.mark.parametrize("character", ["\0", "\x0b", "\x1f", "\ud800", "\uffff"])
def test_character_that_xml_does_not_know_is_replaced(router: Router, character: str) -> None:
    """A refusal that quotes what was sent is well-formed XML nevertheless.

    Source: https://www.w3.org/TR/xml/#charsets
    """
    error = ServiceError("InvalidInputException", f"<{character}>")
    response = router.codec("iam", "query").encode_error(error, "id-1")

    parsed = botocore.parsers.create_parser("query").parse(
        {"status_code": response.status, "headers": dict(response.headers), "body": response.body}, None
    )

    assert parsed["Error"]["Message"] == "<\ufffd>"


def test_missing_queue_has_another_message_on_the_query_protocol(router: Router) -> None:
    """The older protocol speaks of its wsdl version."""
    error = ServiceError("QueueDoesNotExist", "The specified queue does not exist.")

    body = router.codec("sqs", "query").encode_error(error, "id-1").body

    assert b"<Message>The specified queue does not exist for this wsdl version.</Message>" in body
    assert b"<Code>AWS.SimpleQueueService.NonExistentQueue</Code>" in body
