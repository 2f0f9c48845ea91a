"""Whatever is written, by whatever operation: replaying a table's stream from empty gives the table."""

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
from tests.unit.services.dynamodb.conftest import ORDERS, key
from tests.unit.services.dynamodb.stream_readers import enable, records_of

CUSTOMERS = st.sampled_from(["ann", "bob", "cleo"])
NUMBERS = st.integers(0, 3)
KEYS = st.builds(key, CUSTOMERS, NUMBERS)
VALUES = st.one_of(
    st.builds(lambda number: {"N": str(number)}, st.integers(0, 3)),
    st.builds(lambda data: {"B": data}, st.binary(min_size=1, max_size=3)),
    st.builds(lambda names: {"SS": sorted(names)}, st.sets(st.sampled_from("xyz"), min_size=1)),
    st.just({"M": {"B": {"S": "a map may have a B"}, "deep": {"L": [{"BOOL": True}]}}}),
)
ITEMS = st.builds(lambda key, note: {**key, "note": note}, KEYS, VALUES)
LIVES = st.integers(1, 500)


def put(item: dict[str, Any], life_s: int | None = None) -> tuple[str, dict[str, Any]]:
    return "PutItem", {"Item": item, "life_s": life_s}


def update(place: dict[str, Any], note: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    values = {":note": note}
    return "UpdateItem", {"Key": place, "UpdateExpression": "SET note = :note", "ExpressionAttributeValues": values}


def batch(items: list[dict[str, Any]], gone: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    puts = [{"PutRequest": {"Item": item}} for item in items]
    return "BatchWriteItem", {"RequestItems": {"orders": [*puts, {"DeleteRequest": {"Key": gone}}]}}


def transaction(item: dict[str, Any], gone: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    condition = {"ConditionExpression": "attribute_exists(customer)"}
    actions = [
        {"Put": {"TableName": "orders", "Item": item}},
        {"Delete": {"TableName": "orders", "Key": gone, **condition}},
    ]
    return "TransactWriteItems", {"TransactItems": actions}


STEPS = st.one_of(
    st.builds(put, ITEMS, st.none() | LIVES),
    st.builds(update, KEYS, VALUES),
    st.builds(lambda place: ("DeleteItem", {"Key": place}), KEYS),
    st.builds(batch, st.lists(ITEMS, max_size=3), KEYS),
    st.builds(transaction, ITEMS, KEYS),
    st.builds(lambda seconds: ("advance", {"seconds": seconds}), st.integers(1, 4_000)),
)


def perform(world: World, step: tuple[str, dict[str, Any]]) -> None:
    """Run a step. One that is refused, such as a batch with a key twice, writes nothing."""
    operation, params = step
    if operation == "advance":
        world.advance(**params)
        return
    params = {**params} if operation in ("BatchWriteItem", "TransactWriteItems") else {"TableName": "orders", **params}
    life_s = params.pop("life_s", None)
    if life_s is not None:
        params["Item"] = {**params["Item"], "until": {"N": str(world.now // 1_000 + life_s)}}
    with suppress(ServiceError):
        world.call("dynamodb", operation, **params)


def replayed(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The table that the records tell of. Each record has to fit to what the records before it have left."""
    table: dict[str, dict[str, Any]] = {}
    for record in records:
        body = record["dynamodb"]
        place = repr(sorted(body["Keys"].items()))
        assert table.pop(place, None) == body.get("OldImage")
        assert record["eventName"] == event_of(body)
        if "NewImage" in body:
            table[place] = body["NewImage"]
    return table


def event_of(body: dict[str, Any]) -> str:
    if "OldImage" not in body:
        return "INSERT"
    return "MODIFY" if "NewImage" in body else "REMOVE"


def check(world: World, steps: list[tuple[str, dict[str, Any]]]) -> None:
    world.call("dynamodb", "CreateTable", **ORDERS)
    world.call(
        "dynamodb", "UpdateTimeToLive", TableName="orders",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"},
    )  # fmt: skip
    arn = enable(world, "orders")
    try:
        for step in steps:
            perform(world, step)
        table = stored(world)
        records = records_of(world, arn)
    finally:
        world.call("dynamodb", "DeleteTable", TableName="orders")
    assert replayed(records) == table


def stored(world: World, table: str = "orders") -> dict[str, dict[str, Any]]:
    """The items of the table by their keys."""

    items = world.call("dynamodb", "Scan", TableName=table)["Items"]
    return {repr(sorted((name, item[name]) for name in ("customer", "order_no"))): item for item in items}


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


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, max_size=15))
def test_replayed_stream_is_the_table(world: World, steps: list[tuple[str, dict[str, Any]]]) -> None:
    check(world, steps)


@settings(max_examples=12, deadline=None)
@given(steps=st.lists(STEPS, min_size=5, max_size=25))
def test_replayed_stream_is_the_table_on_postgresql(
    shared_world: World, steps: list[tuple[str, dict[str, Any]]]
) -> None:  # fmt: skip
    check(shared_world, steps)
