"""Query and Scan: which items, in which order, in which pages; filtered after the page is cut."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey, StoredItem, segment_of
from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import ORDERS, key

INVALID = "One or more parameter values were invalid: "
OF_ANN = {"KeyConditionExpression": "customer = :c", "ExpressionAttributeValues": {":c": {"S": "ann"}}}


def numbers(answer: dict[str, Any]) -> list[int]:
    """The range keys of a page."""
    return [int(item["order_no"]["N"]) for item in answer["Items"]]


def test_query_answers_one_hash_key_in_the_order_of_numbers(call, orders, put):
    for number in (10, 9, -1, 100, 0):
        put("ann", number)
    put("bob", 5)

    forward = call("Query", TableName=orders, **OF_ANN)
    backward = call("Query", TableName=orders, **OF_ANN, ScanIndexForward=False)

    assert numbers(forward) == [-1, 0, 9, 10, 100]
    assert numbers(backward) == [100, 10, 9, 0, -1]
    assert (forward["Count"], forward["ScannedCount"]) == (5, 5)
    assert "LastEvaluatedKey" not in forward


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("= :a", [3]),
        ("< :a", [1, 2]),
        ("<= :a", [1, 2, 3]),
        ("> :a", [4, 5]),
        (">= :a", [3, 4, 5]),
        ("BETWEEN :a AND :b", [3, 4]),
    ],
)
def test_range_key_condition_bounds_the_items(call, orders, put, condition, found):
    for number in range(1, 6):
        put("ann", number)
    values = {":c": {"S": "ann"}, ":a": {"N": "3"}}
    if ":b" in condition:
        values[":b"] = {"N": "4"}

    answer = call(
        "Query", TableName=orders, KeyConditionExpression=f"customer = :c AND #n {condition}",
        ExpressionAttributeNames={"#n": "order_no"}, ExpressionAttributeValues=values,
    )  # fmt: skip

    assert numbers(answer) == found


def test_begins_with_finds_the_prefix_and_nothing_behind_it(call):
    call(
        "CreateTable", **{**ORDERS, "AttributeDefinitions": [
            {"AttributeName": "customer", "AttributeType": "S"}, {"AttributeName": "order_no", "AttributeType": "S"},
        ]},
    )  # fmt: skip
    for number in ("a", "ab", "abé", "ac", "b"):
        call("PutItem", TableName="orders", Item={"customer": {"S": "ann"}, "order_no": {"S": number}})

    answer = call(
        "Query", TableName="orders", KeyConditionExpression="customer = :c AND begins_with(#n, :p)",
        ExpressionAttributeNames={"#n": "order_no"},
        ExpressionAttributeValues={":c": {"S": "ann"}, ":p": {"S": "ab"}},
    )  # fmt: skip

    assert [item["order_no"]["S"] for item in answer["Items"]] == ["ab", "abé"]


def test_query_takes_the_parameters_from_before_expressions(call, orders, put):
    for number in range(1, 6):
        put("ann", number, odd={"BOOL": number % 2 == 1})

    answer = call(
        "Query", TableName=orders,
        KeyConditions={
            "customer": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "ann"}]},
            "order_no": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "1"}]},
        },
        QueryFilter={"odd": {"ComparisonOperator": "EQ", "AttributeValueList": [{"BOOL": True}]}},
        AttributesToGet=["order_no"],
    )  # fmt: skip

    assert answer["Items"] == [{"order_no": {"N": "3"}}, {"order_no": {"N": "5"}}]
    assert answer["ScannedCount"] == 4


@pytest.mark.parametrize("forward", [True, False])
def test_pages_of_a_query_follow_each_other(world, orders, put, forward):
    """A page that is full names its last item, even if none follows."""
    for number in range(6):
        put("ann", number)
    pages = world.client("dynamodb").get_paginator("query").paginate(
        TableName=orders, **OF_ANN, ScanIndexForward=forward, PaginationConfig={"PageSize": 2}
    )  # fmt: skip

    found = [numbers(page) for page in pages]

    assert found == ([[0, 1], [2, 3], [4, 5], []] if forward else [[5, 4], [3, 2], [1, 0], []])


def test_filter_applies_after_the_limit(call, orders, put):
    for number in range(4):
        put("ann", number, paid={"BOOL": number >= 2})

    answer = call(
        "Query", TableName=orders, KeyConditionExpression="customer = :c", FilterExpression="paid = :t", Limit=3,
        ExpressionAttributeValues={":c": {"S": "ann"}, ":t": {"BOOL": True}},
    )  # fmt: skip

    assert numbers(answer) == [2]
    assert (answer["Count"], answer["ScannedCount"]) == (1, 3)
    assert answer["LastEvaluatedKey"] == key("ann", 2)


def test_count_answers_no_items(call, orders, put):
    put("ann", 1)

    assert call("Query", TableName=orders, **OF_ANN, Select="COUNT") == {"Count": 1, "ScannedCount": 1}


def test_projection_chooses_attributes_of_a_page(call, orders, put):
    put("ann", 1, note={"S": "gift"}, paid={"BOOL": True})

    answer = call("Scan", TableName=orders, ProjectionExpression="note, absent", Select="SPECIFIC_ATTRIBUTES")

    assert answer["Items"] == [{"note": {"S": "gift"}}]


def test_page_ends_with_the_item_that_brings_it_to_1_mb(call, orders, put):
    """Three items of 350 KB and more reach 1 MB; the capacity is that of what was read."""
    for number in range(4):
        put("ann", number, big={"S": "x" * 350_000})

    first = call("Query", TableName=orders, **OF_ANN, ReturnConsumedCapacity="TOTAL")
    second = call("Query", TableName=orders, **OF_ANN, ExclusiveStartKey=first["LastEvaluatedKey"])

    assert numbers(first) == [0, 1, 2]
    assert first["ConsumedCapacity"]["CapacityUnits"] == 128.5
    assert numbers(second) == [3]
    assert "LastEvaluatedKey" not in second


def test_small_items_beyond_one_chunk_come_in_one_page(call, orders, put):
    for number in range(200):
        put("ann", number)

    assert numbers(call("Query", TableName=orders, **OF_ANN)) == list(range(200))
    assert numbers(call("Query", TableName=orders, **OF_ANN, Limit=100)) == list(range(100))


def test_query_that_finds_nothing_costs_half_a_unit(call, orders):
    answer = call("Query", TableName=orders, **OF_ANN, ReturnConsumedCapacity="TOTAL")

    assert answer["Items"] == []
    assert answer["ConsumedCapacity"]["CapacityUnits"] == 0.5


# Scans


def test_scan_in_pages_finds_every_item_once(world, orders, put):
    for number in range(9):
        put(f"customer-{number % 4}", number)
    pages = list(
        world.client("dynamodb").get_paginator("scan").paginate(TableName=orders, PaginationConfig={"PageSize": 2})
    )

    assert sorted(number for page in pages for number in numbers(page)) == list(range(9))
    assert all(page["ScannedCount"] <= 2 for page in pages)


@pytest.mark.parametrize("total", [1, 2, 3, 7])
def test_segments_divide_a_table(call, orders, put, total):
    """Each item is in exactly one segment."""
    for number in range(12):
        put(f"customer-{number}", number)

    found = [numbers(call("Scan", TableName=orders, TotalSegments=total, Segment=segment)) for segment in range(total)]

    assert sorted(itertools.chain(*found)) == list(range(12))
    assert len(found) == 1 or max(map(len, found)) < 12


@settings(max_examples=50, deadline=None)
@given(hash_key=st.binary(min_size=1, max_size=20), total=st.integers(1, 1_000_000))
def test_segment_of_a_key_is_where_a_scan_finds_it(items, hash_key, total):
    """Whatever the number of segments: in that one, and not in its neighbours."""
    item_key = ItemKey(hash_key)
    segment = segment_of(item_key, total)

    found = {
        index: items(item_key, index, total) for index in {segment, max(0, segment - 1), min(total - 1, segment + 1)}
    }

    assert found == {index: index == segment for index in found}


@pytest.fixture(scope="module")
def items():
    """Whether a scan of this segment finds an item that is alone in its table."""
    world = World(seed=1)

    def is_found(item_key: ItemKey, segment: int, segments: int) -> bool:
        def step(tx: Transaction) -> bool:
            tx.items.drop("table", limit=10_000)
            tx.items.put("table", StoredItem(*item_key, 1, b"{}"), expires_at=None)
            page = tx.items.scan(
                "table", after=None, segment=segment, segments=segments, limit=None, bytes_max=1_024
            )  # fmt: skip
            return [stored.key for stored in page.items] == [item_key]

        return world.store.run(step)

    yield is_found
    world.close()


def test_scan_takes_filters_of_either_kind(call, orders, put):
    put("ann", 1, paid={"BOOL": True})
    put("ann", 2)

    by_expression = call("Scan", TableName=orders, FilterExpression="attribute_exists(paid)")
    by_condition = call("Scan", TableName=orders, ScanFilter={"paid": {"ComparisonOperator": "NULL"}})

    assert numbers(by_expression) == [1]
    assert numbers(by_condition) == [2]
    assert by_condition["ScannedCount"] == 2


# Refusals


KEYS = {"ExpressionAttributeValues": {":c": {"S": "ann"}}, "KeyConditionExpression": "customer = :c"}


@pytest.mark.parametrize(
    ("operation", "params", "message"),
    [
        ("Query", {}, "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."),
        ("Query", {**KEYS, "IndexName": "by-date"}, "The table does not have the specified index: by-date"),
        ("Scan", {"IndexName": "by-date"}, "The table does not have the specified index: by-date"),
        (
            "Query",
            {**KEYS, "ExpressionAttributeValues": {":c": {"N": "1"}}},
            INVALID + "Condition parameter type does not match schema type",
        ),
        (
            "Query",
            {**KEYS, "ExpressionAttributeValues": {":c": {"S": ""}}},
            INVALID + "The AttributeValue for a key attribute cannot contain an empty string value. Key: customer",
        ),
        (
            "Query",
            {**KEYS, "KeyConditionExpression": "note = :c"},
            "Query condition missed key schema element: customer",
        ),
        (
            "Query",
            {**KEYS, "FilterExpression": "paid = :c AND NOT size(customer) > :c"},
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: customer",
        ),
        (
            "Query",
            {
                "KeyConditions": {"customer": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}},
                "QueryFilter": {"order_no": {"ComparisonOperator": "NOT_NULL"}},
            },
            "QueryFilter can only contain non-primary key attributes: Primary key attribute: order_no",
        ),
        (
            "Query",
            {**KEYS, "ExclusiveStartKey": {"customer": {"S": "ann"}}},
            "The provided starting key is invalid",
        ),
        (
            "Scan",
            {"ExclusiveStartKey": {"customer": {"S": "ann"}}},
            "The provided starting key is invalid: The provided key element does not match the schema",
        ),
        (
            "Query",
            {**KEYS, "ExclusiveStartKey": key("bob", 1)},
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (
            "Query",
            {**KEYS, "Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            "Scan",
            {"Select": "SPECIFIC_ATTRIBUTES"},
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            "Scan",
            {"Select": "COUNT", "ProjectionExpression": "note"},
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            "Scan",
            {"Select": "ALL_ATTRIBUTES", "AttributesToGet": ["note"]},
            "Cannot specify the AttributesToGet when choosing to get ALL_ATTRIBUTES",
        ),
        (
            "Scan",
            {"Segment": 0},
            (
                "The TotalSegments parameter is required but was not present in the request when parameter Segment "
                "is present"
            ),
        ),
        (
            "Scan",
            {"Segment": 2, "TotalSegments": 2},
            (
                "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
                "Segment: 2 is not less than TotalSegments: 2"
            ),
        ),
        (
            "Scan",
            {"FilterExpression": "paid = :t", "ExpressionAttributeValues": {":t": {"S": ""}, ":u": {"S": ""}}},
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u}",
        ),
        (
            "Scan",
            {"FilterExpression": "paid = paid", "AttributesToGet": ["paid"]},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {AttributesToGet} Expression parameters: {FilterExpression}"
            ),
        ),
    ],
)
def test_page_that_cannot_be_asked_for_is_refused(refusal, orders, operation, params, message):
    assert refusal(operation, TableName=orders, **params) == ("ValidationException", message)


def test_start_outside_the_range_condition_is_refused(refusal, orders):
    code, message = refusal(
        "Query", TableName=orders, KeyConditionExpression="customer = :c AND #n > :n",
        ExpressionAttributeNames={"#n": "order_no"},
        ExpressionAttributeValues={":c": {"S": "ann"}, ":n": {"N": "5"}}, ExclusiveStartKey=key("ann", 5),
    )  # fmt: skip

    assert code == "ValidationException"
    assert message == "The provided starting key does not match the range key predicate"


def test_start_of_another_segment_is_refused(call, refusal, orders, put):
    put("ann", 1)
    segment = next(
        index for index in (0, 1) if call("Scan", TableName=orders, TotalSegments=2, Segment=index)["Count"] == 0
    )

    assert refusal("Scan", TableName=orders, TotalSegments=2, Segment=segment, ExclusiveStartKey=key("ann", 1)) == (
        "ValidationException",
        (
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with "
            f"correct Segment. TotalSegments: 2 Segment: {segment}"
        ),
    )


# Against an oracle


@settings(max_examples=40, deadline=None)
@given(
    stored=st.lists(st.integers(-50, 50), unique=True, max_size=40),
    low=st.integers(-50, 50),
    high=st.integers(-50, 50),
    limit=st.integers(1, 9),
    forward=st.booleans(),
)
def test_pages_are_what_sorting_and_cutting_gives(stored, low, high, limit, forward):
    """Query in pages equals: sort, keep what lies between, cut."""
    if low > high:
        low, high = high, low
    world = World(seed=1)
    world.call("dynamodb", "CreateTable", **ORDERS)
    for number in stored:
        world.call("dynamodb", "PutItem", TableName="orders", Item=key("ann", number))
    found: list[int] = []
    start: dict[str, object] = {}
    while True:
        page = world.call(
            "dynamodb", "Query", TableName="orders", Limit=limit, ScanIndexForward=forward, **start,
            KeyConditionExpression="customer = :c AND #n BETWEEN :l AND :h",
            ExpressionAttributeNames={"#n": "order_no"},
            ExpressionAttributeValues={":c": {"S": "ann"}, ":l": {"N": str(low)}, ":h": {"N": str(high)}},
        )  # fmt: skip
        found += numbers(page)
        if "LastEvaluatedKey" not in page:
            break
        assert page["Count"] == limit
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    world.close()

    assert found == sorted((number for number in stored if low <= number <= high), reverse=not forward)


@pytest.mark.parametrize(
    "text", [{"FilterExpression": "attribute_exists(order_no_2)"}, {"ProjectionExpression": "order_no"}]
)
def test_key_conditions_stand_beside_expressions(call, orders, put, text):
    put("ann", 1, order_no_2={"S": "x"})
    conditions = {"customer": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "ann"}]}}

    assert call("Query", TableName=orders, KeyConditions=conditions, **text)["Count"] == 1


def test_key_conditions_of_both_kinds_are_refused(refusal, orders):
    conditions = {"customer": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "ann"}]}}

    assert (
        "Can not use both expression and non-expression"
        in refusal("Query", TableName=orders, KeyConditions=conditions, **OF_ANN)[1]
    )


SINGLE = {
    "TableName": "single",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
OF_A = {"KeyConditionExpression": "id = :i", "ExpressionAttributeValues": {":i": {"S": "A"}}}
CANNOT_RESTART = "The query can return at most one row and cannot be restarted"


def test_query_that_finds_one_item_at_most_ends_and_cannot_be_restarted(call, refusal, orders, put):
    call("CreateTable", **SINGLE)
    call("PutItem", TableName="single", Item={"id": {"S": "A"}})
    put("ann", 1)
    exact = {
        "KeyConditionExpression": "customer = :c AND order_no = :n",
        "ExpressionAttributeValues": {":c": {"S": "ann"}, ":n": {"N": "1"}},
    }

    for params in ({"TableName": "single", **OF_A}, {"TableName": orders, **exact}):
        assert "LastEvaluatedKey" not in call("Query", Limit=1, **params)
    assert refusal("Query", TableName="single", ExclusiveStartKey={"id": {"S": "A"}}, **OF_A)[1] == CANNOT_RESTART
    assert refusal("Query", TableName=orders, ExclusiveStartKey=key("ann", 1), **exact)[1] == CANNOT_RESTART


def test_scan_goes_through_hash_keys_in_the_order_of_digests(call):
    """As recorded: A before B; the digest is that of MD5 over a salt and the key."""
    call("CreateTable", **SINGLE)
    for letter in "DCBA":
        call("PutItem", TableName="single", Item={"id": {"S": letter}})

    found = [item["id"]["S"] for item in call("Scan", TableName="single")["Items"]]

    assert found == sorted("ABCD", key=lambda letter: hashlib.md5(b"Outliers" + letter.encode()).digest())
    assert found.index("A") < found.index("B")


def test_scan_costs_a_unit_for_each_partition_that_it_looks_at(call, orders, put):
    """An on-demand table has four from the beginning."""
    put("ann", 1)

    def cost(**params: object) -> float:
        answer = call("Scan", TableName=orders, ReturnConsumedCapacity="TOTAL", **params)
        return float(answer["ConsumedCapacity"]["CapacityUnits"])

    assert (cost(), cost(ConsistentRead=True)) == (2.0, 4.0)
    assert sum(cost(Segment=number, TotalSegments=4) for number in range(4)) == 2.0
    assert cost(Limit=1) + cost(ExclusiveStartKey=key("ann", 1)) == 2.5


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_limit_is_one_at_least(refusal, orders, operation):
    condition = {"KeyConditionExpression": "customer = :c", "ExpressionAttributeValues": {":c": {"S": "ann"}}}

    problem = "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"

    told = refusal(operation, TableName=orders, Limit=0, **(condition if operation == "Query" else {}))

    assert told == ("ValidationException", f"1 validation error detected: {problem}")
