"""SQS through the whole wire, as boto3 sees it: queue URLs, codes of both names, bytes."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World


@pytest.fixture
def sqs(world: World):
    return world.client("sqs")


def test_message_makes_the_round_through_boto3(sqs):
    queue = sqs.create_queue(QueueName="orders")["QueueUrl"]
    attributes = {
        "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        "n": {"DataType": "Number", "StringValue": "1"},
    }
    sent = sqs.send_message(QueueUrl=queue, MessageBody="grüß dich", MessageAttributes=attributes)

    (message,) = sqs.receive_message(QueueUrl=queue, MessageAttributeNames=["All"])["Messages"]
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    assert message["Body"] == "grüß dich"
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]


@pytest.mark.parametrize(
    ("operation", "params", "code"),
    [
        ("send_message", {"QueueUrl": "nothing", "MessageBody": "1"}, "AWS.SimpleQueueService.NonExistentQueue"),
        ("send_message", {"QueueUrl": "orders", "MessageBody": ""}, "MissingParameter"),
        ("receive_message", {"QueueUrl": "orders", "MaxNumberOfMessages": 11}, "InvalidParameterValue"),
        ("delete_message", {"QueueUrl": "orders", "ReceiptHandle": "x"}, "ReceiptHandleIsInvalid"),
        ("create_queue", {"QueueName": "orders", "Attributes": {"DelaySeconds": "1"}}, "QueueAlreadyExists"),
        ("create_queue", {"QueueName": "a", "Attributes": {"Colour": "1"}}, "InvalidAttributeName"),
        ("send_message_batch", {"QueueUrl": "orders", "Entries": []}, "AWS.SimpleQueueService.EmptyBatchRequest"),
    ],
)
def test_errors_have_the_codes_that_clients_of_the_query_protocol_know(sqs, operation, params, code):
    sqs.create_queue(QueueName="orders")

    with pytest.raises(ClientError) as caught:
        getattr(sqs, operation)(**params)

    assert caught.value.response["Error"]["Code"] == code
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_missing_parameter_is_named_by_its_member(world, sqs, refusal):
    answer = refusal("SendMessage", QueueUrl="orders")

    assert answer == ("MissingRequiredParameterException", "The request must contain the parameter MessageBody.")
