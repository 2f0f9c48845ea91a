"""Every operation of SQS from outside: by the aws CLI, by boto3, and by the query protocol of older clients."""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
from typing import Any

import pytest

from tests.e2e.conftest import ServerProcess

ARN = "arn:aws:sqs:us-east-1:000000000000:"
FIFO = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}

# What a queue of each type takes with a message.
SUFFIXES = {"standard": "", "fifo": ".fifo"}
GROUPS = {"standard": {}, "fifo": {"MessageGroupId": "g"}}


def cli(server: ServerProcess, operation: str, *arguments: str) -> Any:
    """Run `aws sqs OPERATION`; its first version does not read this service's endpoint from the environment."""
    return server.aws("sqs", operation, "--endpoint-url", server.endpoint_url, *arguments)


def text(value: object) -> str:
    return json.dumps(value)


def redrive_policy(dlq: str) -> dict[str, str]:
    """Attributes by which a message goes to that queue when it is received for the second time."""
    return {"RedrivePolicy": text({"deadLetterTargetArn": f"{ARN}{dlq}", "maxReceiveCount": 1})}


def form(server: ServerProcess, action: str, **fields: str) -> str:
    """POST a form as clients did before JSON; answers the XML."""
    data = urllib.parse.urlencode({"Action": action, "Version": "2012-11-05", **fields}).encode()
    signature = "Credential=test/20250101/us-east-1/sqs/aws4_request, SignedHeaders=host;x-amz-date, Signature=0"
    headers = {"authorization": f"AWS4-HMAC-SHA256 {signature}", "x-amz-date": "20250101T000000Z"}
    request = urllib.request.Request(server.endpoint_url, data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def element(xml: str, name: str) -> str:
    """The text of the only element of this name."""
    (found,) = re.findall(f"<{name}>(.*?)</{name}>", xml)
    return str(found)


def test_aws_cli_uses_every_operation_on_messages_of_a_standard_queue(server: ServerProcess) -> None:
    """Queue, messages and receipts, tags, permissions, purge."""
    url = cli(server, "create-queue", "--queue-name", "cli", "--attributes", "DelaySeconds=0")["QueueUrl"]
    queue = ("--queue-url", url)

    cli(server, "set-queue-attributes", *queue, "--attributes", text({"VisibilityTimeout": "60"}))
    shown = cli(server, "get-queue-attributes", *queue, "--attribute-names", "VisibilityTimeout")
    cli(server, "tag-queue", *queue, "--tags", "team=shop,stage=test")
    cli(server, "untag-queue", *queue, "--tag-keys", "stage")
    tags = cli(server, "list-queue-tags", *queue)
    cli(
        server, "add-permission", *queue, "--label", "all", "--aws-account-ids", "111122223333",
        "--actions", "SendMessage",
    )  # fmt: skip
    cli(server, "remove-permission", *queue, "--label", "all")
    sent = cli(server, "send-message", *queue, "--message-body", "one")
    batch = cli(server, "send-message-batch", *queue, "--entries", text([{"Id": "a", "MessageBody": "two"}]))
    found = cli(server, "receive-message", *queue, "--max-number-of-messages", "10")["Messages"]
    first, second = (message["ReceiptHandle"] for message in found)
    cli(server, "change-message-visibility", *queue, "--receipt-handle", first, "--visibility-timeout", "90")
    entries = [{"Id": "a", "ReceiptHandle": second, "VisibilityTimeout": 90}]
    changed = cli(server, "change-message-visibility-batch", *queue, "--entries", text(entries))
    cli(server, "delete-message", *queue, "--receipt-handle", first)
    deleted = cli(server, "delete-message-batch", *queue, "--entries", text([{"Id": "a", "ReceiptHandle": second}]))
    cli(server, "purge-queue", *queue)

    assert shown["Attributes"] == {"VisibilityTimeout": "60"}
    assert tags["Tags"] == {"team": "shop"}
    assert [message["Body"] for message in found] == ["one", "two"]
    assert found[0]["MessageId"] == sent["MessageId"]
    assert found[1]["MessageId"] == batch["Successful"][0]["MessageId"]
    assert changed["Successful"] == deleted["Successful"] == [{"Id": "a"}]


def test_aws_cli_redrives_the_dead_letters_of_a_fifo_queue(server: ServerProcess) -> None:
    """The operations that concern several queues, and what only FIFO queues have."""
    sqs = server.client("sqs")
    dead_url = sqs.create_queue(QueueName="cli-dead.fifo", Attributes=FIFO)["QueueUrl"]
    attributes = FIFO | redrive_policy("cli-dead.fifo")
    dead = ("--source-arn", f"{ARN}cli-dead.fifo")

    url = cli(server, "create-queue", "--queue-name", "cli.fifo", "--attributes", text(attributes))["QueueUrl"]
    once = cli(server, "send-message", "--queue-url", url, "--message-body", "one", "--message-group-id", "g")
    again = sqs.send_message(QueueUrl=url, MessageBody="one", MessageGroupId="g")
    sqs.send_message(QueueUrl=url, MessageBody="two", MessageGroupId="g")
    sqs.receive_message(QueueUrl=url, VisibilityTimeout=0, MaxNumberOfMessages=10)
    nothing = sqs.receive_message(QueueUrl=url)
    found = cli(server, "get-queue-url", "--queue-name", "cli-dead.fifo")["QueueUrl"]
    sources = cli(server, "list-dead-letter-source-queues", "--queue-url", found)
    slow = cli(server, "start-message-move-task", *dead, "--max-number-of-messages-per-second", "1")
    cancelled = cli(server, "cancel-message-move-task", "--task-handle", slow["TaskHandle"])
    (task,) = cli(server, "list-message-move-tasks", *dead)["Results"]
    sqs.start_message_move_task(SourceArn=f"{ARN}cli-dead.fifo")
    server.redrive("clock", "advance", "1m")
    take = ("--max-number-of-messages", "10", "--attribute-names", "MessageGroupId")
    back = cli(server, "receive-message", "--queue-url", url, *take)["Messages"]
    cli(server, "delete-queue", "--queue-url", url)
    left = cli(server, "list-queues", "--queue-name-prefix", "cli-dead")

    assert (once["MessageId"], once["SequenceNumber"]) == (again["MessageId"], again["SequenceNumber"])
    assert "Messages" not in nothing
    assert found == dead_url
    assert sources["queueUrls"] == [url]
    assert task["Status"] == "CANCELLED"
    assert task["ApproximateNumberOfMessagesMoved"] == cancelled["ApproximateNumberOfMessagesMoved"]
    assert [message["Body"] for message in back] == ["one", "two"]
    assert {message["Attributes"]["MessageGroupId"] for message in back} == {"g"}
    assert left["QueueUrls"] == [dead_url]


@pytest.mark.parametrize("kind", ["standard", "fifo"])
def test_boto3_uses_every_operation_on_queues_of_both_types(server: ServerProcess, kind: str) -> None:
    sqs = server.client("sqs")
    suffix, group = SUFFIXES[kind], GROUPS[kind]
    own = FIFO if kind == "fifo" else {}
    name, dead = f"boto{suffix}", f"boto-dead{suffix}"

    dead_url = sqs.create_queue(QueueName=dead, Attributes=own)["QueueUrl"]
    url = sqs.create_queue(QueueName=name, Attributes=own | redrive_policy(dead), tags={"a": "1"})["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "60"})
    sqs.tag_queue(QueueUrl=url, Tags={"b": "2"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["a"])
    sqs.add_permission(QueueUrl=url, Label="l", AWSAccountIds=["111122223333"], Actions=["SendMessage"])
    sqs.remove_permission(QueueUrl=url, Label="l")
    sqs.send_message(QueueUrl=url, MessageBody="1", **group)
    entries = [{"Id": body, "MessageBody": body, **group} for body in ("2", "3", "4")]
    sqs.send_message_batch(QueueUrl=url, Entries=entries)
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    first, second, third, fourth = (message["ReceiptHandle"] for message in found)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=first)
    deleted = sqs.delete_message_batch(QueueUrl=url, Entries=[{"Id": "a", "ReceiptHandle": second}])
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=third, VisibilityTimeout=0)
    changed = sqs.change_message_visibility_batch(
        QueueUrl=url, Entries=[{"Id": "a", "ReceiptHandle": fourth, "VisibilityTimeout": 0}]
    )
    nothing = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
    slow = sqs.start_message_move_task(SourceArn=f"{ARN}{dead}", MaxNumberOfMessagesPerSecond=1)
    cancelled = sqs.cancel_message_move_task(TaskHandle=slow["TaskHandle"])
    (task,) = sqs.list_message_move_tasks(SourceArn=f"{ARN}{dead}")["Results"]
    sqs.start_message_move_task(SourceArn=f"{ARN}{dead}", DestinationArn=f"{ARN}{name}")
    server.redrive("clock", "advance", "1m")
    back = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    sqs.purge_queue(QueueUrl=url)
    counted = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]

    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == url
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"b": "2"}
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead_url)["queueUrls"] == [url]
    assert url in sqs.list_queues(QueueNamePrefix="boto")["QueueUrls"]
    assert [message["Body"] for message in found] == ["1", "2", "3", "4"]
    assert deleted["Successful"] == changed["Successful"] == [{"Id": "a"}]
    assert "Messages" not in nothing
    assert task["Status"] == "CANCELLED"
    assert task["ApproximateNumberOfMessagesMoved"] == cancelled["ApproximateNumberOfMessagesMoved"]
    assert [message["Body"] for message in back] == ["3", "4"]
    assert (counted["VisibilityTimeout"], counted["ApproximateNumberOfMessagesNotVisible"]) == ("60", "0")
    sqs.delete_queue(QueueUrl=url)
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.get_queue_url(QueueName=name)


def test_older_clients_use_the_query_protocol(server: ServerProcess) -> None:
    """Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-making-api-requests.html"""
    attribute = {"Attribute.1.Name": "FifoQueue", "Attribute.1.Value": "true"}
    made = form(server, "CreateQueue", QueueName="forms.fifo", **attribute)
    url = element(made, "QueueUrl")

    sent = form(
        server, "SendMessage", QueueUrl=url, MessageBody="a < b", MessageGroupId="g", MessageDeduplicationId="once"
    )
    received = form(server, "ReceiveMessage", QueueUrl=url, **{"AttributeName.1": "MessageGroupId"})

    assert element(received, "Body") == "a &lt; b"
    assert element(received, "MessageId") == element(sent, "MessageId")
    assert element(received, "Name") == "MessageGroupId"
    assert element(received, "Value") == "g"
