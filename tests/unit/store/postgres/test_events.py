"""PutEvents and the deliveries of events run beside other steps: none of them needs the store for itself."""

from __future__ import annotations

import json
import select
from collections.abc import Iterator, Sequence
from functools import partial
from typing import cast

import pytest

from redrive.delivery.worker import FreeSlots
from redrive.services.events.limits import AT_ONCE_MAX
from redrive.store.api import Step
from redrive.store.postgres.lane import POSTPONED, Batch
from tests.support.postgresql import database
from tests.support.stores import PostgresWorld, WorldStore

QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
ENTRY = {"Source": "shop", "DetailType": "Order", "Detail": "{}"}


@pytest.fixture
def node(postgresql_url: str) -> Iterator[PostgresWorld]:
    """A node with a rule whose target is a queue."""
    allowed = {
        "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": QUEUE,
    }  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    with database(postgresql_url) as url:
        world = PostgresWorld(url)
        world.call("sqs", "CreateQueue", QueueName="q", Attributes={"Policy": policy})
        world.call("events", "PutRule", Name="r", EventPattern='{"source": ["shop"]}')
        world.call("events", "PutTargets", Rule="r", Targets=[{"Id": "1", "Arn": QUEUE}])
        world.calls("events", "PutEvents", [{"Entries": [ENTRY]}])
        yield world
        world.close()


def test_putting_events_into_a_queue_needs_no_step_alone(node: PostgresWorld) -> None:
    put = partial(
        node.engine.registry.begin, caller=node.caller(), service="events", operation="PutEvents",
        params={"Entries": [ENTRY] * 10},
    )  # fmt: skip

    batch = ran(node, [put] * 8)

    assert not batch.is_alone
    assert [type(result) for result in batch.results] == [dict] * 8
    assert visible(node) == "81"


def test_delivering_what_was_promised_needs_no_step_alone(node: PostgresWorld) -> None:
    """A call delivers its first hundred itself, and the worker delivers the others."""
    for number in range(AT_ONCE_MAX // 10):
        node.call("events", "PutRule", Name=f"r{number}", EventPattern='{"source": ["shop"]}')
        node.call("events", "PutTargets", Rule=f"r{number}", Targets=[{"Id": "1", "Arn": QUEUE}])
    node.calls("events", "PutEvents", [{"Entries": [ENTRY] * 10}])
    before = visible(node)

    batch = ran(node, [partial(node.engine.claim_in, free=FreeSlots(1))])

    assert not batch.is_alone
    assert (before, visible(node)) == ("101", "111")


def ran(node: PostgresWorld, steps: Sequence[Step[object]]) -> Batch:
    """Run a batch of steps beside other batches, to its end."""
    lane = cast(WorldStore, node.store).lane()
    ended: list[object] = []
    batch = Batch(steps, False, lambda results, topics: ended.append(results))
    lane.start(batch)
    while not ended:
        lane.pipeline.write()
        select.select([lane.pipeline.socket], [], [], 0.1)
        lane.go_on()
    lane.pipeline.close()
    assert POSTPONED not in batch.results
    return batch


def visible(node: PostgresWorld) -> str:
    """How many messages wait in the queue."""
    names = ["ApproximateNumberOfMessages"]
    url = node.call("sqs", "GetQueueUrl", QueueName="q")["QueueUrl"]
    return str(node.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=names)["Attributes"][names[0]])
