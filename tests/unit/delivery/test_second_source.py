"""What a second source needs beside its own words: nothing that delivery does not have already."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.clock import MINUTE_MS
from redrive.core.log import SilentLog
from redrive.core.retry import Backoff, RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.deliver import DeliveryWorker
from redrive.delivery.faults import Fault, add_fault
from redrive.delivery.history.runs import Run, run_of
from redrive.engine.engine import Engine
from redrive.engine.virtual import VirtualTime
from redrive.store.tables.attempts import RunState
from redrive.store.tables.deliveries import INSIDE, Delivery
from redrive.testing.world import World
from tests.unit.delivery import rules

SCOPE = Scope("000000000000", "us-east-1")
RULE = "arn:aws:events:us-east-1:000000000000:rule/orders"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:"
POLICY = RetryPolicy(retries_max=2, backoff=Backoff(steps_ms=(MINUTE_MS,), jitter=0))
EVENT = {"detail": {"order": 7}}


class Bus:
    """A world whose engine delivers the events of rules."""

    def __init__(self) -> None:
        self.world = World(seed=1)
        for queue in ("orders", "dead"):
            self.world.call("sqs", "CreateQueue", QueueName=queue)
        self.role = self._role()
        workers = [DeliveryWorker([rules.Rules()], SilentLog())]
        store, made = self.world.store, self.world.engine
        self.time = VirtualTime(Engine(store.run, made.registry, workers, made.invoker, SilentLog()), self.world.clock)

    def _role(self) -> str:
        trust = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sts:AssumeRole"}
        allowed = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}
        documents = [json.dumps({"Version": "2012-10-17", "Statement": [one]}) for one in (trust, allowed)]
        self.world.call("iam", "CreateRole", RoleName="rule", AssumeRolePolicyDocument=documents[0])
        self.world.call("iam", "PutRolePolicy", RoleName="rule", PolicyName="allowed", PolicyDocument=documents[1])
        return "arn:aws:iam::000000000000:role/rule"

    def put_event(self, **more: Any) -> None:
        """Have an event that matched the rule delivered to the queue of orders."""
        target = {"Arn": f"{QUEUE}orders", "RoleArn": self.role, **more}
        delivery = Delivery(
            "event", SCOPE, "rules", RULE, target["Arn"], {"event": EVENT, "target": target}, POLICY, INSIDE,
            due_at=self.world.now, first_at=self.world.now,
        )  # fmt: skip
        self.world.store.run(lambda tx: tx.deliveries.put(delivery))

    def run(self) -> Run:
        """The history of the event."""
        found = self.world.store.run(lambda tx: run_of(tx, "event"))
        assert found is not None
        return found

    def take(self, queue: str) -> list[Any]:
        """The messages of a queue."""
        answer = self.world.call("sqs", "ReceiveMessage", QueueUrl=queue, MessageAttributeNames=["All"])
        return list(answer.get("Messages", []))


@pytest.fixture
def bus() -> Iterator[Bus]:
    bus = Bus()
    yield bus
    bus.world.close()


def test_event_of_a_rule_reaches_its_queue_under_its_role(bus: Bus) -> None:
    bus.put_event(Input="{}")

    bus.time.settle_due()

    assert [json.loads(message["Body"]) for message in bus.take("orders")] == [EVENT]
    assert bus.run().state is RunState.DELIVERED


def test_event_of_a_rule_is_retried_by_its_policy_and_then_dead_lettered(bus: Bus) -> None:
    bus.world.store.run(lambda tx: add_fault(tx, Fault("", f"{QUEUE}orders", "InternalError", "down")))
    bus.put_event(DeadLetterConfig={"Arn": f"{QUEUE}dead"})

    bus.time.advance_to(bus.world.now + 2 * MINUTE_MS)

    (letter,) = bus.take("dead")
    assert json.loads(letter["Body"]) == EVENT
    assert {name: value["StringValue"] for name, value in letter["MessageAttributes"].items()} == {
        "ERROR_CODE": "InternalError", "ERROR_MESSAGE": "down", "RETRY_ATTEMPTS": "2", "RULE_ARN": RULE,
        "TARGET_ARN": f"{QUEUE}orders",
    }  # fmt: skip
    assert [(one.attempt, one.verdict.partition(" ")[0]) for one in bus.run().records] == [
        (1, "retry"), (2, "retry"), (3, "dead-lettered"),
    ]  # fmt: skip


def test_letter_that_a_rule_cannot_write_is_dropped_and_says_why(bus: Bus) -> None:
    bus.put_event(Arn=f"{QUEUE}gone", DeadLetterConfig={"Arn": f"{QUEUE}gone-too"})

    bus.time.settle_due()

    assert bus.run().state is RunState.DROPPED
    assert bus.run().records[0].code == "AWS.SimpleQueueService.NonExistentQueue"


def test_second_source_is_small() -> None:
    """It writes nothing again of letters, targets, roles, error classes and history."""
    text = inspect.getsource(rules)
    first_at = next(node.lineno for node in ast.parse(text).body if isinstance(node, ast.Assign))

    assert len(text.splitlines()[first_at:]) < 60
