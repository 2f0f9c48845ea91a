"""Publishing: what is accepted, what subscribers get, and who gets nothing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from redrive.store.api import Transaction

TEXT = {"DataType": "String", "StringValue": "v"}


def test_queue_has_the_envelope_when_the_call_is_answered(desk: Any) -> None:
    topic = desk.topic()
    subscription = desk.subscribe(topic, desk.queue())

    answer = desk.sns.publish(
        TopicArn=topic, Message="hello", Subject="s",
        MessageAttributes={"a": TEXT, "b": {"DataType": "Binary", "BinaryValue": b"\x01"}},
    )  # fmt: skip

    def waiting(tx: Transaction) -> int:
        return len(tx.deliveries.due("inside", tx.now, limit=10))

    assert desk.world.store.run(waiting) == 0
    (envelope,) = desk.received()
    assert list(envelope) == [
        "Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "SignatureVersion", "Signature",
        "SigningCertURL", "UnsubscribeURL", "MessageAttributes",
    ]  # fmt: skip
    assert (envelope["Type"], envelope["Message"], envelope["Subject"]) == ("Notification", "hello", "s")
    assert (envelope["MessageId"], envelope["Timestamp"]) == (answer["MessageId"], "2025-01-01T00:00:00.000Z")
    assert envelope["MessageAttributes"] == {
        "a": {"Type": "String", "Value": "v"}, "b": {"Type": "Binary", "Value": "AQ=="}
    }  # fmt: skip
    assert envelope["UnsubscribeURL"].endswith(f"?Action=Unsubscribe&SubscriptionArn={subscription}")


def test_raw_delivery_turns_attributes_into_those_of_the_queue(desk: Any) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue(), RawMessageDelivery="true")

    desk.sns.publish(TopicArn=topic, Message="hello", Subject="lost", MessageAttributes={"a": TEXT})

    (message,) = desk.take()
    assert message["Body"] == "hello"
    assert message["MessageAttributes"] == {"a": TEXT}


def test_raw_message_with_more_attributes_than_a_queue_takes_is_given_up(desk: Any) -> None:
    topic = desk.topic()
    dead = json.dumps({"deadLetterTargetArn": desk.queue("dead")})
    desk.subscribe(topic, desk.queue(), RawMessageDelivery="true", RedrivePolicy=dead)

    desk.sns.publish(TopicArn=topic, Message="m", MessageAttributes={f"a{number}": TEXT for number in range(11)})
    desk.world.settle()

    assert desk.take() == []
    assert desk.counted("NumberOfNotificationsFailed") == 1


def test_every_subscription_gets_the_message_and_the_text_of_its_protocol(desk: Any) -> None:
    topic = desk.topic()
    for name in ("q1", "q2"):
        desk.subscribe(topic, desk.queue(name))

    texts = json.dumps({"default": "d", "sqs": "for queues", "http": 5})
    desk.sns.publish(TopicArn=topic, Message=texts, MessageStructure="json")

    assert (desk.texts("q1"), desk.texts("q2")) == (["for queues"], ["for queues"])


def test_queue_whose_policy_refuses_gets_nothing_and_the_dead_letter_queue_the_message(desk: Any) -> None:
    topic = desk.topic()
    dead = json.dumps({"deadLetterTargetArn": desk.queue("dead")})
    closed = desk.queue("closed", principal={"Service": "events.amazonaws.com"})
    desk.subscribe(topic, closed, RedrivePolicy=dead)

    desk.sns.publish(TopicArn=topic, Message="m")
    desk.world.settle()

    assert desk.take("closed") == []
    assert desk.texts("dead") == ["m"]
    assert desk.counted("NumberOfNotificationsFailed") == 1
    assert desk.counted("NumberOfNotificationsRedrivenToDlq") == 1


def test_condition_of_a_queue_policy_on_the_topic_decides(desk: Any) -> None:
    topic, other = desk.topic(), desk.topic("other")
    arn = desk.queue()
    allowed = {
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
    }  # fmt: skip
    url = desk.world.call("sqs", "GetQueueUrl", QueueName="q")["QueueUrl"]
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    desk.world.call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": policy})
    desk.subscribe(topic, arn)
    desk.subscribe(other, arn)

    desk.sns.publish(TopicArn=topic, Message="m")
    desk.sns.publish(TopicArn=other, Message="refused")
    desk.world.settle()

    assert desk.texts() == ["m"]


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"Message": ""}, "InvalidParameter", "Invalid parameter: Empty message"),
        ({"Subject": ""}, "InvalidParameter", "Invalid parameter: Subject"),
        ({"Subject": "a\nb"}, "InvalidParameter", "Invalid parameter: Subject"),
        ({"Subject": "a" * 101}, "InvalidParameter", "Invalid parameter: Subject"),
        ({"Message": "a" * 262_145}, "InvalidParameter", "Invalid parameter: Message too long"),
        ({"MessageStructure": "json"}, "InvalidParameter",
         "Invalid parameter: Message Structure - JSON message body failed to parse"),
        ({"MessageStructure": "json", "Message": "{}"}, "InvalidParameter",
         "Invalid parameter: Message Structure - No default entry in JSON message body"),
        ({"MessageDeduplicationId": "d"}, "InvalidParameter",
         ("Invalid parameter: MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter "
         "that is not valid for this topic type")),
        ({"MessageAttributes": {"a": {"DataType": "Map", "StringValue": "v"}}}, "ParameterValueInvalid",
         ("The message attribute 'a' has an invalid message attribute type, the set of supported type prefixes is "
         "Binary, Number, and String.")),
        ({"MessageAttributes": {"a": {"DataType": "String", "StringValue": ""}}}, "ParameterValueInvalid",
         ("The message attribute 'a' must contain non-empty message attribute value for message attribute type "
         "'String'.")),
        ({"MessageAttributes": {"a": {"DataType": "Binary", "StringValue": "v"}}}, "ParameterValueInvalid",
         "The message attribute 'a' with type 'Binary' must use field 'Binary'."),
        ({"MessageAttributes": {"a^": TEXT}}, "ParameterValueInvalid",
         ("Invalid non-alphanumeric character '#x5E' was found in the message attribute name. Can only include "
         "alphanumeric characters, hyphens, underscores, or dots.")),
    ],
)  # fmt: skip
def test_messages_that_sns_refuses(desk: Any, refused: Any, params: Any, code: str, message: str) -> None:
    topic = desk.topic()

    assert refused(desk.sns.publish, **{"TopicArn": topic, "Message": "m", **params}) == (code, message)


def test_entries_of_a_batch_succeed_and_fail_by_themselves(desk: Any) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue())

    answer = desk.sns.publish_batch(
        TopicArn=topic, PublishBatchRequestEntries=[
            {"Id": "1", "Message": "a"}, {"Id": "2", "Message": "b", "Subject": ""}, {"Id": "3", "Message": "c"},
        ],
    )  # fmt: skip

    assert [one["Id"] for one in answer["Successful"]] == ["1", "3"]
    assert answer["Failed"] == [
        {"Id": "2", "Code": "InvalidParameter", "Message": "Invalid parameter: Subject", "SenderFault": True}
    ]
    assert desk.texts() == ["a", "c"]


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        ([str(number) for number in range(11)], "TooManyEntriesInBatchRequest"),
        (["a", "a"], "BatchEntryIdsNotDistinct"),
        (["a.b"], "InvalidBatchEntryId"),
        (["a" * 81], "InvalidBatchEntryId"),
        ([], "EmptyBatchRequest"),
    ],
)
def test_batches_that_are_refused_as_a_whole(desk: Any, refused: Any, ids: list[str], code: str) -> None:
    entries = [{"Id": one, "Message": "m"} for one in ids]

    assert refused(desk.sns.publish_batch, TopicArn=desk.topic(), PublishBatchRequestEntries=entries)[0] == code


def test_sum_of_a_batch_has_the_limit_of_a_message(desk: Any, refused: Any) -> None:
    entries = [{"Id": one, "Message": "m" * 140_000} for one in "ab"]

    assert refused(desk.sns.publish_batch, TopicArn=desk.topic(), PublishBatchRequestEntries=entries)[0] == (
        "BatchRequestTooLong"
    )  # fmt: skip


def test_fair_queue_gets_the_group_of_a_standard_topic(desk: Any) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue())

    desk.sns.publish(TopicArn=topic, Message="m", MessageGroupId="g")

    assert desk.take()[0]["Attributes"]["MessageGroupId"] == "g"


def test_large_messages_go_to_queues_if_the_topic_says_so(desk: Any, refused: Any) -> None:
    topic = desk.topic(MaximumMessageSize="1048576")
    desk.subscribe(topic, desk.queue(), RawMessageDelivery="true")
    desk.sns.publish(TopicArn=topic, Message="m" * 300_000)
    assert len(desk.take()[0]["Body"]) == 300_000

    desk.subscribe(topic, "+436641234567", "sms")

    assert refused(desk.sns.publish, TopicArn=topic, Message="m" * 300_000)[1] == "Invalid parameter: Message too long"


def test_published_and_delivered_messages_are_counted(desk: Any) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue())

    desk.sns.publish(TopicArn=topic, Message="mmm")

    names = ("NumberOfMessagesPublished", "NumberOfNotificationsDelivered", "PublishSize")
    assert [desk.counted(name) for name in names] == [1, 1, 3]


def test_binary_attribute_arrives_raw_as_it_was_sent(desk: Any) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue(), RawMessageDelivery="true")
    sent = base64.b64decode("AQID")

    desk.sns.publish(
        TopicArn=topic, Message="m", MessageAttributes={"b": {"DataType": "Binary", "BinaryValue": sent}}
    )  # fmt: skip

    assert desk.take()[0]["MessageAttributes"]["b"]["BinaryValue"] == sent
