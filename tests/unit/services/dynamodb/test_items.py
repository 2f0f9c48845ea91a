"""Single items: stored under their key, changed in place, guarded by conditions, counted in capacity units."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.wire.message import HttpRequest
from tests.unit.services.dynamodb.conftest import key

DETECTED = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "
SCHEMA = "The provided key element does not match the schema"
FAILED = ("ConditionalCheckFailedException", "The conditional request failed")
EVERY_TYPE = {
    "s": {"S": "text"}, "n": {"N": "1.5"}, "b": {"B": b"\x00\xff"}, "bool": {"BOOL": False}, "null": {"NULL": True},
    "ss": {"SS": ["x", "y"]}, "ns": {"NS": ["1", "2"]}, "bs": {"BS": [b"z"]},
    "l": {"L": [{"S": "deep"}, {"B": b"\x01"}]}, "m": {"M": {"B": {"S": "name of a type"}}},
}  # fmt: skip


def test_item_comes_back_as_it_was_put(world, orders):
    """Every type survives the wire and the store, binary among them."""
    client = world.client("dynamodb")
    item = {**key("ann", 1), **EVERY_TYPE}

    client.put_item(TableName=orders, Item=item)

    assert client.get_item(TableName=orders, Key=key("ann", 1))["Item"] == item
    assert "Item" not in client.get_item(TableName=orders, Key=key("ann", 2))


def test_numbers_of_one_value_are_one_key(call, orders, put):
    put("ann", "1.0", note={"S": "first"})
    put("ann", "10e-1", note={"S": "second"})

    assert call("Scan", TableName=orders)["Count"] == 1
    assert call("GetItem", TableName=orders, Key=key("ann", 1))["Item"]["note"] == {"S": "second"}


def test_put_replaces_the_whole_item_and_can_return_the_old_one(call, orders, put):
    put("ann", 1, note={"S": "gift"})

    replaced = call("PutItem", TableName=orders, Item=key("ann", 1), ReturnValues="ALL_OLD")
    again = call("PutItem", TableName=orders, Item=key("ann", 2), ReturnValues="ALL_OLD")

    assert replaced == {"Attributes": {**key("ann", 1), "note": {"S": "gift"}}}
    assert again == {}
    assert call("GetItem", TableName=orders, Key=key("ann", 1))["Item"] == key("ann", 1)


def test_delete_can_return_the_old_item_and_is_no_error_without_one(call, orders, put):
    put("ann", 1, note={"S": "gift"})

    assert call("DeleteItem", TableName=orders, Key=key("ann", 1), ReturnValues="ALL_OLD") == {
        "Attributes": {**key("ann", 1), "note": {"S": "gift"}}
    }
    assert call("DeleteItem", TableName=orders, Key=key("ann", 1), ReturnValues="ALL_OLD") == {}


def test_get_returns_only_what_the_projection_names(call, orders, put):
    put("ann", 1, note={"S": "gift"}, parcels={"L": [{"S": "a"}, {"S": "b"}]})
    where = {"TableName": orders, "Key": key("ann", 1)}

    by_expression = call(
        "GetItem", **where, ProjectionExpression="#n, parcels[1]", ExpressionAttributeNames={"#n": "note"}
    )
    by_names = call("GetItem", **where, AttributesToGet=["note"])

    assert by_expression["Item"] == {"note": {"S": "gift"}, "parcels": {"L": [{"S": "b"}]}}
    assert by_names["Item"] == {"note": {"S": "gift"}}


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"customer": {"S": "ann"}}, INVALID + "Missing the key order_no in the item"),
        (
            {"customer": {"S": "ann"}, "order_no": {"S": "1"}},
            INVALID + "Type mismatch for key order_no expected: N actual: S",
        ),
        ({**key("ann", 1), "big": {"S": "x" * 409_600}}, "Item size has exceeded the maximum allowed size"),
        (
            key("", 1),
            INVALID + "The AttributeValue for a key attribute cannot contain an empty string value. Key: customer",
        ),
        (
            key("x" * 2_049, 1),
            INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        (
            {**key("ann", 1), "set": {"SS": []}},
            DETECTED + INVALID + "An string set  may not be empty",
        ),
    ],
)
def test_item_that_cannot_be_stored_is_refused(call, refusal, orders, item, message):
    assert refusal("PutItem", TableName=orders, Item=item) == ("ValidationException", message)
    assert call("Scan", TableName=orders)["Count"] == 0


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"customer": {"S": "ann"}},
        {"customer": {"N": "1"}, "order_no": {"N": "1"}},
        {**key("ann", 1), "note": {"S": "gift"}},
        {"customer": {"S": "ann"}, "other": {"N": "1"}},
        {},
    ],
)
def test_key_must_be_that_of_the_table(refusal, orders, operation, wrong):
    assert refusal(operation, TableName=orders, Key=wrong) == ("ValidationException", SCHEMA)


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("PutItem", {"Item": key("ann", 1)}),
        ("GetItem", {"Key": key("ann", 1)}),
        ("UpdateItem", {"Key": key("ann", 1)}),
        ("DeleteItem", {"Key": key("ann", 1)}),
        ("Scan", {}),
        (
            "Query",
            {"KeyConditionExpression": "customer = :c", "ExpressionAttributeValues": {":c": {"S": "ann"}}},
        ),
    ],
)
def test_items_of_a_missing_table_are_not_found(refusal, operation, params):
    assert refusal(operation, TableName="missing", **params) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )


# Updates


def test_update_begins_an_item_that_is_not_there(call, orders):
    call("UpdateItem", TableName=orders, Key=key("ann", 1))

    assert call("GetItem", TableName=orders, Key=key("ann", 1))["Item"] == key("ann", 1)


@pytest.mark.parametrize(
    "update",
    [
        {"UpdateExpression": "REMOVE note"},
        {"UpdateExpression": "REMOVE note DELETE tags :t", "ExpressionAttributeValues": {":t": {"SS": ["a"]}}},
        {"AttributeUpdates": {"note": {"Action": "DELETE"}}},
    ],
)
def test_update_that_only_deletes_begins_no_item(call, orders, update):
    """Deleting attributes of an item that does not exist changes nothing.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.AttributeUpdates.html
    """
    answer = call("UpdateItem", TableName=orders, Key=key("ann", 1), ReturnValues="ALL_NEW", **update)

    assert answer == {}
    assert call("GetItem", TableName=orders, Key=key("ann", 1)) == {}


@pytest.mark.parametrize(
    ("return_values", "attributes"),
    [
        (None, None),
        ("NONE", None),
        ("ALL_OLD", {**key("ann", 1), "count": {"N": "1"}, "note": {"S": "gift"}}),
        ("ALL_NEW", {**key("ann", 1), "count": {"N": "3"}}),
        ("UPDATED_OLD", {"count": {"N": "1"}, "note": {"S": "gift"}}),
        ("UPDATED_NEW", {"count": {"N": "3"}}),
    ],
)
def test_update_returns_what_was_asked_for(call, orders, put, return_values, attributes):
    put("ann", 1, count={"N": "1"}, note={"S": "gift"})
    asked = {} if return_values is None else {"ReturnValues": return_values}

    answer = call(
        "UpdateItem", TableName=orders, Key=key("ann", 1), **asked, UpdateExpression="ADD #c :two REMOVE note",
        ExpressionAttributeNames={"#c": "count"}, ExpressionAttributeValues={":two": {"N": "2"}},
    )  # fmt: skip

    assert answer.get("Attributes") == attributes


def test_update_of_nothing_old_returns_no_attributes(call, orders):
    answer = call(
        "UpdateItem", TableName=orders, Key=key("ann", 1), UpdateExpression="SET note = :n",
        ExpressionAttributeValues={":n": {"S": "gift"}}, ReturnValues="UPDATED_OLD",
    )  # fmt: skip

    assert answer == {}


def test_update_takes_the_parameters_from_before_expressions(call, orders, put):
    put("ann", 1, count={"N": "1"}, note={"S": "gift"})

    call(
        "UpdateItem", TableName=orders, Key=key("ann", 1),
        AttributeUpdates={"count": {"Action": "ADD", "Value": {"N": "2"}}, "note": {"Action": "DELETE"}},
        Expected={"count": {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "1"}]}},
    )  # fmt: skip

    assert call("GetItem", TableName=orders, Key=key("ann", 1))["Item"] == {**key("ann", 1), "count": {"N": "3"}}


@pytest.mark.parametrize("attribute", ["customer", "order_no"])
@pytest.mark.parametrize("legacy", [True, False])
def test_key_attribute_is_never_updated(refusal, orders, attribute, legacy):
    change = (
        {"AttributeUpdates": {attribute: {"Value": {"S": "x"}}}}
        if legacy
        else {"UpdateExpression": f"REMOVE {attribute}"}
    )

    assert refusal("UpdateItem", TableName=orders, Key=key("ann", 1), **change) == (
        "ValidationException",
        INVALID + f"Cannot update attribute {attribute}. This attribute is part of the key",
    )


def test_update_cannot_make_an_item_too_large(call, refusal, orders, put):
    put("ann", 1, half={"S": "x" * 300_000})
    update = {
        "TableName": orders, "Key": key("ann", 1), "UpdateExpression": "SET more = half",
    }  # fmt: skip

    assert refusal("UpdateItem", **update)[1] == "Item size to update has exceeded the maximum allowed size"
    assert "more" not in call("GetItem", TableName=orders, Key=key("ann", 1))["Item"]


# Conditions


ABSENT = {"ConditionExpression": "attribute_not_exists(customer)"}


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("PutItem", {"Item": {**key("ann", 1), "note": {"S": "new"}}}),
        ("DeleteItem", {"Key": key("ann", 1)}),
        (
            "UpdateItem",
            {
                "Key": key("ann", 1), "UpdateExpression": "SET note = :n",
                "ExpressionAttributeValues": {":n": {"S": "new"}},
            },
        ),
    ],
)  # fmt: skip
def test_write_whose_condition_fails_changes_nothing(call, refusal, put, operation, params):
    put("ann", 1, note={"S": "gift"})

    assert refusal(operation, TableName="orders", **params, **ABSENT) == FAILED
    assert call("GetItem", TableName="orders", Key=key("ann", 1))["Item"]["note"] == {"S": "gift"}


def test_failed_condition_returns_the_item_if_asked(world, orders, put):
    """ReturnValuesOnConditionCheckFailure ALL_OLD puts the item as it is into the error."""
    put("ann", 1, data={"B": b"\x01"})
    client = world.client("dynamodb")

    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as asked:
        client.put_item(
            TableName=orders, Item=key("ann", 1), ReturnValuesOnConditionCheckFailure="ALL_OLD", **ABSENT
        )  # fmt: skip
    with pytest.raises(ClientError) as not_asked:
        client.put_item(TableName=orders, Item=key("ann", 1), **ABSENT)

    assert asked.value.response["Item"] == {**key("ann", 1), "data": {"B": b"\x01"}}
    assert asked.value.response["Error"]["Message"] == FAILED[1]
    assert "Item" not in not_asked.value.response


def test_failed_condition_on_a_missing_item_returns_none(world, orders):
    client = world.client("dynamodb")

    with pytest.raises(ClientError) as caught:
        client.delete_item(
            TableName=orders, Key=key("ann", 1), ConditionExpression="attribute_exists(customer)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )  # fmt: skip

    assert "Item" not in caught.value.response


def test_condition_lets_the_first_put_through_and_no_second(call, refusal, orders):
    put_once = {"TableName": orders, "Item": key("ann", 1), **ABSENT}

    assert call("PutItem", **put_once) == {}
    assert refusal("PutItem", **put_once) == FAILED


def test_expected_guards_a_put(refusal, orders, put):
    put("ann", 1)

    assert refusal("PutItem", TableName=orders, Item=key("ann", 1), Expected={"customer": {"Exists": False}}) == FAILED


# Parameters that do not go together


@pytest.mark.parametrize(
    ("operation", "params", "message"),
    [
        ("PutItem", {"Item": key("a", 1), "ReturnValues": "ALL_NEW"}, "ReturnValues can only be ALL_OLD or NONE"),
        ("DeleteItem", {"Key": key("a", 1), "ReturnValues": "UPDATED_OLD"}, "ReturnValues can only be ALL_OLD or NONE"),
        (
            "PutItem",
            {"Item": key("a", 1), "Expected": {"customer": {"Exists": False}}, **ABSENT},
            ("Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}"),
        ),
        (
            "UpdateItem",
            {"Key": key("a", 1), "AttributeUpdates": {"x": {"Action": "DELETE"}}, "UpdateExpression": "REMOVE x"},
            ("Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {AttributeUpdates} Expression parameters: {UpdateExpression}"),
        ),
        (
            "DeleteItem",
            {"Key": key("a", 1), "ExpressionAttributeValues": {":x": {"S": "x"}}},
            "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
        ),
        (
            "GetItem",
            {"Key": key("a", 1), "ExpressionAttributeNames": {"#x": "x"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            "PutItem",
            {"Item": key("a", 1), **ABSENT, "ExpressionAttributeNames": {"#x": "x"}},
            DETECTED + "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}",
        ),
        (
            "UpdateItem",
            {
                "Key": key("a", 1), "UpdateExpression": "REMOVE x",
                "ExpressionAttributeValues": {":x": {"S": "x"}},
            },
            DETECTED + "Value provided in ExpressionAttributeValues unused in expressions: keys: {:x}",
        ),
    ],
)  # fmt: skip
def test_contradicting_parameters_are_refused(refusal, orders, operation, params, message):
    assert refusal(operation, TableName=orders, **params) == ("ValidationException", message)


# Capacity


def units(answer: dict[str, Any]) -> float:
    consumed: float = answer["ConsumedCapacity"]["CapacityUnits"]
    return consumed


@pytest.mark.parametrize(
    ("note_bytes", "write_units", "read_units"), [(10, 1, 1), (999, 1, 1), (1_000, 2, 1), (5_000, 5, 2)]
)
def test_capacity_counts_writes_by_1_kb_and_reads_by_4_kb(call, orders, note_bytes, write_units, read_units):
    """The item is 25 bytes larger than its note: names, customer and number count as well."""
    total = {"TableName": orders, "ReturnConsumedCapacity": "TOTAL"}
    item = {**key("ann", 1), "note": {"S": "x" * note_bytes}}

    put = call("PutItem", Item=item, **total)
    weak = call("GetItem", Key=key("ann", 1), **total)
    strong = call("GetItem", Key=key("ann", 1), ConsistentRead=True, **total)
    shrunk = call("PutItem", Item=key("ann", 1), **total)
    deleted = call("DeleteItem", Key=key("ann", 1), **total)
    nothing = call("DeleteItem", Key=key("ann", 1), **total)

    assert put["ConsumedCapacity"] == {"TableName": orders, "CapacityUnits": write_units}
    assert (units(weak), units(strong)) == (read_units / 2, read_units)
    assert (units(shrunk), units(deleted), units(nothing)) == (write_units, 1, 1)


def test_capacity_is_shown_for_the_table_too_if_indexes_are_asked_for(call, orders):
    answer = call("UpdateItem", TableName=orders, Key=key("ann", 1), ReturnConsumedCapacity="INDEXES")

    assert answer["ConsumedCapacity"] == {
        "TableName": orders, "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0},
    }  # fmt: skip
    assert call("PutItem", TableName=orders, Item=key("ann", 1), ReturnConsumedCapacity="NONE") == {}


# Statements


@pytest.mark.parametrize(
    ("operation", "params", "count"),
    [
        ("GetItem", {"Key": key("ann", 1)}, 1),
        ("PutItem", {"Item": key("ann", 1)}, 1),
        ("PutItem", {"Item": key("ann", 2), **ABSENT}, 2),
        ("UpdateItem", {"Key": key("ann", 1), "UpdateExpression": "REMOVE note"}, 2),
        ("DeleteItem", {"Key": key("ann", 1), "ReturnValues": "ALL_OLD"}, 1),
        (
            "Query",
            {"KeyConditionExpression": "customer = :c", "ExpressionAttributeValues": {":c": {"S": "ann"}}},
            1,
        ),
    ],
)
def test_hot_operations_cost_few_statements(put, statements, operation, params, count):
    put("ann", 1)

    assert statements(operation, TableName="orders", **params) == count


def test_batches_and_transactions_cost_the_statements_of_their_items(orders, statements):
    """A batch writes each item without reading it; a transaction reads each before it writes it."""
    puts = [{"PutRequest": {"Item": key("ann", number)}} for number in range(25)]
    both = [{"Put": {"TableName": orders, "Item": key("bob", number), **ABSENT}} for number in range(2)]

    assert statements("BatchWriteItem", RequestItems={orders: puts}) == 25
    assert statements("TransactWriteItems", TransactItems=both) == 4


BAD_UPDATE = {"UpdateExpression": "SET a = :v)", "ExpressionAttributeValues": {":v": {"S": "x"}}}
BAD_CONDITION = {"ConditionExpression": "a = = b"}


@pytest.mark.parametrize(
    ("operation", "params", "begins"),
    [
        ("UpdateItem", {"Key": key("ann", 1), **BAD_UPDATE}, "Invalid UpdateExpression: Syntax error;"),
        ("PutItem", {"Item": key("ann", 1), **BAD_CONDITION}, "Invalid ConditionExpression: Syntax error;"),
        ("DeleteItem", {"Key": key("ann", 1), **BAD_CONDITION}, "Invalid ConditionExpression: Syntax error;"),
        (
            "UpdateItem",
            {"Key": key("ann", 1), "UpdateExpression": "REMOVE a", "ExpressionAttributeValues": {}},
            "ExpressionAttributeValues must not be empty",
        ),
    ],
)
def test_refused_expression_of_a_single_write_is_a_validation_error(refusal, orders, operation, params, begins):
    code, message = refusal(operation, TableName=orders, **params)

    assert code == "ValidationException"
    assert message.startswith(DETECTED + begins)


def test_refused_expression_of_a_transaction_or_a_read_is_told_as_it_is(refusal, orders):
    update = {"Update": {"TableName": orders, "Key": key("ann", 1), **BAD_UPDATE}}

    written = refusal("TransactWriteItems", TransactItems=[update])[1]
    scanned = refusal("Scan", TableName=orders, FilterExpression="a = b", ExpressionAttributeNames={"#x": "a"})[1]

    assert written.startswith("Invalid UpdateExpression: Syntax error;")
    assert scanned.startswith("Value provided in ExpressionAttributeNames unused in expressions")


def test_removing_within_an_item_that_is_not_there_does_nothing(call, orders):
    asked = {"UpdateExpression": "REMOVE a.b", "ReturnValues": "ALL_NEW"}

    assert call("UpdateItem", TableName=orders, Key=key("ann", 1), **asked) == {}
    assert call("GetItem", TableName=orders, Key=key("ann", 1)) == {}


def test_large_answers_come_in_gzip_to_clients_that_accept_it(world, call, orders):
    """boto3 does not ask for it by itself, and checks no checksum that it does not read."""
    call("PutItem", TableName=orders, Item={**key("ann", 1), "text": {"S": "x" * 5_000}})
    body = json.dumps({"TableName": orders, "Key": key("ann", 1)}).encode()
    headers = {"x-amz-target": "DynamoDB_20120810.GetItem", "accept-encoding": "gzip"}

    answer = world.gateway.respond(HttpRequest("POST", "/", "", headers, body))

    assert ("Content-Encoding", "gzip") in answer.headers
    assert json.loads(gzip.decompress(answer.body))["Item"]["text"] == {"S": "x" * 5_000}


def test_table_service_takes_16_mb(world):
    body = b'{"TableName": "orders"}'.ljust(16 * 1024 * 1024 + 1)
    headers = {"x-amz-target": "DynamoDB_20120810.DescribeTable"}

    answer = world.gateway.respond(HttpRequest("POST", "/", "", headers, body))
    hidden = {**headers, "content-encoding": "gzip"}
    inflated = world.gateway.respond(HttpRequest("POST", "/", "", hidden, gzip.compress(body)))
    within = world.gateway.respond(HttpRequest("POST", "/", "", headers, body[:-1]))

    assert (answer.status, inflated.status) == (413, 400)
    assert b"RequestEntityTooLargeException" in answer.body
    assert b"ResourceNotFoundException" in within.body
