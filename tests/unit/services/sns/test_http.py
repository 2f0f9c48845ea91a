"""HTTP endpoints, signatures, and mail: confirmations, headers, retries."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from redrive.wire.message import HttpRequest
from tests.unit.services.events.http_server import Answer, LocalServer

SIGNED = ("Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as started:
        yield started


def get(desk: Any, url: str) -> Any:
    """What the server answers to an unsigned GET of a URL."""
    parts = urlsplit(url)
    request = HttpRequest("GET", parts.path, parts.query, {"host": parts.netloc}, b"")
    return desk.world.gateway.respond(request)


def is_genuine(desk: Any, envelope: dict[str, Any]) -> bool:
    """Whether the signature of an envelope fits the certificate that the server serves."""
    pem = get(desk, envelope["SigningCertURL"]).body
    text = "".join(f"{name}\n{envelope[name]}\n" for name in SIGNED if name in envelope)
    algorithm = hashes.SHA256() if envelope["SignatureVersion"] == "2" else hashes.SHA1()
    key: Any = x509.load_pem_x509_certificate(pem).public_key()
    try:
        key.verify(base64.b64decode(envelope["Signature"]), text.encode(), padding.PKCS1v15(), algorithm)
    except InvalidSignature:
        return False
    return True


def confirmed(desk: Any, server: LocalServer, topic: str, **attributes: str) -> str:
    """Subscribe the server, and confirm by the URL that it got; answers the subscription's ARN."""
    arn = desk.subscribe(topic, f"{server.url}/hook", "http", **attributes)
    desk.world.settle()
    get(desk, json.loads(server.requests.pop().body)["SubscribeURL"])
    return str(arn)


def test_endpoint_is_asked_before_it_gets_anything(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    asked = desk.sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=f"{server.url}/hook")
    desk.sns.publish(TopicArn=topic, Message="too early")
    desk.world.settle()

    assert asked["SubscriptionArn"] == "pending confirmation"
    assert desk.sns.list_subscriptions()["Subscriptions"][0]["SubscriptionArn"] == "PendingConfirmation"
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/hook")
    assert request.headers["x-amz-sns-message-type"] == "SubscriptionConfirmation"
    assert request.headers["content-type"] == "text/plain; charset=UTF-8"
    body = json.loads(request.body)
    assert body["Message"].startswith(f"You have chosen to subscribe to the topic {topic}.\nTo confirm")
    assert is_genuine(desk, body)

    answer = get(desk, body["SubscribeURL"])

    assert answer.status == 200
    assert b"<SubscriptionArn>" in answer.body
    again = desk.sns.confirm_subscription(TopicArn=topic, Token=body["Token"])
    assert again["SubscriptionArn"].startswith(f"{topic}:")


