"""Retries: the phases of each protocol, exact in virtual time, and what happens after the last try."""

from __future__ import annotations

import json
from typing import Any

from redrive.core.clock import DAY_MS
from redrive.core.retry import Failed, FailureKind, GiveUp, RetryAt, decide
from redrive.delivery.faults import Fault, add_fault, clear_faults
from redrive.services.sns.model.delivery_policy import CUSTOMER_POLICY, INSIDE_POLICY, http_policy

FAILED = Failed("InternalError", "", FailureKind.TRANSIENT)
QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"


def waits_of(policy: Any, count: int) -> list[int]:
    """The waits after the first failures, in milliseconds."""
    return [policy.backoff.wait_ms(number, 1.0) for number in range(1, count + 1)]


def test_queues_and_functions_have_100015_tries_in_four_phases() -> None:
    assert INSIDE_POLICY.retries_max + 1 == 3 + 2 + 10 + 100_000
    waits = waits_of(INSIDE_POLICY, 16)
    assert waits[:4] == [0, 0, 1_000, 1_000]
    assert (waits[4], waits[13]) == (1_000, 20_000)
    assert waits[4:14] == sorted(waits[4:14])
    assert waits[14:] == [20_000, 20_000]
    tries: Any = {
        "failures": INSIDE_POLICY.retries_max,
        "attempts": 100_015,
        "first_at": 0,
        "outcome": FAILED,
        "spread": 0.0,
    }
    assert isinstance(decide(INSIDE_POLICY, now=24 * DAY_MS, **tries), GiveUp)
    last: Any = {
        "failures": INSIDE_POLICY.retries_max - 1,
        "attempts": 100_014,
        "first_at": 0,
        "outcome": FAILED,
        "spread": 0.0,
    }
    assert isinstance(decide(INSIDE_POLICY, now=23 * DAY_MS, **last), RetryAt)
    assert 23 * DAY_MS < sum(waits[:14]) + 100_000 * 20_000 < 24 * DAY_MS


def test_mail_and_phones_have_50_retries_over_6_hours() -> None:
    waits = waits_of(CUSTOMER_POLICY, 50)

    assert CUSTOMER_POLICY.retries_max == 50
    assert (waits[:3], waits[11:]) == ([10_000, 10_000, 10_000], [600_000] * 39)


def test_http_endpoints_have_three_retries_20_seconds_apart_by_default() -> None:
    policy = http_policy("", "")

    assert (policy.retries_max, waits_of(policy, 3)) == (3, [20_000, 20_000, 20_000])


def test_phases_of_an_http_policy_follow_each_other() -> None:
    healthy = {
        "minDelayTarget": 10, "maxDelayTarget": 40, "numRetries": 10, "numNoDelayRetries": 2, "numMinDelayRetries": 2,
        "numMaxDelayRetries": 2, "backoffFunction": "linear",
    }  # fmt: skip

    waits = waits_of(http_policy("", json.dumps({"healthyRetryPolicy": healthy})), 10)

    assert waits == [0, 0, 10_000, 10_000, 10_000, 20_000, 30_000, 40_000, 40_000, 40_000]


def test_policy_of_a_topic_can_override_that_of_its_subscriptions() -> None:
    own = json.dumps({"healthyRetryPolicy": {"numRetries": 7}})
    topic = {"defaultHealthyRetryPolicy": {"numRetries": 1}, "disableSubscriptionOverrides": True}

    assert http_policy(json.dumps({"http": topic}), own).retries_max == 1
    assert http_policy(json.dumps({"http": {**topic, "disableSubscriptionOverrides": False}}), own).retries_max == 7


def test_queue_that_fails_gets_the_message_at_the_exact_end_of_a_phase(desk: Any) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue())
    desk.world.store.run(lambda tx: add_fault(tx, Fault("f", QUEUE, "InternalError", times=4)))

    desk.sns.publish(TopicArn=topic, Message="m")
    desk.world.advance(seconds=1)
    assert desk.take() == []
    desk.world.advance(seconds=1)

    assert desk.texts() == ["m"]


def test_group_of_a_fifo_topic_waits_for_its_first_message(desk: Any) -> None:
    topic = desk.topic("t.fifo", ContentBasedDeduplication="true")
    desk.subscribe(topic, desk.queue("q.fifo"), RawMessageDelivery="true")
    desk.world.store.run(lambda tx: add_fault(tx, Fault("f", f"{QUEUE}.fifo", "InternalError")))
    desk.sns.publish(TopicArn=topic, Message="first", MessageGroupId="g")
    desk.world.advance(seconds=5)
    desk.world.store.run(clear_faults)

    desk.sns.publish(TopicArn=topic, Message="second", MessageGroupId="g")
    desk.sns.publish(TopicArn=topic, Message="other", MessageGroupId="h")
    assert [message["Body"] for message in desk.take("q.fifo")] == ["other"]
    desk.world.advance(seconds=60)

    assert [message["Body"] for message in desk.take("q.fifo")] == ["first", "second"]


def test_rest_of_a_group_follows_at_once_when_its_first_message_is_delivered(desk: Any) -> None:
    """The queue fails three times: the tries are at 0, 0, 0 and 1 s. Nobody waits for a turn of their own."""
    topic = desk.topic("t.fifo", ContentBasedDeduplication="true")
    desk.subscribe(topic, desk.queue("q.fifo"), RawMessageDelivery="true")
    desk.world.store.run(lambda tx: add_fault(tx, Fault("f", f"{QUEUE}.fifo", "InternalError", times=3)))
    for number in range(30):
        desk.sns.publish(TopicArn=topic, Message=f"{number:02}", MessageGroupId="g")

    desk.world.settle()
    before = desk.take("q.fifo")
    desk.world.advance(seconds=1)

    assert before == []
    assert [message["Body"] for message in desk.take("q.fifo")] == [f"{number:02}" for number in range(30)]
