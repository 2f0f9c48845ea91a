"""Metrics of queues: counted in memory, written down once a minute, measured while there is something to see.

Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
"""

from __future__ import annotations

import json

import pytest

from redrive.core.clock import HOUR_MS, MINUTE_MS
from redrive.delivery.upkeep.metrics import MetricsWorker
from redrive.delivery.worker import FreeSlots
from redrive.services.sqs.model.metrics import metrics_of
from redrive.services.sqs.sampler import QueueSampler
from redrive.store.tables.metrics import DataPoint, Series
from redrive.testing.world import START, World

METRICS = metrics_of("arn:aws:sqs:us-east-1:000000000000:orders")


def points(world: World, series: Series) -> list[DataPoint]:
    return world.store.run(lambda tx: tx.metrics.between(series, START, START + 100 * HOUR_MS))


def sums(world: World, series: Series) -> list[float]:
    return [point.sum for point in points(world, series)]


def test_what_is_counted_is_written_down_at_the_end_of_its_minute(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="123")
    call("SendMessageBatch", QueueUrl=queue, Entries=[{"Id": i, "MessageBody": "12345"} for i in "ab"])
    world.advance(seconds=59.999)
    assert points(world, METRICS.sent) == []

    world.advance(seconds=0.001)

    assert points(world, METRICS.sent) == [DataPoint(START, 3, 3, 1, 1)]
    assert points(world, METRICS.sent_bytes) == [DataPoint(START, 13, 3, 3, 5)]


def test_receives_and_deletes_are_counted(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    (message,) = call("ReceiveMessage", QueueUrl=queue)["Messages"]
    call("ReceiveMessage", QueueUrl=queue)
    call("DeleteMessage", QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    world.advance(minutes=1)

    for series in (METRICS.received, METRICS.empty_receives, METRICS.deleted):
        assert sums(world, series) == [1]


def test_queue_is_measured_each_minute_while_it_has_messages(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    call("SendMessage", QueueUrl=queue, MessageBody="2", DelaySeconds=600)
    call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=90)

    world.advance(minutes=3)

    assert sums(world, METRICS.visible) == [0, 1, 1]
    assert sums(world, METRICS.in_flight) == [1, 0, 0]
    assert sums(world, METRICS.delayed) == [1, 1, 1]
    assert sums(world, METRICS.oldest_age_s) == [60, 120, 180]
    assert [point.minute for point in points(world, METRICS.visible)] == [START + n * MINUTE_MS for n in range(3)]


def test_empty_queue_is_not_measured_until_something_happens(world, call, queue):
    call("ReceiveMessage", QueueUrl=queue)
    world.advance(minutes=10)
    assert sums(world, METRICS.visible) == [0]

    call("SendMessage", QueueUrl=queue, MessageBody="1")
    world.advance(minutes=1)

    assert sums(world, METRICS.visible) == [0, 1]


def test_dead_letter_queue_is_measured_again_when_the_redrive_policy_moves_a_message_there(world, call):
    dead = metrics_of("arn:aws:sqs:us-east-1:000000000000:dead")
    call("CreateQueue", QueueName="dead")
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1})
    url = call("CreateQueue", QueueName="orders", Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"})
    world.advance(minutes=10)
    assert sums(world, dead.visible) == [0]

    call("SendMessage", QueueUrl=url["QueueUrl"], MessageBody="1")
    for _ in range(2):
        call("ReceiveMessage", QueueUrl=url["QueueUrl"])
    world.advance(minutes=2)

    assert sums(world, dead.visible) == [0, 1, 1]
    assert sums(world, dead.sent) == []


def test_queue_is_measured_for_six_hours_after_it_was_last_used(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")

    world.advance(hours=10)

    assert len(points(world, METRICS.visible)) == 6 * 60


def test_refused_operation_counts_nothing(world, call, refusal, fifo, queue):
    refusal("SendMessage", QueueUrl=queue, MessageBody="1", DelaySeconds=901)
    world.advance(minutes=1)

    assert points(world, METRICS.sent) == []


def test_nested_call_that_failed_counts_nothing(world, call, queue):
    def fail(tx) -> None:
        with tx.savepoint():
            tx.metrics.count(METRICS.sent, tx.now)
            raise ZeroDivisionError

    def step(tx) -> None:
        with pytest.raises(ZeroDivisionError):
            fail(tx)
        tx.metrics.count(METRICS.deleted, tx.now)

    world.store.run(step)
    world.advance(minutes=1)

    assert (sums(world, METRICS.sent), sums(world, METRICS.deleted)) == ([], [1])


def test_late_flush_adds_each_minute_to_its_own(world, call, queue):
    """A driver that slept writes down what happened when it happened."""
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    world.clock.move_to(START + 5 * MINUTE_MS)
    call("SendMessage", QueueUrl=queue, MessageBody="1")

    world.advance(minutes=1)

    assert [point.minute for point in points(world, METRICS.sent)] == [START, START + 5 * MINUTE_MS]


def test_second_engine_over_a_store_measures_nothing_twice(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    world.clock.move_to(START + MINUTE_MS)
    worker = MetricsWorker([QueueSampler()])

    world.store.run(lambda tx: worker.claim(tx, free=FreeSlots(1)))
    world.store.run(lambda tx: worker.claim(tx, free=FreeSlots(1)))

    assert sums(world, METRICS.visible) == [1]


def test_metrics_are_kept_for_455_days(world, call, queue):
    call("ReceiveMessage", QueueUrl=queue)
    world.advance(minutes=1)
    world.clock.move_to(START + 455 * 24 * HOUR_MS + MINUTE_MS)
    call("ReceiveMessage", QueueUrl=queue)

    world.advance(minutes=1)

    shown = world.store.run(lambda tx: tx.metrics.between(METRICS.empty_receives, 0, 2 * START))
    assert [point.minute for point in shown] == [START + 455 * 24 * HOUR_MS + MINUTE_MS]


def test_reset_forgets_what_was_counted(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    world.store.reset()

    world.advance(minutes=1)

    assert points(world, METRICS.sent) == []


def test_series_of_a_scope_are_known_by_name(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    world.advance(minutes=1)

    series = world.store.run(lambda tx: tx.metrics.series_of("000000000000/us-east-1"))

    assert METRICS.sent in series
    assert METRICS.oldest_age_s in series


def test_queue_that_was_only_created_is_measured(world, queue):
    world.advance(minutes=1)

    assert [sums(world, series) for series in (METRICS.visible, METRICS.in_flight, METRICS.delayed)] == [[0], [0], [0]]
    assert sums(world, METRICS.sent) == []
