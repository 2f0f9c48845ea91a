"""Subscriptions: who may be subscribed, attributes, lists, the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"


def test_same_endpoint_is_subscribed_once(desk: Any, refused: Any) -> None:
    topic = desk.topic()
    first = desk.subscribe(topic, QUEUE, RawMessageDelivery="true")

    assert desk.subscribe(topic, QUEUE) == first
    assert desk.subscribe(topic, QUEUE, RawMessageDelivery="true") == first
    code, message = refused(
        desk.sns.subscribe, TopicArn=topic, Protocol="sqs", Endpoint=QUEUE, Attributes={"RawMessageDelivery": "false"}
    )
    assert (code, message) == (
        "InvalidParameter",
        "Invalid parameter: Attributes Reason: Subscription already exists with different attributes",
    )  # fmt: skip


def test_queue_is_confirmed_at_once_and_shows_its_attributes(desk: Any) -> None:
    topic = desk.topic()
    arn = desk.subscribe(topic, QUEUE)

    assert desk.sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"] == {
        "SubscriptionArn": arn, "TopicArn": topic, "Protocol": "sqs", "Endpoint": QUEUE, "Owner": "000000000000",
        "SubscriptionPrincipal": "arn:aws:iam::000000000000:root", "ConfirmationWasAuthenticated": "true",
        "PendingConfirmation": "false", "RawMessageDelivery": "false",
    }  # fmt: skip
    listed = desk.sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    assert listed == [
        {"SubscriptionArn": arn, "Owner": "000000000000", "Protocol": "sqs", "Endpoint": QUEUE, "TopicArn": topic}
    ]


@pytest.mark.parametrize(
    ("protocol", "endpoint", "message"),
    [
        ("sqs", "http://localhost/000000000000/q", "Invalid parameter: SQS endpoint ARN"),
        ("pigeon", "x", "Invalid parameter: Amazon SNS does not support this protocol string: pigeon"),
        ("sms", "abc", "Invalid parameter: Invalid SMS endpoint: abc"),
        ("sqs", f"{QUEUE}.fifo", ("Invalid parameter: Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be "
         "subscribed to standard SNS topics")),
        ("http", "https://localhost/", "Invalid parameter: Endpoint must match the specified protocol"),
    ],
)  # fmt: skip
def test_endpoints_that_no_subscription_has(
    desk: Any, refused: Any, protocol: str, endpoint: str, message: str
) -> None:  # fmt: skip
    topic = desk.topic()

    assert refused(desk.sns.subscribe, TopicArn=topic, Protocol=protocol, Endpoint=endpoint) == (
        "InvalidParameter", message
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("Colour", "red", "AttributeName"),
        ("RawMessageDelivery", "x", "RawMessageDelivery: Invalid value [x]. Must be true or false."),
        ("FilterPolicyScope", "x",
         "FilterPolicyScope: Invalid value [x]. Please use either MessageBody or MessageAttributes"),
        ("RedrivePolicy", '{"deadLetterTargetArn":"x"}', "RedrivePolicy: deadLetterTargetArn is an invalid arn"),
    ],
)  # fmt: skip
def test_values_that_no_attribute_has(desk: Any, refused: Any, name: str, value: str, reason: str) -> None:
    topic = desk.topic()
    arn = desk.subscribe(topic, QUEUE)

    told = refused(desk.sns.set_subscription_attributes, SubscriptionArn=arn, AttributeName=name, AttributeValue=value)
    assert told == ("InvalidParameter", f"Invalid parameter: {reason}")
    told = refused(desk.sns.subscribe, TopicArn=topic, Protocol="sqs", Endpoint=f"{QUEUE}2", Attributes={name: value})
    assert told == ("InvalidParameter", f"Invalid parameter: Attributes Reason: {reason}")


def test_unsubscribed_endpoint_gets_nothing_and_ending_twice_is_no_error(desk: Any) -> None:
    topic = desk.topic()
    arn = desk.subscribe(topic, desk.queue())

    desk.sns.unsubscribe(SubscriptionArn=arn)
    desk.sns.unsubscribe(SubscriptionArn=arn)
    desk.sns.publish(TopicArn=topic, Message="m")

    assert desk.take() == []
    assert desk.sns.get_topic_attributes(TopicArn=topic)["Attributes"]["SubscriptionsDeleted"] == "1"


@pytest.mark.parametrize(
    ("arn", "message"),
    [
        ("PendingConfirmation",
         "Invalid parameter: SubscriptionArn Reason: An ARN must have at least 6 elements, not 1"),
        ("arn:aws:sns:us-east-1:000000000000:t", "Invalid parameter: SubscriptionId"),
    ],
)  # fmt: skip
def test_what_is_no_subscription_is_refused(desk: Any, refused: Any, arn: str, message: str) -> None:
    assert refused(desk.sns.unsubscribe, SubscriptionArn=arn) == ("InvalidParameter", message)


def test_unknown_subscription_is_not_found(desk: Any, refused: Any) -> None:
    arn = "arn:aws:sns:us-east-1:000000000000:t:00000000-0000-0000-0000-000000000000"

    assert refused(desk.sns.get_subscription_attributes, SubscriptionArn=arn) == (
        "NotFound", "Subscription does not exist"
    )  # fmt: skip


def test_text_messages_need_no_confirmation(desk: Any) -> None:
    answer = desk.sns.subscribe(TopicArn=desk.topic(), Protocol="sms", Endpoint="+436641234567")

    assert answer["SubscriptionArn"].startswith("arn:")


def test_redrive_policy_of_a_fifo_topic_names_a_fifo_queue(desk: Any, refused: Any) -> None:
    topic = desk.topic("t.fifo")
    policy = json.dumps({"deadLetterTargetArn": QUEUE})

    message = refused(
        desk.sns.subscribe, TopicArn=topic, Protocol="sqs", Endpoint=f"{QUEUE}.fifo",
        Attributes={"RedrivePolicy": policy},
    )[1]  # fmt: skip
    assert "must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic." in message
