"""Schedules by the CPU of their engine, in process and in memory: no HTTP, no disk."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

from benchmarks.report import Figure
from benchmarks.travel import MAY_SEND, ROLE, TRUST
from redrive.core.limits import Limits
from redrive.delivery.faults import Fault, add_fault
from redrive.engine.settings import Settings
from redrive.store.api import Transaction
from redrive.testing.world import World

CREATED = 20_000
FAILING = 100
ATTEMPTS = 186
PER_TRANSACTION = 100
QUEUES = "arn:aws:sqs:us-east-1:000000000000"


def measure() -> Iterator[Figure]:
    """Making schedules, firing them all in one second, and failing some through a whole day of retries."""
    world = _world()
    yield Figure("CreateSchedule", CREATED / _cpu_s(lambda: _make(world, CREATED)), "per CPU second")
    fired_s = _cpu_s(lambda: world.advance(hours=1))
    assert _messages(world, "bench") == CREATED
    yield Figure(f"{CREATED:,} schedules due in the same second, into a queue", CREATED / fired_s, "per CPU second")
    world.close()
    yield from _failing()


def _failing() -> Iterator[Figure]:
    """Two worlds of the same seed, so that it shows if they differ."""
    world, again = _world(), _world()
    for one in (world, again):
        _make(one, FAILING)
        one.store.run(lambda tx: add_fault(tx, Fault("", f"{QUEUES}:bench", "ThrottlingException", rate=1.0)))
    failing_s = _cpu_s(lambda: world.advance(hours=26))
    again.advance(hours=26)
    assert _messages(world, "dead") == FAILING
    assert _history(world) == _history(again), "the same seed must have the same history"
    attempts = FAILING * ATTEMPTS
    yield Figure(f"{attempts:,} failing attempts over a day", attempts / failing_s, "per CPU second")
    world.close()
    again.close()


def _world() -> World:
    world = World(seed=1, settings=Settings(limits=Limits.RELAXED))
    world.call("iam", "CreateRole", RoleName="bench", AssumeRolePolicyDocument=json.dumps(TRUST))
    world.call("iam", "PutRolePolicy", RoleName="bench", PolicyName="send", PolicyDocument=json.dumps(MAY_SEND))
    for queue in ("bench", "dead"):
        world.call("sqs", "CreateQueue", QueueName=queue)
    return world


def _make(world: World, count: int) -> None:
    """One-time schedules an hour from now, many in a transaction, as under load."""
    caller = world.caller()

    def create(first: int) -> Callable[[Transaction], None]:
        def step(tx: Transaction) -> None:
            for number in range(first, first + PER_TRANSACTION):
                world.engine.registry.begin(tx, caller, "scheduler", "CreateSchedule", _params(number))

        return step

    for first in range(0, count, PER_TRANSACTION):
        world.store.run(create(first))


def _params(number: int) -> dict[str, object]:
    return {
        "Name": f"bench-{number}",
        "ScheduleExpression": "at(2025-01-01T01:00:00)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {
            "Arn": f"{QUEUES}:bench", "RoleArn": ROLE, "Input": '{"id": "<aws.scheduler.execution-id>"}',
            "DeadLetterConfig": {"Arn": f"{QUEUES}:dead"},
        },
    }  # fmt: skip


def _messages(world: World, queue: str) -> int:
    url = world.call("sqs", "GetQueueUrl", QueueName=queue)["QueueUrl"]
    names = ["ApproximateNumberOfMessages"]
    counted = world.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=names)
    return int(counted["Attributes"]["ApproximateNumberOfMessages"])


def _history(world: World) -> object:
    """When each attempt ended, and what was to follow."""
    arns = [f"arn:aws:scheduler:us-east-1:000000000000:schedule/default/bench-{number}" for number in range(FAILING)]
    return world.store.run(lambda tx: [tx.attempts.of_source(arn) for arn in arns])


def _cpu_s(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before