def test_confirmed_endpoint_gets_signed_envelopes_with_headers(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    arn = confirmed(desk, server, topic)

    message_id = desk.sns.publish(TopicArn=topic, Message="m", Subject="s")["MessageId"]
    desk.world.settle()

    (request,) = server.requests
    headers = {name: value for name, value in request.headers.items() if name.startswith("x-amz-sns")}
    assert headers == {
        "x-amz-sns-message-type": "Notification", "x-amz-sns-message-id": message_id, "x-amz-sns-topic-arn": topic,
        "x-amz-sns-subscription-arn": arn,
    }  # fmt: skip
    assert request.headers["user-agent"] == "Amazon Simple Notification Service Agent"
    assert is_genuine(desk, json.loads(request.body))


@pytest.mark.parametrize("version", ["1", "2"])
def test_signatures_fit_the_certificate_and_nothing_else(desk: Any, version: str) -> None:
    topic = desk.topic(SignatureVersion=version)
    desk.subscribe(topic, desk.queue())
    desk.sns.publish(TopicArn=topic, Message="m", Subject="s")

    (envelope,) = desk.received()

    assert envelope["SignatureVersion"] == version
    assert is_genuine(desk, envelope)
    assert not is_genuine(desk, {**envelope, "Message": "n"})


def test_unknown_certificate_is_not_found(desk: Any) -> None:
    assert get(desk, "http://localhost/SimpleNotificationService-00.pem").status == 404


def test_raw_endpoint_gets_the_message_alone_as_the_type_that_it_asks_for(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    policy = json.dumps({"requestPolicy": {"headerContentType": "application/json"}})
    confirmed(desk, server, topic, RawMessageDelivery="true", DeliveryPolicy=policy)

    desk.sns.publish(TopicArn=topic, Message='{"a":1}')
    desk.world.settle()

    (request,) = server.requests
    assert request.body == b'{"a":1}'
    assert request.headers["x-amz-sns-rawdelivery"] == "true"
    assert request.headers["content-type"] == "application/json"


def test_failing_endpoint_is_tried_four_times_in_a_minute_and_then_given_up(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    dead = json.dumps({"deadLetterTargetArn": desk.queue("dead")})
    confirmed(desk, server, topic, RedrivePolicy=dead)
    server.always = Answer(500)

    desk.sns.publish(TopicArn=topic, Message="m")
    desk.world.advance(seconds=59)
    assert len(server.requests) == 3
    desk.world.advance(seconds=1)

    assert len(server.requests) == 4
    assert desk.texts("dead") == ["m"]


def test_refusing_endpoint_is_not_tried_again(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    confirmed(desk, server, topic)
    server.always = Answer(404)

    desk.sns.publish(TopicArn=topic, Message="m")
    desk.world.advance(minutes=5)

    assert len(server.requests) == 1


def test_endpoint_is_told_of_the_end_of_its_subscription(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    arn = confirmed(desk, server, topic)

    get(desk, f"http://localhost/?Action=Unsubscribe&SubscriptionArn={arn}")
    desk.world.settle()

    (request,) = server.requests
    assert request.headers["x-amz-sns-message-type"] == "UnsubscribeConfirmation"
    assert desk.sns.list_subscriptions()["Subscriptions"] == []


def test_tokens_that_confirm_nothing(desk: Any, refused: Any, server: LocalServer) -> None:
    topic = desk.topic()
    assert refused(desk.sns.confirm_subscription, TopicArn=topic, Token="x")[1] == "Invalid parameter: Invalid token"
    assert refused(desk.sns.confirm_subscription, TopicArn=topic, Token="0" * 64)[1] == "Invalid parameter: Token"
    desk.subscribe(topic, f"{server.url}/hook", "http")
    desk.world.settle()
    token = json.loads(server.requests.pop().body)["Token"]

    desk.world.advance(days=2)

    assert refused(desk.sns.confirm_subscription, TopicArn=topic, Token=token)[1] == "Invalid parameter: Token"


def test_mail_and_text_messages_are_captured(desk: Any) -> None:
    topic = desk.topic()
    desk.subscribe(topic, "ann@example.com", "email")
    desk.subscribe(topic, "+436641234567", "sms")
    desk.world.settle()
    (asked,) = desk.world.call("redrive", "ListMail")["mail"]
    get(desk, asked["link"])

    desk.sns.publish(TopicArn=topic, Message="m", Subject="s")
    desk.sns.publish(PhoneNumber="+436641234567", Message="direct")
    desk.world.settle()

    told = [
        (mail["protocol"], mail["subject"], mail["text"])
        for mail in desk.world.call("redrive", "ListMail", after=asked["id"])["mail"]
    ]
    assert sorted(told) == [("email", "s", "m"), ("sms", "", "direct"), ("sms", "", "m")]
    shown = desk.world.call("redrive", "GetMail", id=asked["id"])
    assert (shown["address"], shown["topic"]) == ("ann@example.com", topic)
    only = desk.world.call("redrive", "ListMail", address="ann@example.com", limit=1)
    assert (len(only["mail"]), only["after"]) == (1, asked["id"])


def test_old_mail_is_forgotten(desk: Any) -> None:
    desk.sns.publish(PhoneNumber="+436641234567", Message="m")

    desk.world.advance(days=15)

    assert desk.world.call("redrive", "ListMail")["mail"] == []
