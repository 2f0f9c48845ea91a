"""After any writes, each index is what a slow oracle computes from the table; queries answer what the oracle does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.testing.world import START, World

Row = dict[str, Any]


def schema(*names: str, hashes: int = 1) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": "HASH" if place < hashes else "RANGE"} for place, name in enumerate(names)
    ]


INDEXES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...] | None]] = {
    "all": (("g",), ("n",), None),
    "keys": (("g",), (), ()),
    "some": (("n",), ("b",), ("x",)),
    "many": (("g", "n"), ("b", "x"), ()),
    "local": (("h",), ("n",), ("x",)),
}
"""Hash keys, range keys and included attributes (None: all) of the indexes."""

TYPES = {"h": "S", "r": "S", "g": "S", "n": "N", "b": "B", "x": "S"}


def index_of(name: str) -> dict[str, Any]:
    hashes, ranges, included = INDEXES[name]
    projection: dict[str, Any] = {"ProjectionType": "ALL" if included is None else "KEYS_ONLY"}
    if included:
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(included)}
    return {"IndexName": name, "KeySchema": schema(*hashes, *ranges, hashes=len(hashes)), "Projection": projection}


def definitions(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": TYPES[name]} for name in names]


TABLE = {
    "TableName": "things", "KeySchema": schema("h", "r"), "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": definitions(*TYPES),
    "GlobalSecondaryIndexes": [index_of(name) for name in ("all", "keys", "some", "many")],
    "LocalSecondaryIndexes": [index_of("local")],
}  # fmt: skip

texts = st.sampled_from(["a", "b", "a\0", "a\0\0", "ab", "b\x01"])
numbers = st.sampled_from(["0", "-1", "10", "9", "-1.5", "1E+2"])
bytes_ = st.sampled_from([b"\0", b"\0\xff", b"\xff", b"\xff\xff", b"a", b"\0\0"])
keys = st.fixed_dictionaries({"h": texts.map(lambda text: {"S": text}), "r": texts.map(lambda text: {"S": text})})
others = st.fixed_dictionaries(
    {},
    optional={
        "g": texts.map(lambda text: {"S": text}),
        "n": numbers.map(lambda text: {"N": text}),
        "b": bytes_.map(lambda data: {"B": data}),
        "x": texts.map(lambda text: {"S": text}),
        "y": texts.map(lambda text: {"S": text}),
    },
)
items = st.builds(lambda key, rest: {**key, **rest}, keys, others)
expiring = items.map(lambda item: {**item, "t": {"N": str(START // 1_000)}})


def update_of(key: Row, rest: Row, gone: str) -> tuple[str, dict[str, Any]]:
    changed = {name: value for name, value in rest.items() if name != gone}
    sets = ", ".join(f"{name} = :{name}" for name in changed)
    text = (f"SET {sets} " if changed else "") + f"REMOVE {gone}"
    values = {"ExpressionAttributeValues": {f":{name}": value for name, value in changed.items()}} if changed else {}
    return "UpdateItem", {"TableName": "things", "Key": key, "UpdateExpression": text, **values}


def batch_of(puts: list[Row], gone: list[Row]) -> tuple[str, dict[str, Any]]:
    requests: dict[tuple[str, str], Any] = {
        (key["h"]["S"], key["r"]["S"]): {"DeleteRequest": {"Key": key}} for key in gone
    }
    requests |= {(item["h"]["S"], item["r"]["S"]): {"PutRequest": {"Item": item}} for item in puts}
    return "BatchWriteItem", {"RequestItems": {"things": list(requests.values())}}


def transaction_of(batch: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    actions = [
        {"Put": {"TableName": "things", **request["PutRequest"]}}
        if "PutRequest" in request
        else {"Delete": {"TableName": "things", **request["DeleteRequest"]}}
        for request in batch[1]["RequestItems"]["things"]
    ]
    return "TransactWriteItems", {"TransactItems": actions}


batches = st.builds(batch_of, st.lists(items, min_size=1, max_size=4), st.lists(keys, max_size=3))
writes = st.one_of(
    st.one_of(items, expiring).map(lambda item: ("PutItem", {"TableName": "things", "Item": item})),
    keys.map(lambda key: ("DeleteItem", {"TableName": "things", "Key": key})),
    st.builds(update_of, keys, others, st.sampled_from(["g", "n", "b", "x", "y"])),
    batches,
    batches.map(transaction_of),
    st.just(("Expire", {})),
    st.sampled_from(["all", "keys", "some", "many"]).map(lambda name: ("Recreate", {"IndexName": name})),
)


def raw(value: dict[str, Any]) -> Any:
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else content.encode() if kind == "S" else content


def key_of(row: Row, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(raw(row[name]) for name in names)


def expected_of(name: str, table: list[Row]) -> list[Row]:
    """The entries of an index in order, computed from the items of the table."""
    hashes, ranges, included = INDEXES[name]
    found = [item for item in table if all(key in item for key in (*hashes, *ranges))]
    found.sort(key=lambda item: key_of(item, (*hashes, *ranges, "h", "r")))
    if included is None:
        return found
    kept = {*hashes, *ranges, "h", "r", *included}
    return [{key: value for key, value in item.items() if key in kept} for item in found]


def pages(call: Callable[..., Any], operation: str, **params: Any) -> list[Row]:
    found: list[Row] = []
    start: dict[str, Any] = {}
    while True:
        answer = call(operation, TableName="things", **params, **start)
        found += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return found
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def recreate(call: Callable[..., Any], world: World, name: str) -> None:
    """Delete an index and create it again, which fills it from the items of the table."""
    call("UpdateTable", TableName="things", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": name}}])
    call(
        "UpdateTable", TableName="things", GlobalSecondaryIndexUpdates=[{"Create": index_of(name)}],
        AttributeDefinitions=definitions(*TYPES),
    )  # fmt: skip
    world.settle()


def apply(world: World, call: Callable[..., Any], operation: str, params: dict[str, Any]) -> None:
    match operation:
        case "Expire":
            world.advance(minutes=3)
        case "Recreate":
            recreate(call, world, params["IndexName"])
        case _:
            with contextlib.suppress(ServiceError):
                call(operation, **params)


@settings(max_examples=40)
@given(st.lists(writes, max_size=12), st.booleans())
def test_indexes_follow_the_table(steps, forward):
    world = World(seed=1)
    call = partial(world.call, "dynamodb")
    call("CreateTable", **TABLE)
    call("UpdateTimeToLive", TableName="things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"})
    for operation, params in steps:
        apply(world, call, operation, params)
    table = pages(call, "Scan", Limit=3)

    for name, (hashes, ranges, _) in INDEXES.items():
        expected = expected_of(name, table)
        scanned = pages(call, "Scan", IndexName=name, Limit=2)
        assert sorted(scanned, key=lambda row: key_of(row, (*hashes, *ranges, "h", "r"))) == expected
        for hash_values in {key_of(row, hashes): [row[key] for key in hashes] for row in expected}.values():
            same = [row for row in expected if [row[key] for key in hashes] == hash_values]
            queried = pages(
                call, "Query", IndexName=name, Limit=2, ScanIndexForward=forward,
                KeyConditionExpression=" AND ".join(f"{key} = :{key}" for key in hashes),
                ExpressionAttributeValues={f":{key}": value for key, value in zip(hashes, hash_values, strict=True)},
            )  # fmt: skip
            assert queried == (same if forward else same[::-1])
    world.close()


CONDITIONS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "=": lambda value, low, _: value == low,
    "<": lambda value, low, _: value < low,
    "<=": lambda value, low, _: value <= low,
    ">": lambda value, low, _: value > low,
    ">=": lambda value, low, _: value >= low,
    "BETWEEN": lambda value, low, high: low <= value <= high,
    "begins_with": lambda value, low, _: value.startswith(low),
}


@settings(max_examples=40)
@given(
    st.lists(items, max_size=20), texts.map(lambda text: {"S": text}), st.tuples(bytes_, bytes_).map(sorted),
    st.sampled_from([*CONDITIONS]),
)  # fmt: skip
def test_range_conditions_find_what_the_oracle_finds(rows, group, bounds, operator):
    """The second range key of an index, behind one that is equal; binary values with zero bytes in them."""
    low, high = bounds
    world = World(seed=1)
    call = partial(world.call, "dynamodb")
    by_two = {**index_of("many"), "KeySchema": schema("g", "x", "b"), "Projection": {"ProjectionType": "ALL"}}
    by_one = {**index_of("local"), "KeySchema": schema("h", "b")}
    indexes = {"GlobalSecondaryIndexes": [by_two], "LocalSecondaryIndexes": [by_one]}
    call("CreateTable", **TABLE | {"AttributeDefinitions": definitions("h", "r", "g", "x", "b")} | indexes)
    for row in rows:
        call("PutItem", TableName="things", Item=row)
    table = pages(call, "Scan")
    condition = {
        "BETWEEN": "b BETWEEN :low AND :high", "begins_with": "begins_with(b, :low)",
    }.get(operator, f"b {operator} :low")  # fmt: skip
    values = {":low": {"B": low}} | ({":high": {"B": high}} if operator == "BETWEEN" else {})
    matches = [row for row in table if "b" in row and CONDITIONS[operator](row["b"]["B"], low, high)]

    for name, before, equal in (
        ("many", {"g": group, "x": {"S": "a"}}, "g = :g AND x = :x"), ("local", {"h": group}, "h = :h"),
    ):  # fmt: skip
        found = pages(
            call, "Query", IndexName=name, Select="ALL_ATTRIBUTES", Limit=1,
            KeyConditionExpression=f"{condition} AND {equal}",
            ExpressionAttributeValues={**values, **{f":{key}": value for key, value in before.items()}},
        )  # fmt: skip
        expected = [row for row in matches if before.items() <= row.items()]
        assert found == sorted(expected, key=lambda row: key_of(row, ("b", "h", "r")))
    world.close()


@pytest.mark.parametrize("name", INDEXES)
def test_equal_index_keys_are_in_the_order_of_the_tables_keys(world, call, name):
    call("CreateTable", **TABLE)
    rest = {"g": {"S": "g"}, "n": {"N": "1"}, "b": {"B": b"b"}, "x": {"S": "x"}}
    for number in (2, 1, 3):
        call("PutItem", TableName="things", Item={"h": {"S": "h"}, "r": {"S": str(number)}, **rest})
    hashes = INDEXES[name][0]
    condition = " AND ".join(f"{key} = :{key}" for key in hashes)

    found = call(
        "Query", TableName="things", IndexName=name, KeyConditionExpression=condition,
        ExpressionAttributeValues={f":{key}": {"h": {"S": "h"}, **rest}[key] for key in hashes},
    )  # fmt: skip

    assert [item["r"]["S"] for item in found["Items"]] == ["1", "2", "3"]
