"""Whatever is written in whatever Region: the replicas of a table have the same items, entries and changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.testing.world import World
from tests.support.postgresql import database
from tests.support.stores import PostgresWorld
from tests.unit.services.dynamodb.conftest import ORDERS
from tests.unit.services.dynamodb.test_stream_property import STEPS, replayed

REGIONS = ("us-east-1", "eu-west-1", "ap-south-1")
INDEX = {
    "IndexName": "by-until", "KeySchema": [{"AttributeName": "until", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}  # fmt: skip
UNTIL = {"AttributeName": "until", "AttributeType": "N"}
Step = tuple[str, dict[str, Any]]


def call(world: World, region: str, operation: str, service: str = "dynamodb", **params: Any) -> dict[str, Any]:
    return dict(world.engine.call(world.caller(region=region), service, operation, params))


def perform(world: World, region: str, step: Step) -> None:
    """Run a step in a Region. One that is refused writes nothing."""
    operation, params = step
    if operation == "advance":
        world.advance(**params)
        return
    params = {**params} if operation in ("BatchWriteItem", "TransactWriteItems") else {"TableName": "orders", **params}
    life_s = params.pop("life_s", None)
    if life_s is not None:
        params["Item"] = {**params["Item"], "until": {"N": str(world.now // 1_000 + life_s)}}
    with suppress(ServiceError):
        call(world, region, operation, **params)


def stored(world: World, region: str, **params: Any) -> dict[str, dict[str, Any]]:
    """The items of a replica, or the entries of its index, by their keys."""
    items = call(world, region, "Scan", TableName="orders", **params)["Items"]
    return {repr(sorted((name, item[name]) for name in ("customer", "order_no"))): item for item in items}


def records(world: World, region: str) -> list[dict[str, Any]]:
    """The records of a replica's stream: shard after shard, until a page is empty or the shard ends."""
    arn = call(world, region, "DescribeTable", TableName="orders")["Table"]["LatestStreamArn"]
    described = call(world, region, "DescribeStream", "dynamodbstreams", StreamArn=arn)
    found: list[dict[str, Any]] = []
    for shard in described["StreamDescription"]["Shards"]:
        place: dict[str, Any] = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        position = call(world, region, "GetShardIterator", "dynamodbstreams", **place)["ShardIterator"]
        while position is not None:
            page = call(world, region, "GetRecords", "dynamodbstreams", ShardIterator=position)
            found += page["Records"]
            position = page.get("NextShardIterator") if page["Records"] else None
    return found


def check(world: World, steps: list[tuple[str, Step]]) -> None:
    definitions = [*ORDERS["AttributeDefinitions"], UNTIL]
    table: dict[str, Any] = {**ORDERS, "AttributeDefinitions": definitions, "GlobalSecondaryIndexes": [INDEX]}
    call(world, REGIONS[0], "CreateTable", **table)
    call(
        world, REGIONS[0], "UpdateTimeToLive", TableName="orders",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"},
    )  # fmt: skip
    updates = [{"Create": {"RegionName": region}} for region in REGIONS[1:]]
    call(world, REGIONS[0], "UpdateTable", TableName="orders", ReplicaUpdates=updates)
    try:
        for region, step in steps:
            perform(world, region, step)
        tables = [stored(world, region) for region in REGIONS]
        entries = [stored(world, region, IndexName="by-until") for region in REGIONS]
        told = [replayed(records(world, region)) for region in REGIONS]
    finally:
        for region in reversed(REGIONS):
            call(world, region, "DeleteTable", TableName="orders")
    assert tables == [tables[0]] * len(REGIONS)
    assert entries == [{place: item for place, item in tables[0].items() if "until" in item}] * len(REGIONS)
    assert told == tables


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture(scope="module")
def shared_world(postgresql_url: str) -> Iterator[World]:
    """A world whose store is in PostgreSQL."""
    with database(postgresql_url) as url:
        world = PostgresWorld(url)
        yield world
        world.close()


WRITES = st.tuples(st.sampled_from(REGIONS), STEPS)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(WRITES, max_size=15))
def test_replicas_are_equal_after_all_writes(world: World, steps: list[tuple[str, Step]]) -> None:
    check(world, steps)


@settings(max_examples=8, deadline=None)
@given(steps=st.lists(WRITES, min_size=5, max_size=20))
def test_replicas_are_equal_after_all_writes_on_postgresql(
    shared_world: World, steps: list[tuple[str, Step]]
) -> None:  # fmt: skip
    check(shared_world, steps)
