"""Definitions of indexes: what tables can have, what is refused, how indexes are added, filled and deleted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import ORDERS
from tests.unit.services.dynamodb.test_tables import ARN, policy_of

INVALID = "One or more parameter values were invalid: "
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
ALL = {"ProjectionType": "ALL"}


def keys(*names: str, hashes: int = 1) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": "HASH" if place < hashes else "RANGE"} for place, name in enumerate(names)
    ]


def index(name: str, *key: str, projection: object = None) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": keys(*key), "Projection": projection or ALL}


def definitions(**types: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": type_name} for name, type_name in types.items()]


DEFINED = definitions(customer="S", order_no="N", city="S", day="N")
BY_CITY = index("by-city", "city", "day")
BY_DAY = index("by-day", "customer", "day", projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]})
INDEXED = {
    **ORDERS, "AttributeDefinitions": DEFINED, "GlobalSecondaryIndexes": [BY_CITY], "LocalSecondaryIndexes": [BY_DAY],
}  # fmt: skip
CREATE = {"AttributeDefinitions": DEFINED, "GlobalSecondaryIndexUpdates": [{"Create": BY_CITY}]}


def fill(call: Callable[..., Any], count: int) -> None:
    """Put orders of one customer, in batches."""
    for first in range(0, count, 25):
        requests = [
            {"PutRequest": {"Item": {"customer": {"S": f"c{number}"}, "order_no": {"N": "1"}, "city": {"S": "oslo"},
             "day": {"N": str(number)}}}}
            for number in range(first, min(count, first + 25))
        ]  # fmt: skip
        call("BatchWriteItem", RequestItems={"orders": requests})


def days(call: Callable[..., Any], **params: object) -> list[int]:
    found: list[int] = []
    while True:
        answer = call(
            "Query", TableName="orders", IndexName="by-city", KeyConditionExpression="city = :c",
            ExpressionAttributeValues={":c": {"S": "oslo"}}, **params,
        )  # fmt: skip
        found += [int(item["day"]["N"]) for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            return found
        params = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def test_table_is_described_with_its_indexes(call):
    created = call("CreateTable", **INDEXED)["TableDescription"]
    call(
        "PutItem", TableName="orders",
        Item={"customer": {"S": "ann"}, "order_no": {"N": "1"}, "day": {"N": "3"}, "other": {"S": "x"}},
    )  # fmt: skip
    described = call("DescribeTable", TableName="orders")["Table"]

    assert created["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    assert described["GlobalSecondaryIndexes"] == [
        {
            **BY_CITY, "IndexStatus": "ACTIVE", "IndexSizeBytes": 0, "ItemCount": 0,
            "IndexArn": "arn:aws:dynamodb:us-east-1:000000000000:table/orders/index/by-city",
            "ProvisionedThroughput": {
                "LastIncreaseDateTime": None, "LastDecreaseDateTime": None, "NumberOfDecreasesToday": 0,
                "ReadCapacityUnits": 0, "WriteCapacityUnits": 0,
            },
            "WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"},
        }
    ]  # fmt: skip
    assert described["LocalSecondaryIndexes"] == [
        {
            **BY_DAY, "IndexSizeBytes": len("customer" "ann" "order_no" "day") + 2 * 2, "ItemCount": 1,
            "IndexArn": "arn:aws:dynamodb:us-east-1:000000000000:table/orders/index/by-day",
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"GlobalSecondaryIndexes": [index("one", "nothing")]},
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [nothing], "
            "AttributeDefinitions: [customer, order_no, city, day]",
        ),
        (
            {"GlobalSecondaryIndexes": [index("one", "city")]},
            INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: [customer, order_no, city, day], "
            "keys used: [customer, order_no, city]",
        ),
        (
            {"GlobalSecondaryIndexes": [BY_CITY, BY_CITY]},
            INVALID + "Duplicate index name: by-city",
        ),
        (
            {"GlobalSecondaryIndexes": [BY_CITY], "LocalSecondaryIndexes": [{**BY_DAY, "IndexName": "by-city"}]},
            INVALID + "Duplicate index name: by-city",
        ),
        (
            {"LocalSecondaryIndexes": [index("one", "city", "day")]},
            INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: one. "
            "index hash key: city, table hash key: customer",
        ),
        (
            {"LocalSecondaryIndexes": [index("one", "customer")]},
            INVALID + "Index KeySchema does not have a range key for index: one",
        ),
        (
            {"KeySchema": keys("customer"), "LocalSecondaryIndexes": [index("one", "customer", "day")]},
            INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex",
        ),
        ({"GlobalSecondaryIndexes": []}, INVALID + "List of GlobalSecondaryIndexes is empty"),
        (
            {"LocalSecondaryIndexes": [index(f"by-{number}", "customer", "day") for number in range(6)]},
            INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ),
        (
            {"GlobalSecondaryIndexes": [index(f"by-{number}", "city", "day") for number in range(21)]},
            INVALID + "Number of GlobalSecondaryIndexes exceeds per-table limit of 20",
        ),
        (
            {"GlobalSecondaryIndexes": [index("one", "city", "day", projection={"NonKeyAttributes": ["a"]})]},
            INVALID + "Unknown ProjectionType: null",
        ),
        (
            {"GlobalSecondaryIndexes": [
                index("one", "city", "day", projection={"ProjectionType": "ALL", "NonKeyAttributes": ["a"]})
            ]},
            INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            {"GlobalSecondaryIndexes": [index("one", "city", "day", projection={"ProjectionType": "INCLUDE"})]},
            INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            {"GlobalSecondaryIndexes": [
                index(f"by-{number}", "city", "day", projection={
                    "ProjectionType": "INCLUDE", "NonKeyAttributes": [f"a{place}" for place in range(20)],
                })
                for number in range(6)
            ]},
            INVALID + "Number of projected attributes in all indexes exceeds limit of 100",
        ),
        (
            {"GlobalSecondaryIndexes": [{**BY_CITY, "KeySchema": keys("city", "day")[::-1]}]},
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            {"GlobalSecondaryIndexes": [{**BY_CITY, "ProvisionedThroughput": UNITS}]},
            INVALID + "ProvisionedThroughput should not be specified for index: by-city when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        (
            {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS, "GlobalSecondaryIndexes": [BY_CITY]},
            INVALID + "ProvisionedThroughput must be specified for index: by-city",
        ),
    ],
)  # fmt: skip
def test_wrong_index_is_refused(refusal, params, message):
    base = {**ORDERS, "AttributeDefinitions": DEFINED}

    assert refusal("CreateTable", **{**base, **params}) == ("ValidationException", message)


def test_index_may_be_added_and_deleted(call, orders):
    fill(call, 3)
    added = call("UpdateTable", TableName=orders, **CREATE)["TableDescription"]
    described = call("DescribeTable", TableName=orders)["Table"]
    found = days(call)
    deleted = call("UpdateTable", TableName=orders, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-city"}}])[
        "TableDescription"
    ]
    without = call("DescribeTable", TableName=orders)["Table"]

    assert added["TableStatus"] == "UPDATING"
    assert (added["GlobalSecondaryIndexes"][0]["IndexStatus"], added["GlobalSecondaryIndexes"][0]["Backfilling"]) == (
        "CREATING", False,
    )  # fmt: skip
    assert described["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in described["GlobalSecondaryIndexes"][0]
    assert found == [0, 1, 2]
    assert deleted["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    assert "GlobalSecondaryIndexes" not in without
    assert without["AttributeDefinitions"] == ORDERS["AttributeDefinitions"]


def test_index_of_a_large_table_is_filled_in_pieces_while_items_change(world, call, refusal, orders):
    """Behind the place that was reached, and before it: all writes find their way into the index."""
    fill(call, 500)
    call("UpdateTable", TableName=orders, **CREATE)
    described = call("DescribeTable", TableName=orders)["Table"]["GlobalSecondaryIndexes"][0]
    refused = refusal(
        "Query", TableName=orders, IndexName="by-city", KeyConditionExpression="city = :c",
        ExpressionAttributeValues={":c": {"S": "oslo"}},
    )  # fmt: skip
    for number in range(0, 500, 5):
        call("DeleteItem", TableName=orders, Key={"customer": {"S": f"c{number}"}, "order_no": {"N": "1"}})
        call(
            "UpdateItem", TableName=orders, Key={"customer": {"S": f"c{number + 1}"}, "order_no": {"N": "1"}},
            UpdateExpression="SET #d = #d + :k", ExpressionAttributeNames={"#d": "day"},
            ExpressionAttributeValues={":k": {"N": "1000"}},
        )  # fmt: skip
    world.settle()

    assert (described["IndexStatus"], described["Backfilling"]) == ("CREATING", True)
    assert 0 < described["ItemCount"] < 500
    assert refused == ("ValidationException", "Cannot read from backfilling global secondary index: by-city")
    expected = [number + 1000 * (number % 5 == 1) for number in range(500) if number % 5]
    assert days(call) == sorted(expected)
    shown = call("DescribeTable", TableName=orders)["Table"]["GlobalSecondaryIndexes"][0]
    assert (shown["IndexStatus"], shown["ItemCount"]) == ("ACTIVE", 400)


def test_only_one_index_is_created_at_a_time(call, refusal, orders):
    fill(call, 300)
    two = [{"Create": BY_CITY}, {"Create": index("other", "city")}]
    limit = (
        "LimitExceededException",
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
    )

    assert refusal("UpdateTable", **{**CREATE, "TableName": orders, "GlobalSecondaryIndexUpdates": two}) == limit
    call("UpdateTable", TableName=orders, **CREATE)
    assert refusal("UpdateTable", **{**CREATE, "TableName": orders, "GlobalSecondaryIndexUpdates": two[1:]}) == limit
    call("UpdateTable", TableName=orders, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-city"}}])
    call("UpdateTable", TableName=orders, **CREATE)


def test_filling_ends_with_its_index(world, call, orders):
    """The entries of an index that is deleted, or whose table is, go too; a later index of the name is another one."""
    fill(call, 450)
    call("UpdateTable", TableName=orders, **CREATE)
    call("UpdateTable", TableName=orders, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-city"}}])
    call("UpdateTable", TableName=orders, **CREATE)
    world.settle()
    filled = days(call)
    call("DeleteTable", TableName=orders)
    call("CreateTable", **INDEXED)
    world.settle()

    assert filled == list(range(450))
    assert days(call) == []
    assert world.store.run(lambda tx: tx.timers.next("dynamodb.backfills")) is None


@pytest.mark.sqlite("counts the rows by SQLite's connection")
def test_no_row_is_left_of_a_deleted_index(world, call, orders):
    fill(call, 450)
    call("UpdateTable", TableName=orders, **CREATE)
    call("DeleteTable", TableName=orders)
    world.settle()

    for rows in ("items", "resources WHERE kind LIKE 'dynamodb%'"):
        assert world.store.connection.execute(f"SELECT count(*) FROM {rows}").fetchone() == (0,)


def test_filling_leaves_out_what_cannot_be_a_key_and_later_writes_of_it_are_refused(call, refusal, orders):
    strange = [{"N": "1"}, {"S": ""}, {"S": "x" * 2_049}]
    for number, city in enumerate(strange):
        call(
            "PutItem", TableName=orders,
            Item={"customer": {"S": f"c{number}"}, "order_no": {"N": "1"}, "city": city, "day": {"N": "1"}},
        )  # fmt: skip
    by_city = {**CREATE, "GlobalSecondaryIndexUpdates": [{"Create": BY_CITY}]}
    call("UpdateTable", TableName=orders, **by_city)
    first = {"customer": {"S": "c0"}, "order_no": {"N": "1"}}

    assert call("Scan", TableName=orders, IndexName="by-city")["Count"] == 0
    refused = INVALID + "Type mismatch for Index Key city Expected: S Actual: N IndexName: by-city"
    assert refusal("PutItem", TableName=orders, Item={**first, "city": {"N": "1"}}) == ("ValidationException", refused)
    call(
        "UpdateItem", TableName=orders, Key=first, UpdateExpression="SET note = :n",
        ExpressionAttributeValues={":n": {"S": "kept"}},
    )  # fmt: skip
    call("UpdateTable", TableName=orders, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-city"}}])
    call("PutItem", TableName=orders, Item={**first, "city": {"N": "2"}})


@pytest.mark.parametrize(
    ("updates", "code", "message"),
    [
        (
            [{}],
            "ValidationException",
            INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
            "GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            [{"Delete": {"IndexName": "by-city"}}, {"Update": {"IndexName": "by-city"}}],
            "ValidationException",
            INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: by-city",
        ),
        ([{"Delete": {"IndexName": "none"}}], "ResourceNotFoundException", "Requested resource not found"),
        (
            [{"Delete": {"IndexName": "by-day"}}],
            "ValidationException",
            INVALID + "Local secondary indexes cannot be changed or deleted. Index: by-day",
        ),
        ([{"Create": BY_CITY}], "ValidationException", INVALID + "Index by-city already exists"),
        (
            [{"Update": {"IndexName": "by-city", "ProvisionedThroughput": UNITS}}],
            "ValidationException",
            INVALID + "ProvisionedThroughput should not be specified for index: by-city when BillingMode is "
            "PAY_PER_REQUEST",
        ),
    ],
)
def test_wrong_update_of_an_index_is_refused(call, refusal, updates, code, message):
    call("CreateTable", **INDEXED)

    assert refusal("UpdateTable", TableName="orders", GlobalSecondaryIndexUpdates=updates) == (code, message)


def test_key_keeps_its_type(call, refusal):
    call("CreateTable", **INDEXED)
    change = {
        "AttributeDefinitions": definitions(city="N"),
        "GlobalSecondaryIndexUpdates": [{"Create": index("other", "city")}],
    }

    assert refusal("UpdateTable", TableName="orders", **change)[1] == (
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
        "defined. Existing schema: Schema:[SchemaElement: key{city:S:HASH}] "
        "New schema: Schema:[SchemaElement: key{city:N:HASH}]"
    )


def test_throughput_of_an_index_changes_with_the_table_and_alone(call, refusal):
    call("CreateTable", **INDEXED)
    more = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 1}
    provisioned = {"TableName": "orders", "BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
    of_index = [{"Update": {"IndexName": "by-city", "ProvisionedThroughput": UNITS}}]

    assert refusal("UpdateTable", **provisioned)[1] == (
        INVALID + "ProvisionedThroughput must be specified for index: by-city"
    )
    call("UpdateTable", **provisioned, GlobalSecondaryIndexUpdates=of_index)
    refused = refusal("UpdateTable", TableName="orders", GlobalSecondaryIndexUpdates=of_index)
    of_index[0]["Update"]["ProvisionedThroughput"] = more
    changed = call("UpdateTable", TableName="orders", GlobalSecondaryIndexUpdates=of_index)["TableDescription"]
    back = call("UpdateTable", TableName="orders", BillingMode="PAY_PER_REQUEST")["TableDescription"]

    assert refused[1].startswith(
        "The provisioned throughput for the index by-city will not change. The requested value equals the current "
        "value. Current ReadCapacityUnits provisioned for the index: 1."
    )
    (shown,) = changed["GlobalSecondaryIndexes"]
    assert (shown["IndexStatus"], shown["ProvisionedThroughput"]["ReadCapacityUnits"]) == ("UPDATING", 3)
    assert back["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 0


def test_restart_between_two_beats_goes_on_filling():
    """The place that was reached is in the store: another engine on it fills the rest."""
    world = World(seed=1)
    call = partial(world.call, "dynamodb")
    call("CreateTable", **ORDERS)
    fill(call, 450)
    call("UpdateTable", TableName="orders", **CREATE)

    world.store.run(lambda tx: tx.resources.forget())
    world.settle()

    assert days(call) == list(range(450))
    world.close()


def test_crash_after_a_step_parts_no_entry_from_its_item(world, call):
    """A step that fails after it has written an item and its entries leaves neither."""
    call("CreateTable", **INDEXED)
    item = {"customer": {"S": "ann"}, "order_no": {"N": "1"}, "city": {"S": "oslo"}, "day": {"N": "1"}}

    def fails(tx: Any) -> None:
        world.engine.registry.begin(tx, world.caller(), "dynamodb", "PutItem", {"TableName": "orders", "Item": item})
        raise LookupError("as the test wants")

    with pytest.raises(LookupError):
        world.store.run(fails)

    assert call("Scan", TableName="orders")["Count"] == 0
    assert call("Scan", TableName="orders", IndexName="by-city")["Count"] == 0


def test_role_needs_the_permission_for_the_index(world, call):
    """The permission for the table does not cover its indexes."""
    call("CreateTable", **INDEXED)
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
    may_scan = {"Effect": "Allow", "Action": "dynamodb:Scan", "Resource": [ARN, f"{ARN}/index/by-d*"]}
    iam = world.client("iam")
    role_arn = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=policy_of(trust))["Role"]["Arn"]
    iam.put_role_policy(RoleName="reader", PolicyName="read", PolicyDocument=policy_of(may_scan))
    reader = Caller(Scope("000000000000", "us-east-1"), "id", role_arn, "session")

    allowed = world.engine.call(reader, "dynamodb", "Scan", {"TableName": "orders", "IndexName": "by-day"})
    with pytest.raises(ServiceError) as caught:
        world.engine.call(reader, "dynamodb", "Scan", {"TableName": "orders", "IndexName": "by-city"})

    assert allowed["Count"] == 0
    assert f"is not authorized to perform: dynamodb:Scan on resource: {ARN}/index/by-city" in caught.value.message
