"""The quota of invocations of an account in a region: what is beyond it is delayed, and none is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.clock import parse_instant
from redrive.core.limits import Limits
from redrive.engine.settings import Settings
from redrive.testing.world import World

REGION = "me-south-1"
"""A region with the smallest quota: 750 invocations per second."""
RULES, TARGETS = 40, 5
ARN = f"arn:aws:sqs:{REGION}:000000000000:q"
ENTRY = {"Source": "shop", "DetailType": "Order", "Detail": "{}"}


class Desk:
    """A bus whose 40 rules send each event to 5 targets each: 200 invocations, all into one queue."""

    def __init__(self, limits: Limits = Limits.STRICT, *, rules: int = RULES) -> None:
        start = parse_instant("2025-01-01T00:00:00Z")
        self.world = World(seed=1, start=start, region=REGION, settings=Settings(limits=limits))
        self.events: Any = self.world.client("events")
        self.sqs: Any = self.world.client("sqs")
        allowed = {
            "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage",
            "Resource": ARN,
        }  # fmt: skip
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        self.url = self.sqs.create_queue(QueueName="q", Attributes={"Policy": policy})["QueueUrl"]
        for number in range(rules):
            self.events.put_rule(Name=f"r{number}", EventPattern='{"source": ["shop"]}')
            targets = [{"Id": str(target), "Arn": ARN} for target in range(TARGETS)]
            self.events.put_targets(Rule=f"r{number}", Targets=targets)

    def put(self, events: int) -> None:
        self.events.put_events(Entries=[ENTRY] * events)

    def delivered(self) -> int:
        """How many messages the queue has."""
        self.world.settle()
        name = "ApproximateNumberOfMessages"
        found = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=[name])["Attributes"]
        return int(found[name])

    def throttled(self, **dimensions: str) -> float:
        """The sum of ThrottledRules."""
        found: Any = self.world.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/Events", MetricName="ThrottledRules", StartTime="2025-01-01T00:00:00Z",
            EndTime="2025-01-02T00:00:00Z", Period=86_400, Statistics=["Sum"],
            Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        )["Datapoints"]  # fmt: skip
        return float(sum(point["Sum"] for point in found))


def test_invocations_beyond_the_quota_are_delayed_and_none_is_lost() -> None:
    """1,000 invocations: 750 at once, then one every four thirds of a millisecond."""
    desk = Desk()

    desk.put(5)
    at_once = desk.delivered()
    desk.world.advance(seconds=0.1)
    after_a_while = desk.delivered()
    desk.world.advance(seconds=1)

    assert (at_once, after_a_while, desk.delivered()) == (750, 825, 1_000)


def test_calls_share_the_quota_and_it_fills_again() -> None:
    desk = Desk()

    for _ in range(4):
        desk.put(1)
    first = desk.delivered()
    desk.world.advance(seconds=1)
    second = desk.delivered()
    desk.put(3)
    third = desk.delivered()

    assert (first, second, third) == (750, 800, 1_400)


def test_throttled_invocations_are_counted_by_rule_and_account() -> None:
    desk = Desk()

    desk.put(4)
    desk.world.advance(minutes=2)

    assert desk.throttled() == 50
    assert desk.throttled(RuleName="r9") == 5


def test_delayed_invocation_counts_its_wait_as_latency() -> None:
    desk = Desk()

    desk.put(4)
    desk.world.advance(minutes=2)
    found: Any = desk.world.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/Events", MetricName="IngestionToInvocationStartLatency", StartTime="2025-01-01T00:00:00Z",
        EndTime="2025-01-02T00:00:00Z", Period=86_400, Statistics=["Maximum", "SampleCount"],
    )["Datapoints"]  # fmt: skip

    assert [(point["Maximum"], point["SampleCount"]) for point in found] == [(67.0, 800.0)]


def test_without_quotas_no_invocation_waits() -> None:
    desk = Desk(Limits.RELAXED)

    desk.put(5)

    assert desk.delivered() == 1_000


@pytest.mark.parametrize("is_refused", [True, False])
def test_call_that_is_rolled_back_uses_no_quota(is_refused: bool) -> None:
    desk = Desk()

    def fail(tx: Any) -> None:
        with tx.savepoint():
            tx.services.call(tx, desk.world.caller(), "events", "PutEvents", {"Entries": [ENTRY] * 3})
        if is_refused:
            raise ValueError("rolled back")

    if is_refused:
        with pytest.raises(ValueError, match="rolled back"):
            desk.world.engine.run(fail)
    else:
        desk.world.engine.run(fail)
    desk.put(3)

    assert desk.delivered() == (600 if is_refused else 750)


def test_quota_costs_no_statement() -> None:
    def statements(desk: Desk) -> int:
        seen: list[str] = []
        desk.put(1)
        desk.world.store.connection.set_trace_callback(seen.append)
        desk.put(10)
        desk.world.store.connection.set_trace_callback(None)
        return len(seen)

    assert statements(Desk(rules=1)) == statements(Desk(Limits.RELAXED, rules=1)) > 0
