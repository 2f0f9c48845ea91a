"""FIFO topics: groups, deduplication, order."""

from __future__ import annotations

from typing import Any


def test_fifo_queue_gets_group_and_deduplication_id_of_the_topic(desk: Any) -> None:
    topic = desk.topic("t.fifo")
    desk.subscribe(topic, desk.queue("q.fifo"))

    answer = desk.sns.publish(TopicArn=topic, Message="m", MessageGroupId="g", MessageDeduplicationId="d")

    (message,) = desk.take("q.fifo")
    attributes = message["Attributes"]
    assert (attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) == ("g", "d")
    assert answer["SequenceNumber"] != attributes["SequenceNumber"]
    assert len(answer["SequenceNumber"]) == 20


def test_envelope_of_a_fifo_topic_has_a_sequence_number_and_no_signature(desk: Any) -> None:
    topic = desk.topic("t.fifo")
    desk.subscribe(topic, desk.queue("q.fifo"))

    desk.sns.publish(TopicArn=topic, Message="m", MessageGroupId="g", MessageDeduplicationId="d")

    (envelope,) = desk.received("q.fifo")
    assert list(envelope) == [
        "Type", "MessageId", "SequenceNumber", "TopicArn", "Message", "Timestamp", "UnsubscribeURL"
    ]  # fmt: skip


def test_message_is_published_once_in_five_minutes(desk: Any) -> None:
    topic = desk.topic("t.fifo", ContentBasedDeduplication="true")
    desk.subscribe(topic, desk.queue("q.fifo"))

    first = desk.sns.publish(TopicArn=topic, Message="m", MessageGroupId="g")
    again = desk.sns.publish(TopicArn=topic, Message="m", MessageGroupId="h")
    assert (again["MessageId"], again["SequenceNumber"]) == (first["MessageId"], first["SequenceNumber"])
    desk.world.advance(seconds=301)
    desk.sns.publish(TopicArn=topic, Message="m", MessageGroupId="g")

    assert desk.texts("q.fifo") == ["m", "m"]


def test_deduplication_can_be_for_each_group(desk: Any) -> None:
    topic = desk.topic("t.fifo", ContentBasedDeduplication="true", FifoThroughputScope="MessageGroup")
    desk.subscribe(topic, desk.queue("q.fifo", DeduplicationScope="messageGroup"))

    for group in ("g", "h", "g"):
        desk.sns.publish(TopicArn=topic, Message="m", MessageGroupId=group)

    assert desk.texts("q.fifo") == ["m", "m"]


def test_messages_of_a_batch_keep_their_order(desk: Any) -> None:
    topic = desk.topic("t.fifo", ContentBasedDeduplication="true")
    desk.subscribe(topic, desk.queue("q.fifo"), RawMessageDelivery="true")
    entries = [{"Id": str(one), "Message": str(one), "MessageGroupId": "g"} for one in range(10)]

    desk.sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)

    assert [message["Body"] for message in desk.take("q.fifo")] == [str(one) for one in range(10)]


def test_standard_queue_gets_messages_of_a_fifo_topic_without_a_group(desk: Any) -> None:
    topic = desk.topic("t.fifo", ContentBasedDeduplication="true")
    desk.subscribe(topic, desk.queue())

    desk.sns.publish(TopicArn=topic, Message="m", MessageGroupId="g")

    (message,) = desk.take()
    assert "MessageGroupId" not in message["Attributes"]


def test_fifo_message_needs_a_group_and_something_to_tell_it_apart(desk: Any, refused: Any) -> None:
    topic = desk.topic("t.fifo")

    assert refused(desk.sns.publish, TopicArn=topic, Message="m")[1] == (
        "Invalid parameter: The MessageGroupId parameter is required for FIFO topics"
    )
    assert refused(desk.sns.publish, TopicArn=topic, Message="m", MessageGroupId="g")[1] == (
        "Invalid parameter: The topic should either have ContentBasedDeduplication enabled or "
        "MessageDeduplicationId provided explicitly"
    )
