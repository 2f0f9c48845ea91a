"""Upkeep: once an hour, expired messages are forgotten."""

from __future__ import annotations

from redrive.core.clock import HOUR_MS
from redrive.services.sqs.workers import RETENTION
from redrive.testing.world import START, World


def stored(world: World) -> int:
    count: int = world.store.connection.execute("SELECT count(*) FROM messages").fetchone()[0]
    return count


def test_first_queue_begins_the_hourly_sweep(world, call):
    assert world.store.run(lambda tx: tx.timers.next(RETENTION)) is None

    call("CreateQueue", QueueName="a")
    world.advance(minutes=10)
    call("CreateQueue", QueueName="b")

    assert world.store.run(lambda tx: tx.timers.next(RETENTION)) == START + HOUR_MS


def test_sweep_forgets_what_has_expired_and_keeps_the_rest(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="kept")
    brief = call("CreateQueue", QueueName="brief", Attributes={"MessageRetentionPeriod": "60"})["QueueUrl"]
    call("SendMessage", QueueUrl=brief, MessageBody="expired")

    world.advance(hours=1)

    assert stored(world) == 1
    assert call("ReceiveMessage", QueueUrl=queue)["Messages"][0]["Body"] == "kept"


def test_sweep_comes_again_every_hour(world, queue):
    world.advance(hours=3)

    assert world.store.run(lambda tx: tx.timers.next(RETENTION)) == START + 4 * HOUR_MS
