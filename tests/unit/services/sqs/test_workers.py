"""Upkeep: what has expired is forgotten within the hour, and a store in which nothing ages is left alone."""

from __future__ import annotations

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.services.sqs.retention import RETENTION
from redrive.testing.world import START, World


def stored(world: World) -> int:
    return len(world.store.rows(["messages"])[0])


def next_sweep(world: World) -> int | None:
    return world.store.run(lambda tx: tx.timers.next(RETENTION))


def test_queue_without_messages_is_not_swept_again(world, queue):
    world.advance(hours=3)

    assert next_sweep(world) is None


def test_sweep_forgets_what_has_expired_and_keeps_the_rest(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="kept")
    brief = call("CreateQueue", QueueName="brief", Attributes={"MessageRetentionPeriod": "60"})["QueueUrl"]
    call("SendMessage", QueueUrl=brief, MessageBody="expired")

    world.advance(hours=1)

    assert stored(world) == 1
    assert call("ReceiveMessage", QueueUrl=queue)["Messages"][0]["Body"] == "kept"


def test_next_sweep_is_when_the_next_message_has_expired(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="kept for four days")

    world.advance(hours=1)

    assert next_sweep(world) == START + 4 * DAY_MS + HOUR_MS


def test_message_that_expires_sooner_hastens_the_sweep(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="kept for four days")
    world.advance(hours=1)
    brief = call("CreateQueue", QueueName="brief", Attributes={"MessageRetentionPeriod": "60"})["QueueUrl"]

    call("SendMessage", QueueUrl=brief, MessageBody="expired")

    assert next_sweep(world) == START + 2 * HOUR_MS


def test_retention_that_was_shortened_hastens_the_sweep(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="m")
    world.advance(hours=1)

    call("SetQueueAttributes", QueueUrl=queue, Attributes={"MessageRetentionPeriod": "60"})
    world.advance(hours=1)

    assert (stored(world), next_sweep(world)) == (0, None)


def test_dead_letter_whose_time_is_over_is_forgotten_within_the_hour(world, call, queue):
    """It keeps its first time of sending, which the dead-letter queue's shorter retention counts from."""
    world.call("sqs", "CreateQueue", QueueName="dead", Attributes={"MessageRetentionPeriod": "7200"})
    policy = '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1}'
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"})
    call("SendMessage", QueueUrl=queue, MessageBody="m")
    world.advance(hours=1)
    call("ReceiveMessage", QueueUrl=queue)

    call("ReceiveMessage", QueueUrl=queue)
    world.advance(hours=2)

    assert (stored(world), next_sweep(world)) == (0, None)


def test_sends_that_a_fifo_queue_remembers_are_forgotten_within_the_hour(world, call):
    url = call("CreateQueue", QueueName="a.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    call("SendMessage", QueueUrl=url, MessageBody="m", MessageGroupId="g", MessageDeduplicationId="d")

    world.advance(hours=1)

    assert world.store.rows(["dedup_sends"]) == [[]]
    assert next_sweep(world) == START + 4 * DAY_MS + HOUR_MS
