"""Item collections: the size of the items of a hash key in a table with a local index, counted and limited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.item_collections import count_place
from redrive.services.dynamodb.model.table import Table
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey, StoredItem
from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import ORDERS, key

LOCAL = {
    "IndexName": "by-day",
    "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "day", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "ALL"},
}
DAY = {"AttributeName": "day", "AttributeType": "N"}
TABLE = {
    **ORDERS,
    "AttributeDefinitions": [*ORDERS["AttributeDefinitions"], DAY],
    "LocalSecondaryIndexes": [LOCAL],
}
ANN = ItemKey(b"ann")
SIZE_EXCEEDED = ("ItemCollectionSizeLimitExceededException", "Collection size exceeded.")
HEADROOM_BYTES = 200


@pytest.fixture
def table(call: Callable[..., Any]) -> str:
    call("CreateTable", **TABLE)
    return "orders"


@pytest.fixture
def counted(world: World) -> Callable[[], int | None]:
    """The counted size of ann's collection, or None."""

    def step(tx: Transaction) -> int | None:
        found = tx.items.get(*count_place(stored_table(tx), ANN))
        return None if found is None else int(found)

    return lambda: world.store.run(step)


@pytest.fixture
def measured(world: World) -> Callable[[], int]:
    """The size of what is stored of ann's collection."""

    def step(tx: Transaction) -> int:
        table = stored_table(tx)
        return sum(tx.items.collection_size(each, b"ann") for each in (table.id, table.indexes[0].id))

    return lambda: world.store.run(step)


@pytest.fixture
def is_nearly_full(world: World, call: Callable[..., Any], table: str) -> None:
    """Ann's collection has one item, and is counted as nearly 10 GB."""
    call("PutItem", TableName=table, Item=key("ann", 1))

    def step(tx: Transaction) -> None:
        place, known_as = count_place(stored_table(tx), ANN)
        size_bytes = limits.ITEM_COLLECTION_BYTES_MAX - HEADROOM_BYTES
        tx.items.reserve(place, known_as)
        tx.items.put(place, StoredItem(*known_as, 0, b"%d" % size_bytes), expires_at=None)

    world.store.run(step)


def stored_table(tx: Transaction) -> Table:
    return next(table for _, table in tx.resources.everywhere(Table))


def item(number: int, **attributes: object) -> dict[str, Any]:
    return {**key("ann", number), **attributes}


def large(number: int) -> dict[str, Any]:
    return item(number, note={"S": "x" * HEADROOM_BYTES})


def test_every_change_of_a_collection_is_counted_with_its_local_entries(call, table, counted, measured):
    """The count is what the stored items and entries have, whatever wrote or deleted them."""
    sizes = []

    def change(operation: str, **params: object) -> None:
        call(operation, **params)
        assert counted() == measured()
        sizes.append(measured())

    change("PutItem", TableName=table, Item=item(1, day={"N": "3"}))
    change("PutItem", TableName=table, Item=item(1, day={"N": "3"}, note={"S": "abc"}))
    change("BatchWriteItem", RequestItems={table: [{"PutRequest": {"Item": large(2)}}]})
    change("TransactWriteItems", TransactItems=[{"Put": {"TableName": table, "Item": item(3, day={"N": "4"})}}])
    change("ExecuteStatement", Statement=f"INSERT INTO \"{table}\" VALUE {{'customer': 'ann', 'order_no': 4}}")
    change("DeleteItem", TableName=table, Key=key("ann", 2))
    change(
        "UpdateItem", TableName=table, Key=key("ann", 3), UpdateExpression="REMOVE #d",
        ExpressionAttributeNames={"#d": "day"},
    )  # fmt: skip

    assert sizes[0] == 52
    assert sizes == sorted(sizes[:5]) + sizes[5:]


def test_collection_that_is_empty_again_has_no_count(call, table, counted):
    call("PutItem", TableName=table, Item=item(1))
    call("DeleteItem", TableName=table, Key=key("ann", 1))

    assert counted() is None


