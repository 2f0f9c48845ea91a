"""Query and Scan of indexes: which attributes, in which pages, at which price; and what indexes refuse in writes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.services.dynamodb.conftest import ORDERS
from tests.unit.services.dynamodb.test_indexes import DEFINED, INDEXED, INVALID, index, keys

KEYS_ONLY = {"ProjectionType": "KEYS_ONLY"}
TABLE = {
    **INDEXED,
    "GlobalSecondaryIndexes": [
        index("by-city", "city", "day"),
        index("small", "city", projection=KEYS_ONLY),
    ],
}
OF_OSLO: dict[str, Any] = {"KeyConditionExpression": "city = :c", "ExpressionAttributeValues": {":c": {"S": "oslo"}}}
OF_ANN: dict[str, Any] = {"KeyConditionExpression": "customer = :c", "ExpressionAttributeValues": {":c": {"S": "ann"}}}
ITEM = {
    "customer": {"S": "ann"}, "order_no": {"N": "1"}, "city": {"S": "oslo"}, "day": {"N": "3"}, "note": {"S": "gift"},
    "paid": {"BOOL": True},
}  # fmt: skip
KEY = {name: ITEM[name] for name in ("customer", "order_no")}


def some(*names: str) -> dict[str, Any]:
    return {name: ITEM[name] for name in names}


@pytest.fixture
def put_item(call):
    call("CreateTable", **TABLE)

    def put_item(**attributes: object) -> Any:
        item = {name: value for name, value in {**ITEM, **attributes}.items() if value is not None}
        return call("PutItem", TableName="orders", Item=item, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]

    return put_item


@pytest.mark.parametrize(
    ("name", "condition", "params", "found"),
    [
        ("by-city", OF_OSLO, {}, ITEM),
        ("by-city", OF_OSLO, {"Select": "ALL_ATTRIBUTES"}, ITEM),
        ("small", OF_OSLO, {}, some("city", "customer", "order_no")),
        ("small", OF_OSLO, {"Select": "ALL_PROJECTED_ATTRIBUTES"}, some("city", "customer", "order_no")),
        ("small", OF_OSLO, {"ProjectionExpression": "customer"}, some("customer")),
        ("by-day", OF_ANN, {}, some("customer", "order_no", "day", "note")),
        ("by-day", OF_ANN, {"Select": "ALL_ATTRIBUTES", "ConsistentRead": True}, ITEM),
        ("by-day", OF_ANN, {"ProjectionExpression": "paid, note"}, some("paid", "note")),
        ("by-day", OF_ANN, {"AttributesToGet": None, "ProjectionExpression": "note"}, some("note")),
    ],
)
def test_index_answers_what_it_contains_and_a_local_one_fetches_the_rest(
    call, put_item, name, condition, params, found
):
    put_item()
    scanned = {key: value for key, value in params.items() if value is not None}

    assert call("Query", TableName="orders", IndexName=name, **condition, **scanned)["Items"] == [found]
    assert call("Scan", TableName="orders", IndexName=name, **scanned)["Items"] == [found]


def test_item_without_an_index_key_is_not_in_the_index(call, put_item):
    put_item(day=None)

    assert call("Query", TableName="orders", IndexName="by-city", **OF_OSLO)["Count"] == 0
    assert call("Query", TableName="orders", IndexName="small", **OF_OSLO)["Count"] == 1


def test_pages_of_an_index_name_the_keys_of_index_and_table(call, put_item):
    for number in range(3):
        put_item(order_no={"N": str(number)})

    page = call("Query", TableName="orders", IndexName="by-city", Limit=1, ScanIndexForward=False, **OF_OSLO)
    rest = call(
        "Query", TableName="orders", IndexName="by-city", ScanIndexForward=False,
        ExclusiveStartKey=page["LastEvaluatedKey"], **OF_OSLO,
    )  # fmt: skip

    assert page["LastEvaluatedKey"] == {**some("city", "day", "customer"), "order_no": {"N": "2"}}
    assert [item["order_no"]["N"] for item in rest["Items"]] == ["1", "0"]


def test_segments_divide_an_index(call, put_item):
    for number in range(20):
        put_item(order_no={"N": str(number)}, city={"S": f"city {number}"})

    parts = [
        call("Scan", TableName="orders", IndexName="small", Segment=segment, TotalSegments=3)["Items"]
        for segment in range(3)
    ]

    assert all(parts)
    assert sorted(int(item["order_no"]["N"]) for part in parts for item in part) == list(range(20))


def test_base_keys_may_be_filtered_on_an_index(call, put_item):
    put_item()
    values = {**OF_OSLO["ExpressionAttributeValues"], ":n": {"N": "1"}}

    answer = call(
        "Query", TableName="orders", IndexName="by-city", KeyConditionExpression="city = :c",
        FilterExpression="order_no > :n", ExpressionAttributeValues=values,
    )  # fmt: skip

    assert (answer["Count"], answer["ScannedCount"]) == (0, 1)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("by-city", {"ConsistentRead": True}, "Consistent reads are not supported on global secondary indexes"),
        (
            "small",
            {"Select": "ALL_ATTRIBUTES"},
            INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index small because its "
            "projection type is not ALL",
        ),
        (
            "small",
            {"ProjectionExpression": "note, city"},
            INVALID + "Global secondary index small does not project [note]",
        ),
        (
            "small",
            {"FilterExpression": "note = :c"},
            INVALID + "Secondary index small does not project one or more filter attributes: [note]",
        ),
        (
            "by-city",
            {"FilterExpression": "city = :c"},
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: city",
        ),
        ("by-city", {"KeyConditionExpression": "customer = :c"}, "Query condition missed key schema element: city"),
        ("by-city", {"ExclusiveStartKey": KEY}, "The provided starting key is invalid"),
        (
            "by-city",
            {"ExclusiveStartKey": {**KEY, **some("city", "day", "note")}},
            "The provided starting key is invalid",
        ),
        (
            "by-city",
            {"ExclusiveStartKey": {**KEY, "city": {"S": "rome"}, "day": {"N": "1"}}},
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (
            "by-city",
            {"ExpressionAttributeValues": {":c": {"N": "1"}}},
            INVALID + "Condition parameter type does not match schema type",
        ),
        ("none", {}, "The table does not have the specified index: none"),
    ],
)
def test_what_an_index_cannot_answer_is_refused(refusal, put_item, name, params, message):
    assert refusal("Query", TableName="orders", IndexName=name, **{**OF_OSLO, **params}) == (
        "ValidationException",
        message,
    )


def test_key_of_several_attributes_is_queried_from_left_to_right(call, refusal):
    several = {**index("several"), "KeySchema": keys("customer", "city", "day", "order_no", hashes=2)}
    call("CreateTable", **{**ORDERS, "AttributeDefinitions": DEFINED, "GlobalSecondaryIndexes": [several]})
    for number in range(4):
        item = {**ITEM, "order_no": {"N": str(number)}, "day": {"N": str(number % 2)}}
        call("PutItem", TableName="orders", Item=item)

    def query(operation: Any, condition: str) -> Any:
        values = {":a": {"S": "ann"}, ":o": {"S": "oslo"}, ":n": {"N": "1"}, ":z": {"N": "0"}}
        used = {name: value for name, value in values.items() if name in condition}
        return operation(
            "Query", TableName="orders", IndexName="several", KeyConditionExpression=condition,
            ExpressionAttributeValues=used, ExpressionAttributeNames={"#d": "day"} if "#d" in condition else None,
        )  # fmt: skip

    both = "customer = :a AND city = :o"
    assert query(call, both)["Count"] == 4
    assert query(call, f"{both} AND #d > :z")["Count"] == 2
    assert [item["order_no"]["N"] for item in query(call, f"order_no > :z AND #d = :z AND {both}")["Items"]] == ["2"]
    assert query(refusal, "customer = :a")[1] == "Query condition missed key schema element: city"
    assert query(refusal, f"{both} AND order_no = :n")[1] == "Query condition missed key schema element: day"
    assert query(refusal, f"{both} AND #d > :z AND order_no = :n")[1] == "Query key condition not supported"


# Writes


WRONG_TYPE = INVALID + "Type mismatch for Index Key city Expected: S Actual: N IndexName: by-city"
EMPTY = (
    "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
    "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: by-city, IndexKey: city"
)
TOO_LONG = INVALID + (
    "Size limit exceeded for Index Key city Actual Size: 2049 bytes Max Size: 2048 bytes IndexName: by-city"
)


@pytest.mark.parametrize(
    ("city", "message"), [({"N": "1"}, WRONG_TYPE), ({"S": ""}, EMPTY), ({"S": "x" * 2_049}, TOO_LONG)]
)
def test_value_that_cannot_be_an_index_key_is_refused_in_every_write(call, refusal, put_item, city, message):
    item = {**ITEM, "city": city}
    update = {"UpdateExpression": "SET city = :c", "ExpressionAttributeValues": {":c": city}}
    refused = ("ValidationException", message)

    assert refusal("PutItem", TableName="orders", Item=item) == refused
    assert refusal("UpdateItem", TableName="orders", Key=KEY, **update) == refused
    assert refusal("BatchWriteItem", RequestItems={"orders": [{"PutRequest": {"Item": item}}]}) == refused
    for action in (
        {"Put": {"TableName": "orders", "Item": item}},
        {"Update": {"TableName": "orders", "Key": KEY, **update}},
    ):
        code, text = refusal("TransactWriteItems", TransactItems=[action])
        is_empty = city == {"S": ""}
        assert code == ("ValidationException" if is_empty else "TransactionCanceledException")
        assert text == (message if is_empty else (
            "Transaction cancelled, please refer cancellation reasons for specific reasons [ValidationError]"
        ))  # fmt: skip
    assert call("Scan", TableName="orders")["Count"] == 0


def arms(capacity: dict[str, Any]) -> dict[str, float]:
    """The units of the table and of each index."""
    found = {"table": capacity["Table"]["CapacityUnits"]}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        found |= {name: units["CapacityUnits"] for name, units in capacity.get(member, {}).items()}
    assert capacity["CapacityUnits"] == sum(found.values())
    return found


def test_write_costs_a_unit_for_each_entry_that_it_changes(call, put_item):
    assert arms(put_item()) == {"table": 1, "by-city": 1, "small": 1, "by-day": 1}
    assert arms(put_item()) == {"table": 1}
    assert arms(put_item(paid={"BOOL": False})) == {"table": 1, "by-city": 1}
    assert arms(put_item(day={"N": "4"})) == {"table": 1, "by-city": 2, "by-day": 2}
    assert arms(put_item(day=None)) == {"table": 1, "by-city": 1, "by-day": 1}
    assert arms(put_item(note={"S": "x" * 1_500}, day=None)) == {"table": 2}
    deleted = call("DeleteItem", TableName="orders", Key=KEY, ReturnConsumedCapacity="INDEXES")
    assert arms(deleted["ConsumedCapacity"]) == {"table": 2, "small": 1}
    total = call("PutItem", TableName="orders", Item=ITEM, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert total == {"TableName": "orders", "CapacityUnits": 4.0}


def test_batches_add_up_the_costs_of_indexes_and_transactions_double_them(call, put_item):
    items = [{**ITEM, "order_no": {"N": str(number)}} for number in range(2)]
    batch = call(
        "BatchWriteItem", RequestItems={"orders": [{"PutRequest": {"Item": item}} for item in items]},
        ReturnConsumedCapacity="INDEXES",
    )  # fmt: skip
    transaction = call(
        "TransactWriteItems", ReturnConsumedCapacity="INDEXES",
        TransactItems=[{"Delete": {"TableName": "orders", "Key": KEY}}],
    )  # fmt: skip

    assert arms(batch["ConsumedCapacity"][0]) == {"table": 2, "by-city": 2, "small": 2, "by-day": 2}
    assert arms(transaction["ConsumedCapacity"][0]) == {"table": 2, "by-city": 2, "small": 2, "by-day": 2}


def test_read_of_an_index_costs_what_its_entries_have_and_what_is_fetched(call, put_item):
    for number in range(3):
        put_item(order_no={"N": str(number)}, filling={"S": "x" * 5_000})

    def cost(name: str, condition: dict[str, Any], **params: object) -> dict[str, float]:
        answer = call(
            "Query", TableName="orders", IndexName=name, ReturnConsumedCapacity="INDEXES", **condition, **params
        )  # fmt: skip
        return arms(answer["ConsumedCapacity"])

    assert cost("by-city", OF_OSLO) == {"table": 0, "by-city": 2}
    assert cost("small", OF_OSLO) == {"table": 0, "small": 0.5}
    assert cost("by-day", OF_ANN) == {"table": 0, "by-day": 0.5}
    assert cost("by-day", OF_ANN, Select="ALL_ATTRIBUTES", ConsistentRead=True) == {"table": 6, "by-day": 1}


@pytest.mark.sqlite("counts SQLite's statements")
def test_write_changes_exactly_the_entries_that_differ(call, put_item, statements):
    """One read of the item, one write of the item, and one for each entry that is put or deleted.

    A change of the size is counted in the item collection, by one read and one write.
    """
    put_item()

    def count(**attributes: object) -> int:
        return int(statements("PutItem", TableName="orders", Item={**ITEM, **attributes}))

    assert count() == 2
    assert count(paid={"BOOL": False}) == 3
    assert count(day={"N": "5"}) == 2 + 2 * 2 + 0
    assert statements("DeleteItem", TableName="orders", Key=KEY) == 4 + 2


def test_size_of_an_item_collection_is_shown_where_there_is_a_local_index(call, put_item):
    metrics = {"ItemCollectionKey": some("customer"), "SizeEstimateRangeGB": [0.0, 1.0]}
    asked = {"ReturnItemCollectionMetrics": "SIZE"}
    plain = {**ORDERS, "TableName": "plain"}
    call("CreateTable", **plain)
    update = {"UpdateExpression": "SET note = :n", "ExpressionAttributeValues": {":n": {"S": "x"}}}
    put = {"PutRequest": {"Item": ITEM}}
    put_action = {"Put": {"TableName": "orders", "Item": ITEM}}

    assert call("PutItem", TableName="orders", Item=ITEM, **asked)["ItemCollectionMetrics"] == metrics
    assert call("UpdateItem", TableName="orders", Key=KEY, **update, **asked)["ItemCollectionMetrics"] == metrics
    assert call("DeleteItem", TableName="orders", Key=KEY, **asked)["ItemCollectionMetrics"] == metrics
    batch = call("BatchWriteItem", RequestItems={"orders": [put], "plain": [put]}, **asked)
    assert batch["ItemCollectionMetrics"] == {"orders": [metrics]}
    transaction = call("TransactWriteItems", TransactItems=[put_action], **asked)
    assert transaction["ItemCollectionMetrics"] == {"orders": [metrics]}
    assert "ItemCollectionMetrics" not in call("PutItem", TableName="plain", Item=ITEM, **asked)
