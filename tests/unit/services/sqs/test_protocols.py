"""Every operation of SQS on both of its protocols: JSON as boto3 speaks it, and the query protocol of older clients."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest

from redrive.testing.world import World
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models

ACCOUNT = "000000000000"
DLQ_ARN = f"arn:aws:sqs:us-east-1:{ACCOUNT}:dead.fifo"
REDRIVE = json.dumps({"deadLetterTargetArn": DLQ_ARN, "maxReceiveCount": 1})

Fields = dict[str, str]
Ask = Callable[..., "Answer"]


class Answer:
    """An answer of the query protocol."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self._root = ET.fromstring(re.sub(rb' xmlns="[^"]+"', b"", body))

    def all(self, name: str) -> list[str]:
        """The texts of all elements of this name."""
        return [element.text or "" for element in self._root.iter(name)]

    def one(self, name: str) -> str:
        (text,) = self.all(name)
        return text


@pytest.fixture
def asked() -> set[str]:
    """The operations that a scene has used."""
    return set()


@pytest.fixture
def ask(world: World, asked: set[str]) -> Ask:
    """Send a form: `ask("SendMessage", QueueUrl=…)`; names with dots go in a dictionary."""

    def ask(action: str, fields: Fields | None = None, **more: str) -> Answer:
        asked.add(action)
        form = {"Action": action, "Version": "2012-11-05", **(fields or {}), **more}
        headers = {
            "content-type": "application/x-www-form-urlencoded",
            "host": "127.0.0.1:4566",
            "authorization": f"AWS4-HMAC-SHA256 Credential={ACCOUNT}/20250101/us-east-1/sqs/aws4_request, "
            "SignedHeaders=host;x-amz-date, Signature=0",
            "x-amz-date": "20250101T000000Z",
        }
        response = world.gateway.respond(HttpRequest("POST", "/", "", headers, urlencode(form).encode()))
        return Answer(response.status, response.body)

    return ask


def all_operations() -> set[str]:
    return set(Models().service("sqs").operations)


def test_every_operation_works_on_the_json_protocol(world: World):
    sqs = world.client("sqs")
    used: set[str] = set()
    sqs.meta.events.register("provide-client-params.sqs.*", lambda model, **_: used.add(model.name))

    dead = sqs.create_queue(QueueName="dead.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    attributes = {"FifoQueue": "true", "RedrivePolicy": REDRIVE, "ContentBasedDeduplication": "true"}
    queue = sqs.create_queue(QueueName="orders.fifo", Attributes=attributes)["QueueUrl"]
    assert sqs.get_queue_url(QueueName="orders.fifo")["QueueUrl"] == queue
    assert sqs.list_queues()["QueueUrls"] == [dead, queue]
    sqs.add_permission(QueueUrl=queue, Label="l", AWSAccountIds=["111111111111"], Actions=["SendMessage"])
    sqs.remove_permission(QueueUrl=queue, Label="l")
    sqs.tag_queue(QueueUrl=queue, Tags={"a": "1", "b": "2"})
    sqs.untag_queue(QueueUrl=queue, TagKeys=["a"])
    assert sqs.list_queue_tags(QueueUrl=queue)["Tags"] == {"b": "2"}
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "60"})
    assert sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["VisibilityTimeout"])["Attributes"] == {
        "VisibilityTimeout": "60"
    }

    sent = sqs.send_message(QueueUrl=queue, MessageBody="1", MessageGroupId="g")
    entries = [{"Id": i, "MessageBody": i, "MessageGroupId": i} for i in "abc"]
    assert len(sqs.send_message_batch(QueueUrl=queue, Entries=entries)["Successful"]) == 3
    received = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]
    assert received[0]["Attributes"]["SequenceNumber"] == sent["SequenceNumber"]
    handles = [message["ReceiptHandle"] for message in received]
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=handles[0])
    sqs.delete_message_batch(QueueUrl=queue, Entries=[{"Id": "x", "ReceiptHandle": handles[1]}])
    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handles[2], VisibilityTimeout=0)
    entry = {"Id": "x", "ReceiptHandle": handles[3], "VisibilityTimeout": 0}
    sqs.change_message_visibility_batch(QueueUrl=queue, Entries=[entry])

    assert "Messages" not in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"] == [queue]
    handle = sqs.start_message_move_task(SourceArn=DLQ_ARN, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    assert sqs.list_message_move_tasks(SourceArn=DLQ_ARN)["Results"][0]["ApproximateNumberOfMessagesToMove"] == 2
    world.settle()
    assert sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"] == 1
    sqs.purge_queue(QueueUrl=queue)
    sqs.delete_queue(QueueUrl=queue)

    assert used == all_operations()


def test_every_operation_works_on_the_query_protocol(world: World, ask: Ask, asked: set[str]):
    fifo = {"Attribute.1.Name": "FifoQueue", "Attribute.1.Value": "true"}
    dead = ask("CreateQueue", fifo, QueueName="dead.fifo").one("QueueUrl")
    attributes = {
        **fifo, "Attribute.2.Name": "RedrivePolicy", "Attribute.2.Value": REDRIVE,
        "Attribute.3.Name": "ContentBasedDeduplication", "Attribute.3.Value": "true",
    }  # fmt: skip
    queue = ask("CreateQueue", attributes, QueueName="orders.fifo").one("QueueUrl")
    assert ask("GetQueueUrl", QueueName="orders.fifo").one("QueueUrl") == queue
    assert ask("ListQueues").all("QueueUrl") == [dead, queue]
    grant = {"AWSAccountId.1": "111111111111", "ActionName.1": "SendMessage"}
    assert ask("AddPermission", grant, QueueUrl=queue, Label="l").status == 200
    assert ask("RemovePermission", QueueUrl=queue, Label="l").status == 200
    tags = {"Tag.1.Key": "a", "Tag.1.Value": "1", "Tag.2.Key": "b", "Tag.2.Value": "2"}
    assert ask("TagQueue", tags, QueueUrl=queue).status == 200
    assert ask("UntagQueue", {"TagKey.1": "a"}, QueueUrl=queue).status == 200
    assert ask("ListQueueTags", QueueUrl=queue).all("Key") == ["b"]
    change = {"Attribute.1.Name": "VisibilityTimeout", "Attribute.1.Value": "60"}
    assert ask("SetQueueAttributes", change, QueueUrl=queue).status == 200
    assert ask("GetQueueAttributes", {"AttributeName.1": "VisibilityTimeout"}, QueueUrl=queue).one("Value") == "60"

    sent = ask("SendMessage", QueueUrl=queue, MessageBody="1", MessageGroupId="g")
    entries: Fields = {}
    for number, letter in enumerate("abc", start=1):
        entry = f"SendMessageBatchRequestEntry.{number}"
        entries |= {f"{entry}.Id": letter, f"{entry}.MessageBody": letter, f"{entry}.MessageGroupId": letter}
    assert len(ask("SendMessageBatch", entries, QueueUrl=queue).all("MessageId")) == 3
    received = ask("ReceiveMessage", {"AttributeName.1": "All"}, QueueUrl=queue, MaxNumberOfMessages="10")
    assert sent.one("SequenceNumber") in received.all("Value")
    handles = received.all("ReceiptHandle")
    assert ask("DeleteMessage", QueueUrl=queue, ReceiptHandle=handles[0]).status == 200
    entry = "DeleteMessageBatchRequestEntry.1"
    batch = {f"{entry}.Id": "x", f"{entry}.ReceiptHandle": handles[1]}
    assert ask("DeleteMessageBatch", batch, QueueUrl=queue).one("Id") == "x"
    ask("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handles[2], VisibilityTimeout="0")
    entry = "ChangeMessageVisibilityBatchRequestEntry.1"
    batch = {f"{entry}.Id": "x", f"{entry}.ReceiptHandle": handles[3], f"{entry}.VisibilityTimeout": "0"}
    assert ask("ChangeMessageVisibilityBatch", batch, QueueUrl=queue).one("Id") == "x"

    assert ask("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages="10").all("Message") == []
    assert ask("ListDeadLetterSourceQueues", QueueUrl=dead).one("QueueUrl") == queue
    handle = ask("StartMessageMoveTask", SourceArn=DLQ_ARN, MaxNumberOfMessagesPerSecond="1").one("TaskHandle")
    assert ask("ListMessageMoveTasks", SourceArn=DLQ_ARN).one("Status") == "RUNNING"
    world.settle()
    assert ask("CancelMessageMoveTask", TaskHandle=handle).one("ApproximateNumberOfMessagesMoved") == "1"
    assert ask("PurgeQueue", QueueUrl=queue).status == 200
    assert ask("DeleteQueue", QueueUrl=queue).status == 200

    assert asked == all_operations()


@pytest.mark.parametrize(
    ("action", "fields", "code", "message"),
    [
        (
            "SendMessage",
            {"QueueUrl": "nothing", "MessageBody": "1"},
            "AWS.SimpleQueueService.NonExistentQueue",
            "The specified queue does not exist for this wsdl version.",
        ),
        (
            "SendMessage",
            {"QueueUrl": "a.fifo", "MessageBody": "1"},
            "MissingParameter",
            "The request must contain the parameter MessageGroupId.",
        ),
        (
            "StartMessageMoveTask",
            {"SourceArn": DLQ_ARN},
            "ResourceNotFoundException",
            "The resource that you specified for the SourceArn parameter doesn't exist.",
        ),
    ],
)
def test_error_on_the_query_protocol(ask: Ask, action: str, fields: dict[str, Any], code: str, message: str):
    ask("CreateQueue", {"Attribute.1.Name": "FifoQueue", "Attribute.1.Value": "true"}, QueueName="a.fifo")

    answer = ask(action, fields)

    assert (answer.one("Code"), answer.one("Message")) == (code, message)