def test_items_that_expire_leave_their_collection(world, call, table, counted, measured):
    call("UpdateTimeToLive", TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    call("PutItem", TableName=table, Item=item(1))
    call("PutItem", TableName=table, Item=item(2, until={"N": str(world.now // 1_000 + 60)}))

    world.advance(seconds=120)

    assert counted() == measured() == 21


def test_collection_without_a_count_is_measured_at_its_next_change(world, call, table, counted, measured):
    """Stores from before collections were counted, and restored tables, have items without a count."""
    call("PutItem", TableName=table, Item=item(1))

    def lose(tx: Transaction) -> None:
        place = count_place(stored_table(tx), ANN)
        tx.items.reserve(*place)
        tx.items.take(*place)

    world.store.run(lose)
    call("PutItem", TableName=table, Item=item(2))

    assert counted() == measured() == 42


@pytest.mark.usefixtures("is_nearly_full")
def test_write_that_grows_a_collection_beyond_10_gb_is_refused(call, refusal, table, counted):
    known = counted()
    put = {"Put": {"TableName": table, "Item": large(2)}}
    update = {"UpdateExpression": "SET note = :n", "ExpressionAttributeValues": {":n": {"S": "x" * HEADROOM_BYTES}}}

    assert refusal("PutItem", TableName=table, Item=large(2)) == SIZE_EXCEEDED
    assert refusal("UpdateItem", TableName=table, Key=key("ann", 1), **update) == SIZE_EXCEEDED
    assert refusal("BatchWriteItem", RequestItems={table: [{"PutRequest": {"Item": large(2)}}]}) == SIZE_EXCEEDED
    with pytest.raises(ServiceError) as cancelled:
        call("TransactWriteItems", TransactItems=[{"Put": {"TableName": table, "Item": {**key("bob", 1)}}}, put])

    assert cancelled.value.members["CancellationReasons"] == [
        {"Code": "None"}, {"Code": "ItemCollectionSizeLimitExceeded", "Message": "Collection size exceeded."},
    ]  # fmt: skip
    assert counted() == known
    assert call("Scan", TableName=table)["Items"] == [key("ann", 1)]


@pytest.mark.usefixtures("is_nearly_full")
def test_statement_that_grows_a_collection_beyond_10_gb_fails_alone(call, table):
    """The other statements of the batch are done; a transaction does none."""
    note = "x" * HEADROOM_BYTES
    grown = {"Statement": f"UPDATE \"{table}\" SET note = '{note}' WHERE customer = 'ann' AND order_no = 1"}
    inserted = {"Statement": f"INSERT INTO \"{table}\" VALUE {{'customer': 'ann', 'order_no': 2}}"}

    batch = call("BatchExecuteStatement", Statements=[grown, inserted])
    with pytest.raises(ServiceError) as cancelled:
        call("ExecuteTransaction", TransactStatements=[grown])

    assert batch["Responses"][0]["Error"]["Code"] == "ItemCollectionSizeLimitExceeded"
    assert cancelled.value.members["CancellationReasons"] == [
        {"Code": "ItemCollectionSizeLimitExceeded", "Message": "Collection size exceeded."}
    ]
    assert call("Scan", TableName=table)["Items"] == [key("ann", 1), key("ann", 2)]


@pytest.mark.usefixtures("is_nearly_full")
def test_full_collection_takes_what_does_not_grow_it(call, refusal, table):
    """Items are deleted and replaced by smaller ones; other collections of the table grow."""
    assert refusal("PutItem", TableName=table, Item=large(2)) == SIZE_EXCEEDED

    call("PutItem", TableName=table, Item=key("ann", 1))
    call("PutItem", TableName=table, Item={**large(1), **key("bob", 1)})
    call("DeleteItem", TableName=table, Key=key("ann", 1))

    assert call("Scan", TableName=table, Select="COUNT")["Count"] == 1


@pytest.mark.usefixtures("is_nearly_full")
def test_size_of_a_collection_is_shown_from_its_count(call, table):
    answer = call("PutItem", TableName=table, Item=key("ann", 2), ReturnItemCollectionMetrics="SIZE")

    assert answer["ItemCollectionMetrics"]["SizeEstimateRangeGB"] == [9.0, 10.0]


@pytest.mark.sqlite("counts SQLite's statements")
def test_counting_a_collection_is_one_read_and_one_write(call, table, statements):
    call("PutItem", TableName=table, Item=item(1))
    call("CreateTable", **{**ORDERS, "TableName": "plain"})

    counted = statements("PutItem", TableName=table, Item=item(2), ReturnItemCollectionMetrics="SIZE")
    plain = statements("PutItem", TableName="plain", Item=item(2), ReturnValues="ALL_OLD")

    assert counted == plain + 3


def test_deleted_table_leaves_no_counts(world, call, table):
    call("PutItem", TableName=table, Item=item(1))
    place = world.store.run(lambda tx: count_place(stored_table(tx), ANN))

    call("DeleteTable", TableName=table)
    world.advance(seconds=60)

    assert world.store.run(lambda tx: tx.items.get(*place)) is None
