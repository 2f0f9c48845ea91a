"""Requests by hand to a queue's URL: what names no operation, answers in XML and in JSON, X-Ray's header."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import orjson
import pytest

from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse

Send = Callable[..., HttpResponse]

PATH = "/000000000000/orders"
SIGNED = {
    "host": "127.0.0.1:4566",
    "authorization": "AWS4-HMAC-SHA256 Credential=000000000000/20250101/us-east-1/sqs/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=0",
    "x-amz-date": "20250101T000000Z",
}
FORM = SIGNED | {"content-type": "application/x-www-form-urlencoded"}
JSON = {"accept": "application/json"}
TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793"


@pytest.fixture
def send(world: World, queue: str) -> Send:
    """Post a form to a path, as an SQS client of the query protocol does."""

    def send(path: str, headers: Mapping[str, str] | None = None, /, **fields: str) -> HttpResponse:
        body = urlencode(fields).encode()
        return world.gateway.respond(HttpRequest("POST", path, "", FORM | dict(headers or {}), body))

    return send


@pytest.mark.parametrize("headers", [SIGNED, {}], ids=["signed", "unsigned"])
def test_queue_url_that_is_opened_without_an_operation_is_404(world, queue, headers):
    answer = world.gateway.respond(HttpRequest("GET", PATH, "", headers, b""))

    assert (answer.status, answer.body) == (404, b"<UnknownOperationException/>")


@pytest.mark.parametrize("action", ["CreateQueue", "ListQueues"])
@pytest.mark.parametrize("path", [PATH, "/queue/eu-west-1/000000000000/orders"])
def test_operation_that_is_about_no_queue_is_invalid_at_a_queue(send, path, action):
    answer = send(path, Action=action, QueueName="orders")

    assert answer.status == 400
    assert ET.fromstring(answer.body).findtext(".//{*}Code") == "InvalidAction"


def test_refusal_has_an_empty_detail(send):
    answer = send(PATH, Action="SendMessage", MessageBody="")

    assert b"</Message><Detail/></Error>" in answer.body


def test_empty_result_is_an_empty_element(send):
    assert b"><ReceiveMessageResult/><ResponseMetadata>" in send(PATH, Action="ReceiveMessage").body


def test_answers_are_json_for_whoever_accepts_json(send):
    """As API Gateway reads them: lists in lower case, null for what is absent."""
    sent = orjson.loads(send(PATH, JSON, Action="SendMessage", MessageBody="hello").body)
    received = orjson.loads(send(PATH, JSON, Action="ReceiveMessage", **{"AttributeName.1": "SenderId"}).body)
    listed = orjson.loads(send("/", JSON, Action="ListQueues").body)

    result = sent["SendMessageResponse"]["SendMessageResult"]
    assert result["MD5OfMessageBody"] == "5d41402abc4b2a76b9719d911017c592"
    assert result["SequenceNumber"] is None
    assert sent["SendMessageResponse"]["ResponseMetadata"].keys() == {"RequestId"}
    (message,) = received["ReceiveMessageResponse"]["ReceiveMessageResult"]["messages"]
    assert (message["Body"], message["Attributes"]) == ("hello", [{"Name": "SenderId", "Value": "000000000000"}])
    assert listed["ListQueuesResponse"]["ListQueuesResult"] == {
        "NextToken": None,
        "queueUrls": ["http://127.0.0.1:4566/000000000000/orders"],
    }


def test_refusal_is_json_for_whoever_accepts_json(send):
    answer = send("/000000000000/missing", JSON, Action="ReceiveMessage")

    assert answer.status == 400
    assert orjson.loads(answer.body)["Error"] == {
        "Type": "Sender",
        "Code": "AWS.SimpleQueueService.NonExistentQueue",
        "Message": "The specified queue does not exist for this wsdl version.",
        "Detail": None,
    }


def test_form_to_a_queue_of_another_region_is_about_that_queue(world, send):
    made = world.client("sqs", region="eu-west-1").create_queue(QueueName="orders")["QueueUrl"]
    send("/queue/eu-west-1/000000000000/orders", Action="SendMessage", MessageBody="there")

    here = world.client("sqs").receive_message(QueueUrl="orders")
    there = world.client("sqs", region="eu-west-1").receive_message(QueueUrl=made)

    assert "Messages" not in here
    assert [message["Body"] for message in there["Messages"]] == ["there"]


def test_trace_header_of_a_request_is_that_of_its_messages(call, send):
    """A message's own one goes before it, and the size of a message is as without."""
    own = {
        "MessageSystemAttribute.1.Name": "AWSTraceHeader",
        "MessageSystemAttribute.1.Value.DataType": "String",
        "MessageSystemAttribute.1.Value.StringValue": "Root=own",
    }
    batch = {"SendMessageBatchRequestEntry.1.Id": "a", "SendMessageBatchRequestEntry.1.MessageBody": "2"}
    traced = {"x-amzn-trace-id": TRACE}
    send(PATH, traced, Action="SendMessage", MessageBody="1")
    send(PATH, traced, Action="SendMessageBatch", **batch)
    send(PATH, traced, Action="SendMessage", MessageBody="3", **own)
    send(PATH, Action="SendMessage", MessageBody="4")

    received = call("ReceiveMessage", QueueUrl="orders", MaxNumberOfMessages=10, AttributeNames=["AWSTraceHeader"])

    shown = [message["Attributes"].get("AWSTraceHeader") for message in received["Messages"]]
    assert shown == [TRACE, TRACE, "Root=own", None]
