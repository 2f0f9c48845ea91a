"""BatchWriteItem and BatchGetItem: what is done of a batch, and which batches are refused."""

from __future__ import annotations

import boto3
import pytest

from tests.unit.services.dynamodb.conftest import ORDERS, key


def puts(*numbers: int) -> list[dict[str, object]]:
    """Requests to put ann's orders of these numbers."""
    return [{"PutRequest": {"Item": key("ann", number)}} for number in numbers]


def deletes(*numbers: int) -> list[dict[str, object]]:
    return [{"DeleteRequest": {"Key": key("ann", number)}} for number in numbers]


def test_batch_puts_and_deletes_items_of_several_tables(call, orders, put):
    call("CreateTable", **{**ORDERS, "TableName": "archive"})
    put("ann", 1)

    answer = call("BatchWriteItem", RequestItems={orders: [*deletes(1), *puts(2)], "archive": puts(1)})
    got = call(
        "BatchGetItem", RequestItems={name: {"Keys": [key("ann", 1), key("ann", 2)]} for name in (orders, "archive")}
    )

    assert answer == {"UnprocessedItems": {}}
    assert got == {"Responses": {orders: [key("ann", 2)], "archive": [key("ann", 1)]}, "UnprocessedKeys": {}}


def test_batch_writer_of_boto3_writes_its_items(world, orders):
    """The batch writer of boto3's Table sends batches of 25, and what is unprocessed again."""
    table = boto3.resource("dynamodb", "us-east-1", aws_access_key_id="a", aws_secret_access_key="b").Table(orders)
    table.meta.client = world.client("dynamodb")

    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item=key("ann", number))

    assert world.client("dynamodb").scan(TableName=orders, Select="COUNT")["Count"] == 60


def test_batch_gets_what_is_asked_for_of_each_item(call, orders, put):
    put("ann", 1, note={"S": "gift"}, price={"N": "3"})
    asked = {
        "Keys": [key("ann", 1), key("ann", 2)],
        "ProjectionExpression": "#n",
        "ExpressionAttributeNames": {"#n": "note"},
    }

    by_expression = call("BatchGetItem", RequestItems={orders: asked})
    by_names = call("BatchGetItem", RequestItems={orders: {"Keys": [key("ann", 1)], "AttributesToGet": ["price"]}})

    assert by_expression["Responses"] == {orders: [{"note": {"S": "gift"}}]}
    assert by_names["Responses"] == {orders: [{"price": {"N": "3"}}]}


def test_batch_gets_16_mb_and_tells_the_keys_that_are_left(call, orders, put):
    """An answer has as many whole items as fit, and UnprocessedKeys can be sent as RequestItems as they are.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
    """
    for number in range(56):
        put("ann", number, text={"S": "x" * 300 * 1024})
    asked = {"Keys": [key("ann", number) for number in range(56)], "ConsistentRead": True}

    first = call("BatchGetItem", RequestItems={orders: asked})
    second = call("BatchGetItem", RequestItems=first["UnprocessedKeys"])

    assert len(first["Responses"][orders]) == 54
    assert second["UnprocessedKeys"] == {}


def test_capacity_of_a_batch_is_told_for_each_table(call, orders, put):
    put("ann", 1, text={"S": "x" * 2_000})

    written = call("BatchWriteItem", RequestItems={orders: [*deletes(1), *puts(2)]}, ReturnConsumedCapacity="TOTAL")
    got = call(
        "BatchGetItem",
        RequestItems={orders: {"Keys": [key("ann", 2), key("ann", 3)]}},
        ReturnConsumedCapacity="INDEXES",
    )

    assert written["ConsumedCapacity"] == [{"TableName": orders, "CapacityUnits": 3.0}]
    assert got["ConsumedCapacity"] == [{"TableName": orders, "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}}]


@pytest.mark.parametrize(
    ("requests", "code", "message"),
    [
        (puts(*range(26)), "ValidationException", None),
        ([*puts(1), *deletes(1)], "ValidationException", "Provided list of item keys contains duplicates"),
        ([{"PutRequest": {"Item": {"customer": {"S": "ann"}}}}], "ValidationException",
         "The provided key element does not match the schema"),
        ([{"DeleteRequest": {"Key": {"customer": {"S": "ann"}}}}], "ValidationException",
         "The provided key element does not match the schema"),
        ([{}], "ValidationException",
         "Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest"),
        ([{"PutRequest": {"Item": {**key("ann", 9), "x": {"S": "x" * 409_600}}}}], "ValidationException",
         "Item size has exceeded the maximum allowed size"),
    ],
)  # fmt: skip
def test_batch_with_a_request_that_is_not_valid_writes_nothing(call, refusal, orders, requests, code, message):
    refused = refusal("BatchWriteItem", RequestItems={orders: [*puts(100), *requests]})

    assert refused[0] == code
    assert message in (None, refused[1])
    assert call("Scan", TableName=orders)["Count"] == 0


def test_batch_over_several_tables_counts_all_its_requests(call, refusal, orders):
    call("CreateTable", **{**ORDERS, "TableName": "archive"})
    half = [key("ann", number) for number in range(60)]

    assert refusal("BatchWriteItem", RequestItems={orders: puts(*range(13)), "archive": puts(*range(13))}) == (
        "ValidationException", "Too many items requested for the BatchWriteItem call",
    )  # fmt: skip
    assert refusal("BatchGetItem", RequestItems={orders: {"Keys": half}, "archive": {"Keys": half}}) == (
        "ValidationException", "Too many items requested for the BatchGetItem call",
    )  # fmt: skip


def test_key_twice_in_a_batch_is_refused(refusal, orders):
    asked = {"Keys": [key("ann", 1), key("ann", "1.0")]}

    assert refusal("BatchGetItem", RequestItems={orders: asked}) == (
        "ValidationException", "Provided list of item keys contains duplicates",
    )  # fmt: skip


def test_batch_of_a_missing_table_is_not_found(call, refusal, orders):
    missing = ("ResourceNotFoundException", "Requested resource not found")

    assert refusal("BatchWriteItem", RequestItems={orders: puts(1), "gone": puts(1)}) == missing
    assert refusal("BatchGetItem", RequestItems={"gone": {"Keys": [key("ann", 1)]}}) == missing
    assert call("Scan", TableName=orders)["Count"] == 0
