"""Filter policies: which messages a subscription gets, and which policies are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest


def text(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}


def number(value: str) -> dict[str, str]:
    return {"DataType": "Number", "StringValue": value}


def array(value: Any) -> dict[str, str]:
    return {"DataType": "String.Array", "StringValue": json.dumps(value)}


BINARY = {"DataType": "Binary", "BinaryValue": b"x"}


@pytest.mark.parametrize(
    ("policy", "attributes", "is_delivered"),
    [
        ({"a": ["x", "y"]}, {"a": text("y")}, True),
        ({"a": ["x"]}, {"a": text("y")}, False),
        ({"a": ["x"]}, {}, False),
        ({"a": ["x"], "b": ["y"]}, {"a": text("x")}, False),
        ({"a": [{"prefix": "x"}]}, {"a": text("xy")}, True),
        ({"a": [{"suffix": "y"}]}, {"a": text("xy")}, True),
        ({"a": [{"equals-ignore-case": "X"}]}, {"a": text("x")}, True),
        ({"a": [{"wildcard": "a*c"}]}, {"a": text("abc")}, True),
        ({"a": [{"anything-but": ["x"]}]}, {"a": text("y")}, True),
        ({"a": [{"anything-but": ["x"]}]}, {}, False),
        ({"a": [{"anything-but": {"prefix": "x"}}]}, {"a": text("xy")}, False),
        ({"a": [{"numeric": [">", 5, "<=", 10]}]}, {"a": number("10")}, True),
        ({"a": [{"numeric": [">", 5, "<=", 10]}]}, {"a": text("10")}, False),
        ({"a": [10]}, {"a": number("10.0")}, True),
        ({"a": [{"cidr": "10.0.0.0/24"}]}, {"a": text("10.0.0.7")}, True),
        ({"a": [{"exists": True}]}, {"a": text("x")}, True),
        ({"a": [{"exists": False}]}, {"a": text("x")}, False),
        ({"a": [{"exists": False}]}, {}, True),
        ({"a": ["x"]}, {"a": array(["w", "x"])}, True),
        ({"a": [True]}, {"a": array([True])}, True),
        ({"a": ["x"]}, {"a": BINARY}, False),
        ({"$or": [{"a": ["x"]}, {"b": ["y"]}]}, {"b": text("y")}, True),
        ({"a": [None]}, {}, False),
    ],
)
def test_policy_on_attributes_chooses_messages(desk: Any, policy: Any, attributes: Any, is_delivered: bool) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue(), FilterPolicy=json.dumps(policy))

    desk.sns.publish(TopicArn=topic, Message="m", MessageAttributes=attributes)

    assert bool(desk.take()) is is_delivered


@pytest.mark.parametrize(
    ("policy", "body", "is_delivered"),
    [
        ({"a": {"b": ["x"]}}, '{"a":{"b":"x"}}', True),
        ({"a": {"b": ["x"]}}, '{"a.b":"x"}', True),
        ({"a.b": ["x"]}, '{"a":{"b":"x"}}', True),
        ({"a": ["x"]}, '{"a":["w","x"]}', True),
        ({"a": {"b": ["x"], "c": ["y"]}}, '{"a":[{"b":"x"},{"c":"y"}]}', True),
        ({"a": ["x"]}, '{"a":[["w"],["x"]]}', True),
        ({"a": ["x"]}, '{"b":"x"}', False),
        ({"a": ["x"]}, "no json", False),
        ({"a": ["x"]}, '["x"]', False),
        ({"a": [{"exists": False}]}, '{"b":[]}', True),
        ({"a": [{"numeric": ["=", 1]}]}, '{"a":1}', True),
        ({"a": [None]}, '{"a":null}', True),
    ],
)
def test_policy_on_the_body_chooses_messages(desk: Any, policy: Any, body: str, is_delivered: bool) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue(), FilterPolicy=json.dumps(policy), FilterPolicyScope="MessageBody")

    desk.sns.publish(TopicArn=topic, Message=body)

    assert bool(desk.take()) is is_delivered


@pytest.mark.parametrize(
    ("policy", "scope", "told"),
    [
        ({name: ["x"] for name in "abcdef"}, "MessageAttributes", "Filter policy can not have more than 5 keys"),
        ({name: list("0123456789ABC") for name in "ab"}, "MessageAttributes", "Filter policy is too complex"),
        ({"a": {"b": ["x"]}}, "MessageAttributes",
         "Filter policy scope MessageAttributes does not support nested filter policy"),
        ({"a": {"b": {"c": list("0123456789")}}, "d": {"e": list("012")}}, "MessageBody",
         "Filter policy is too complex"),
        ({"a": [{"numeric": [">", 5, "<", 3]}]}, "MessageAttributes", "Bottom must be less than top"),
        ({"a": []}, "MessageAttributes", "Empty arrays are not allowed"),
    ],
)  # fmt: skip
def test_policies_that_are_refused(desk: Any, refused: Any, policy: Any, scope: str, told: str) -> None:
    attributes = {"FilterPolicy": json.dumps(policy), "FilterPolicyScope": scope}

    code, message = refused(
        desk.sns.subscribe, TopicArn=desk.topic(), Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:000000000000:q",
        Attributes=attributes,
    )  # fmt: skip
    assert code == "InvalidParameter"
    assert message.startswith(f"Invalid parameter: Attributes Reason: FilterPolicy: {told}")


def test_changed_policy_holds_for_the_next_message(desk: Any) -> None:
    topic = desk.topic()
    arn = desk.subscribe(topic, desk.queue(), FilterPolicy='{"a":["x"]}')
    desk.sns.publish(TopicArn=topic, Message="out")

    desk.sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName="FilterPolicy", AttributeValue="")
    desk.sns.publish(TopicArn=topic, Message="in")

    assert desk.texts() == ["in"]
    assert desk.counted("NumberOfNotificationsFilteredOut") == 1
    assert desk.counted("NumberOfNotificationsFilteredOut-NoMessageAttributes") == 1
