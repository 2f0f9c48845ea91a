"""Archive and replay of FIFO topics."""

from __future__ import annotations

import json
from typing import Any

ARCHIVE = json.dumps({"MessageRetentionPeriod": "30"})


def replay(start: str = "2025-01-01T00:00:00Z", **more: str) -> str:
    return json.dumps({"PointType": "Timestamp", "StartingPoint": start, **more})


def test_new_subscription_gets_archived_messages_in_order_and_then_new_ones(desk: Any) -> None:
    topic = desk.topic("t.fifo", ContentBasedDeduplication="true", ArchivePolicy=ARCHIVE)
    for number in range(250):
        desk.sns.publish(TopicArn=topic, Message=str(number), MessageGroupId="g")
    desk.world.advance(minutes=1)

    arn = desk.subscribe(topic, desk.queue("q.fifo"), ReplayPolicy=replay())
    desk.world.advance(minutes=10)
    desk.sns.publish(TopicArn=topic, Message="new", MessageGroupId="g")

    envelopes = desk.received("q.fifo")
    assert [one["Message"] for one in envelopes] == [*map(str, range(250)), "new"]
    assert [one.get("Replayed") for one in (envelopes[0], envelopes[-1])] == ["true", None]
    assert desk.sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]["ReplayStatus"] == "Completed"


def test_replay_has_a_beginning_and_an_end_and_passes_the_filter(desk: Any) -> None:
    topic = desk.topic("t.fifo", ContentBasedDeduplication="true", ArchivePolicy=ARCHIVE)
    kind = {"kind": {"DataType": "String", "StringValue": "a"}}
    for message in ("early", "wanted", "late"):
        desk.sns.publish(TopicArn=topic, Message=message, MessageGroupId="g", MessageAttributes=kind)
        desk.sns.publish(TopicArn=topic, Message=f"{message} filtered", MessageGroupId="g")
        desk.world.advance(minutes=1)

    window = replay("2025-01-01T00:00:30Z", EndingPoint="2025-01-01T00:01:30Z")
    desk.subscribe(topic, desk.queue("q.fifo"), ReplayPolicy=window, FilterPolicy='{"kind":["a"]}')
    desk.world.advance(minutes=1)

    assert desk.texts("q.fifo") == ["wanted"]


def test_topic_with_an_archive_is_not_deleted_and_tells_when_the_archive_began(desk: Any, refused: Any) -> None:
    topic = desk.topic("t.fifo", ArchivePolicy=ARCHIVE)

    assert refused(desk.sns.delete_topic, TopicArn=topic)[0] == "InvalidState"
    shown = desk.sns.get_topic_attributes(TopicArn=topic)["Attributes"]
    assert shown["BeginningArchiveTime"] == "2025-01-01T00:00:00Z"
    desk.sns.set_topic_attributes(TopicArn=topic, AttributeName="ArchivePolicy", AttributeValue="{}")
    desk.sns.delete_topic(TopicArn=topic)


def test_archived_messages_are_forgotten_after_their_retention(desk: Any) -> None:
    topic = desk.topic(
        "t.fifo", ContentBasedDeduplication="true", ArchivePolicy=json.dumps({"MessageRetentionPeriod": "1"})
    )
    desk.sns.publish(TopicArn=topic, Message="m", MessageGroupId="g")
    desk.world.advance(days=2)

    desk.subscribe(topic, desk.queue("q.fifo"), ReplayPolicy=replay())
    desk.world.advance(minutes=1)

    assert desk.texts("q.fifo") == []
