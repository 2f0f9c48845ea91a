"""Topics from outside: a day with the aws CLI and `redrive mailbox`, and an HTTP subscriber that checks signatures."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from tests.e2e.conftest import ServerProcess
from tests.unit.services.events.http_server import LocalServer

SIGNED = ("Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"


@pytest.fixture
def subscriber() -> Iterator[LocalServer]:
    with LocalServer() as started:
        yield started


def cli(server: ServerProcess, operation: str, *arguments: str) -> Any:
    """Run `aws sns OPERATION`."""
    return server.aws("sns", operation, "--endpoint-url", server.endpoint_url, *arguments)


def mailbox(server: ServerProcess, *arguments: str) -> Any:
    """What `redrive mailbox` prints as JSON."""
    return json.loads(server.redrive("mailbox", *arguments, "--output", "json"))


def queue(server: ServerProcess) -> str:
    """A queue that SNS may send to; answers its URL."""
    allowed = {
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": QUEUE,
    }  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    return str(server.client("sqs").create_queue(QueueName="orders", Attributes={"Policy": policy})["QueueUrl"])


def verify(envelope: dict[str, Any]) -> None:
    """Check a signature by AWS's documented steps, with the certificate at its URL. Errors: InvalidSignature."""
    with urlopen(envelope["SigningCertURL"]) as answer:
        key: Any = x509.load_pem_x509_certificate(answer.read()).public_key()
    text = "".join(f"{name}\n{envelope[name]}\n" for name in SIGNED if name in envelope)
    algorithm = {"1": hashes.SHA1, "2": hashes.SHA256}[envelope["SignatureVersion"]]()
    key.verify(base64.b64decode(envelope["Signature"]), text.encode(), padding.PKCS1v15(), algorithm)


def test_day_with_the_cli_reaches_a_queue_and_a_mailbox(server: ServerProcess) -> None:
    url = queue(server)
    topic = cli(server, "create-topic", "--name", "orders")["TopicArn"]
    subscription = cli(
        server, "subscribe", "--topic-arn", topic, "--protocol", "sqs", "--notification-endpoint", QUEUE,
        "--attributes", json.dumps({"FilterPolicy": '{"kind":["paid"]}', "RawMessageDelivery": "true"}),
    )["SubscriptionArn"]  # fmt: skip
    cli(server, "subscribe", "--topic-arn", topic, "--protocol", "email", "--notification-endpoint", "ann@example.com")

    (asked,) = mailbox(server, "wait", "--address", "ann@example.com", "--timeout", "20s")
    with urlopen(asked["link"]) as answer:
        assert answer.status == 200
    paid = json.dumps({"kind": {"DataType": "String", "StringValue": "paid"}})
    cli(server, "publish", "--topic-arn", topic, "--message", "order 1", "--message-attributes", paid)
    first = mailbox(server, "wait", "--address", "ann@example.com", "--after", asked["id"], "--timeout", "20s")
    cli(server, "publish", "--topic-arn", topic, "--message", "order 2", "--subject", "Look")
    mailbox(server, "wait", "--address", "ann@example.com", "--after", first[-1]["id"], "--timeout", "20s")

    told = [(one["subject"], one["text"]) for one in mailbox(server, "list", "--address", "ann@example.com")[1:]]
    assert sorted(told) == [("AWS Notification Message", "order 1"), ("Look", "order 2")]
    messages = server.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [message["Body"] for message in messages] == ["order 1"]
    shown = cli(server, "get-subscription-attributes", "--subscription-arn", subscription)["Attributes"]
    assert shown["FilterPolicyScope"] == "MessageAttributes"
    assert len(cli(server, "list-subscriptions-by-topic", "--topic-arn", topic)["Subscriptions"]) == 2
    cli(server, "unsubscribe", "--subscription-arn", subscription)
    cli(server, "delete-topic", "--topic-arn", topic)
    assert cli(server, "list-topics")["Topics"] == []


def test_mailbox_prints_a_table_a_mail_and_what_to_do_next(server: ServerProcess) -> None:
    cli(server, "publish", "--phone-number", "+436641234567", "--message", "your code is 1234")

    table = server.redrive("mailbox", "list", "--address", "+436641234567")
    (mail,) = mailbox(server, "list", "--address", "+436641234567")
    shown = server.redrive("mailbox", "show", mail["id"])
    with pytest.raises(AssertionError, match="redrive runs list"):
        server.redrive("mailbox", "wait", "--address", "nobody@example.com", "--timeout", "1s")

    assert "+436641234567" in table
    assert "1234" in table
    assert shown.splitlines()[-1] == "your code is 1234"
    assert "protocol: sms" in shown


def test_subscriber_confirms_and_verifies_what_it_gets(server: ServerProcess, subscriber: LocalServer) -> None:
    sns = server.client("sns")
    topic = sns.create_topic(Name="orders", Attributes={"SignatureVersion": "2"})["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=f"{subscriber.url}/hook")
    subscriber.wait_for(1)
    asked = json.loads(subscriber.requests[0].body)
    verify(asked)
    with urlopen(asked["SubscribeURL"]) as answer:
        assert b"<SubscriptionArn>" in answer.read()

    sns.publish(TopicArn=topic, Message="grün\n", Subject="s")
    subscriber.wait_for(2)
    envelope = json.loads(subscriber.requests[1].body)
    verify(envelope)
    with urlopen(envelope["UnsubscribeURL"]) as answer:
        assert answer.status == 200
    subscriber.wait_for(3)

    assert (envelope["Message"], envelope["TopicArn"]) == ("grün\n", topic)
    ended = json.loads(subscriber.requests[2].body)
    assert ended["Type"] == "UnsubscribeConfirmation"
    verify(ended)
    assert sns.list_subscriptions()["Subscriptions"] == []


def test_killed_server_has_delivered_what_it_has_acknowledged_and_keeps_its_key(tmp_path: Path) -> None:
    first = ServerProcess("--data", str(tmp_path))
    sns, url = first.client("sns"), queue(first)
    topic = sns.create_topic(Name="orders")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=QUEUE)
    for number in range(20):
        sns.publish(TopicArn=topic, Message=str(number))
    first.kill()

    second = ServerProcess("--data", str(tmp_path))
    try:
        second.client("sns").publish(TopicArn=topic, Message="20")
        got: list[dict[str, Any]] = []
        while len(got) < 21 and (found := receive(second, urlsplit(url).path)):
            got += found
    finally:
        second.stop()

    assert sorted(int(one["Message"]) for one in got) == list(range(21))
    assert len({urlsplit(one["SigningCertURL"]).path for one in got}) == 1


def receive(server: ServerProcess, path: str) -> list[dict[str, Any]]:
    """The envelopes that are in a queue."""
    answer = server.client("sqs").receive_message(
        QueueUrl=f"{server.endpoint_url}{path}", MaxNumberOfMessages=10, WaitTimeSeconds=1
    )
    return [json.loads(message["Body"]) for message in answer.get("Messages", ())]
