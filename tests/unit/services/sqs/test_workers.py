"""Upkeep: once an hour, expired messages and old attempts are forgotten."""

from __future__ import annotations

import pytest

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.services.sqs.workers import RETENTION
from redrive.store.tables.attempts import AttemptRecord
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


@pytest.mark.parametrize(("age_ms", "left"), [(14 * DAY_MS, 1), (14 * DAY_MS + 1, 0)])
def test_sweep_forgets_attempts_older_than_fourteen_days(world, queue, age_ms, left):
    ended_at = START + HOUR_MS - age_ms
    record = AttemptRecord("d", "arn", 1, ended_at, "", "", "delivered", None)
    world.store.run(lambda tx: tx.attempts.record(record))

    world.advance(hours=1)

    assert len(world.store.run(lambda tx: tx.attempts.of_delivery("d"))) == left
