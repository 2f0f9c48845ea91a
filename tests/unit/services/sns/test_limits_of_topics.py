"""What a topic does not take, what an endpoint does not get at once, and confirmations that never come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.clock import HOUR_MS, SECOND_MS
from redrive.core.errors import ServiceError
from redrive.delivery.history.runs import run_of
from redrive.services.sns import limits, rates
from redrive.services.sns.model.message import Draft
from redrive.services.sns.model.topic import Topic
from redrive.store.api import Transaction
from tests.unit.services.events.http_server import Answer, LocalServer
from tests.unit.services.sns.test_http import confirmed
from tests.unit.services.sns.test_replay import ARCHIVE, replay


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as started:
        yield started


def tries_of(desk: Any, message_id: str, subscription: str) -> list[int]:
    """When a message was tried, in milliseconds since the first try."""

    def ended(tx: Transaction) -> list[int]:
        run = run_of(tx, f"{message_id}/{subscription.rpartition(':')[2]}")
        assert run is not None
        return [record.ended_at for record in run.records]

    found = desk.world.store.run(ended)
    return [at - found[0] for at in found]


def test_endpoint_that_fails_for_hours_is_tried_at_the_exact_instants_of_each_phase(
    desk: Any, server: LocalServer
) -> None:
    healthy = {
        "minDelayTarget": 60, "maxDelayTarget": 3_600, "numRetries": 12, "numNoDelayRetries": 1,
        "numMinDelayRetries": 2, "numMaxDelayRetries": 6, "backoffFunction": "linear",
    }  # fmt: skip
    topic = desk.topic()
    arn = confirmed(desk, server, topic, DeliveryPolicy=json.dumps({"healthyRetryPolicy": healthy}))
    server.always = Answer(500)

    message_id = desk.sns.publish(TopicArn=topic, Message="m")["MessageId"]
    desk.world.advance(hours=9)

    waits = [0, 60, 60, 60, 1_830, 3_600, *[3_600] * 6]
    assert tries_of(desk, message_id, arn) == [sum(waits[:number]) * SECOND_MS for number in range(len(waits) + 1)]
    assert len(server.requests) == 13
    assert desk.counted("NumberOfNotificationsFailed") == 1
    assert sum(waits) * SECOND_MS < 9 * HOUR_MS


def test_endpoint_that_recovers_after_hours_gets_the_message_once(desk: Any, server: LocalServer) -> None:
    healthy = {"minDelayTarget": 3_600, "maxDelayTarget": 3_600, "numRetries": 5}
    topic = desk.topic()
    confirmed(desk, server, topic, DeliveryPolicy=json.dumps({"healthyRetryPolicy": healthy}))
    server.answers = [Answer(500), Answer(503), Answer(429)]

    desk.sns.publish(TopicArn=topic, Message="m")
    desk.world.advance(hours=9)

    assert len(server.requests) == 4
    assert desk.counted("NumberOfNotificationsDelivered") == 1


def test_throttled_endpoint_gets_its_messages_evenly(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    policy = json.dumps({"throttlePolicy": {"maxReceivesPerSecond": 1}})
    confirmed(desk, server, topic, DeliveryPolicy=policy)

    for _ in range(5):
        desk.sns.publish(TopicArn=topic, Message="m")
    came = []
    for _ in range(5):
        desk.world.settle()
        came.append(len(server.requests))
        desk.world.advance(seconds=1)

    assert came == [1, 2, 3, 4, 5]


def test_throttle_of_a_topic_counts_for_each_subscription_by_itself(desk: Any, server: LocalServer) -> None:
    policy = {"http": {"defaultThrottlePolicy": {"maxReceivesPerSecond": 1}}}
    topic = desk.topic(DeliveryPolicy=json.dumps(policy))
    confirmed(desk, server, topic)
    with LocalServer() as other:
        confirmed(desk, other, topic)
        for _ in range(2):
            desk.sns.publish(TopicArn=topic, Message="m")
        desk.world.settle()

        assert (len(server.requests), len(other.requests)) == (1, 1)


@pytest.mark.parametrize("value", [0, -1, True, "2", 1.5])
def test_throttle_has_to_be_a_whole_number(desk: Any, refused: Any, value: object) -> None:
    topic = desk.topic()
    policy = json.dumps({"throttlePolicy": {"maxReceivesPerSecond": value}})

    code, message = refused(
        desk.sns.subscribe, TopicArn=topic, Protocol="http", Endpoint="http://localhost:1/",
        Attributes={"DeliveryPolicy": policy},
    )  # fmt: skip

    assert code == "InvalidParameter"
    assert "maxReceivesPerSecond" in message


@pytest.mark.parametrize(
    ("scope", "size", "taken"), [("Topic", 1, 3_000), ("Topic", 200_000, 100), ("MessageGroup", 1, 300)]
)
def test_fifo_topic_takes_so_much_in_a_second(desk: Any, scope: str, size: int, taken: int) -> None:
    arn = desk.topic("t.fifo", FifoThroughputScope=scope)
    draft = Draft("x", size, group="g", dedup="d")

    def take(tx: Transaction, count: int) -> None:
        topic = tx.resources.get(Topic, Topic("", "", arn, 0).scope, "t.fifo")
        assert topic is not None
        rates.take_rate(tx, topic, [draft] * count)

    desk.world.store.run(lambda tx: take(tx, taken))
    with pytest.raises(ServiceError, match="Rate exceeded"):
        desk.world.store.run(lambda tx: take(tx, 1))
    desk.world.advance(seconds=1)
    desk.world.store.run(lambda tx: take(tx, taken))


def test_virtual_time_limits_no_rate(desk: Any) -> None:
    topic = desk.topic("t.fifo", FifoThroughputScope="MessageGroup", ContentBasedDeduplication="true")

    for number in range(limits.FIFO_GROUP_MESSAGES_PER_S + 1):
        desk.sns.publish(TopicArn=topic, Message=str(number), MessageGroupId="g")

    assert desk.counted("NumberOfMessagesPublished", "t.fifo") == 301


def test_topic_whose_key_cannot_be_used_takes_no_message(desk: Any, refused: Any) -> None:
    kms = desk.world.client("kms")
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    topic = desk.topic(KmsMasterKeyId=key)
    desk.subscribe(topic, desk.queue())
    desk.sns.publish(TopicArn=topic, Message="open")

    kms.disable_key(KeyId=key)
    disabled = refused(desk.sns.publish, TopicArn=topic, Message="m")
    entries = [{"Id": "1", "Message": "m"}]
    batch = refused(desk.sns.publish_batch, TopicArn=topic, PublishBatchRequestEntries=entries)
    kms.schedule_key_deletion(KeyId=key)
    deleted = refused(desk.sns.publish, TopicArn=topic, Message="m")
    desk.sns.set_topic_attributes(TopicArn=topic, AttributeName="KmsMasterKeyId", AttributeValue="alias/missing")
    missing = refused(desk.sns.publish, TopicArn=topic, Message="m")

    assert [code for code, _ in (disabled, batch, deleted, missing)] == [
        "KMSDisabled", "KMSDisabled", "KMSInvalidState", "KMSNotFound"
    ]  # fmt: skip
    assert "Error Code: DisabledException" in disabled[1]
    assert desk.texts() == ["open"]


def test_key_of_sns_itself_serves_the_account(desk: Any) -> None:
    topic = desk.topic(KmsMasterKeyId="alias/aws/sns")
    desk.subscribe(topic, desk.queue())

    desk.sns.publish(TopicArn=topic, Message="m")

    assert desk.texts() == ["m"]


def test_subscription_that_is_never_confirmed_is_deleted_after_two_days(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    desk.subscribe(topic, f"{server.url}/hook", "http")
    desk.subscribe(topic, "ann@example.com", "email")
    desk.world.advance(days=1, hours=23)
    assert len(desk.sns.list_subscriptions()["Subscriptions"]) == 2

    desk.world.advance(hours=2)

    assert desk.sns.list_subscriptions()["Subscriptions"] == []


def test_confirmed_subscription_outlives_its_token(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    confirmed(desk, server, topic)

    desk.world.advance(days=3)
    desk.sns.publish(TopicArn=topic, Message="m")
    desk.world.settle()

    assert len(server.requests) == 1


def test_subscription_that_is_asked_again_lives_as_long_as_its_latest_token(desk: Any, server: LocalServer) -> None:
    topic = desk.topic()
    desk.subscribe(topic, f"{server.url}/hook", "http")
    desk.world.advance(days=1)
    desk.subscribe(topic, f"{server.url}/hook", "http")

    desk.world.advance(days=1, hours=12)

    assert len(desk.sns.list_subscriptions()["Subscriptions"]) == 1


def test_replay_with_an_end_is_followed_by_nothing_until_its_policy_is_removed(desk: Any) -> None:
    topic = desk.topic("t.fifo", ContentBasedDeduplication="true", ArchivePolicy=ARCHIVE)
    desk.sns.publish(TopicArn=topic, Message="archived", MessageGroupId="g")
    desk.world.advance(minutes=1)
    arn = desk.subscribe(topic, desk.queue("q.fifo"), ReplayPolicy=replay(EndingPoint="2025-01-01T00:00:30Z"))
    desk.world.advance(minutes=1)

    desk.sns.publish(TopicArn=topic, Message="not delivered", MessageGroupId="g")
    desk.sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName="ReplayPolicy", AttributeValue="")
    desk.sns.publish(TopicArn=topic, Message="new", MessageGroupId="g")
    desk.world.settle()

    assert [one["Message"] for one in desk.received("q.fifo")] == ["archived", "new"]


def test_fifo_topics_have_a_quota_of_their_own(desk: Any, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FIFO_TOPICS_MAX", 2)
    for name in ("a.fifo", "b.fifo"):
        desk.topic(name)

    assert refused(desk.sns.create_topic, Name="c.fifo", Attributes={"FifoTopic": "true"})[0] == "TopicLimitExceeded"
    desk.topic("standard")
