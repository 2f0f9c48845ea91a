"""TransactWriteItems and TransactGetItems: all or nothing, and the reasons for nothing."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.unit.services.dynamodb.conftest import Call, key

MISSING = "attribute_not_exists(customer)"


def put_action(number: int, **members: object) -> dict[str, object]:
    return {"Put": {"TableName": "orders", "Item": key("ann", number), **members}}


def count_action(number: int, **members: object) -> dict[str, object]:
    """Add one to the count of an order."""
    return {
        "Update": {
            "TableName": "orders", "Key": key("ann", number), "UpdateExpression": "ADD #c :one",
            "ExpressionAttributeNames": {"#c": "count"}, "ExpressionAttributeValues": {":one": {"N": "1"}}, **members,
        }
    }  # fmt: skip


def check_action(number: int, condition: str = MISSING) -> dict[str, object]:
    return {"ConditionCheck": {"TableName": "orders", "Key": key("ann", number), "ConditionExpression": condition}}


def delete_action(number: int) -> dict[str, object]:
    return {"Delete": {"TableName": "orders", "Key": key("ann", number)}}


@pytest.fixture
def reasons(world, orders):
    """The cancellation reasons of a transaction, as boto3 tells them."""

    def reasons(*actions):
        with pytest.raises(ClientError) as caught:
            world.client("dynamodb").transact_write_items(TransactItems=list(actions))
        assert caught.value.response["Error"]["Code"] == "TransactionCanceledException"
        return caught.value.response["CancellationReasons"]

    return reasons


def items(call: Call) -> list[dict[str, object]]:
    """Ann's orders."""
    wanted = {"KeyConditionExpression": "customer = :c", "ExpressionAttributeValues": {":c": {"S": "ann"}}}
    found: list[dict[str, object]] = call("Query", TableName="orders", **wanted)["Items"]
    return found


def test_transaction_does_all_its_actions(call, put):
    put("ann", 1, count={"N": "1"})
    put("ann", 2)

    answer = call(
        "TransactWriteItems",
        TransactItems=[count_action(1), delete_action(2), put_action(3, ConditionExpression=MISSING), check_action(4)],
    )

    assert answer == {}
    assert items(call) == [{**key("ann", 1), "count": {"N": "2"}}, key("ann", 3)]


def test_transaction_with_a_condition_that_does_not_hold_does_nothing_and_tells_every_reason(call, put, reasons):
    """Each action has its reason, in order; those that could have been done have `None`.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """
    put("ann", 1)
    failed = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}

    told = reasons(
        put_action(2),
        put_action(1, ConditionExpression=MISSING, ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        check_action(3, "attribute_exists(customer)"),
    )

    assert told == [{"Code": "None"}, {**failed, "Item": key("ann", 1)}, failed]
    assert items(call) == [key("ann", 1)]


def test_action_that_is_not_valid_cancels_the_transaction_alone(call, put, reasons):
    """The first key that is not valid is told, and conditions are not looked at."""
    put("ann", 1)
    wrong = {"Put": {"TableName": "orders", "Item": {"customer": {"N": "1"}, "order_no": {"N": "1"}}}}

    told = reasons(put_action(1, ConditionExpression=MISSING), wrong, wrong)

    assert [reason["Code"] for reason in told] == ["None", "ValidationError", "None"]
    assert told[1]["Message"] == (
        "One or more parameter values were invalid: Type mismatch for key customer expected: S actual: N"
    )


def test_update_that_cannot_be_made_cancels_the_transaction(call, put, reasons):
    put("ann", 1, count={"S": "many"})

    told = reasons(put_action(2), count_action(1))

    assert [reason["Code"] for reason in told] == ["None", "ValidationError"]
    assert items(call) == [{**key("ann", 1), "count": {"S": "many"}}]


def test_same_token_counts_once_within_ten_minutes(world, call, orders):
    """A repetition succeeds, changes nothing, and tells what reading the items costs.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """
    request = {"TransactItems": [count_action(1)], "ClientRequestToken": "t", "ReturnConsumedCapacity": "TOTAL"}

    first = call("TransactWriteItems", **request)
    world.advance(minutes=9)
    second = call("TransactWriteItems", **request)
    counted = items(call)
    world.advance(minutes=1)
    call("TransactWriteItems", **request)

    assert first["ConsumedCapacity"] == [{"TableName": orders, "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}]
    assert second["ConsumedCapacity"] == [{"TableName": orders, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}]
    assert counted == [{**key("ann", 1), "count": {"N": "1"}}]
    assert items(call) == [{**key("ann", 1), "count": {"N": "2"}}]


def test_token_of_another_transaction_is_refused(call, refusal, orders):
    call("TransactWriteItems", TransactItems=[put_action(1)], ClientRequestToken="t")

    code, _ = refusal("TransactWriteItems", TransactItems=[put_action(2)], ClientRequestToken="t")

    assert code == "IdempotentParameterMismatchException"


def test_token_of_a_cancelled_transaction_is_not_used(call, refusal, put):
    put("ann", 1)
    request = {"TransactItems": [put_action(1, ConditionExpression=MISSING)], "ClientRequestToken": "t"}

    refusal("TransactWriteItems", **request)
    call("DeleteItem", TableName="orders", Key=key("ann", 1))
    call("TransactWriteItems", **request)

    assert items(call) == [key("ann", 1)]


def test_tokens_are_forgotten_after_ten_minutes(world, call, orders):
    call("TransactWriteItems", TransactItems=[put_action(1)], ClientRequestToken="t/1")

    world.advance(minutes=10)

    assert world.store.run(lambda tx: tx.tokens.next()) is None


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([put_action(1), check_action(1)], "Transaction request cannot include multiple operations on one item"),
        ([{}], "TransactItems can only contain one of Check, Put, Update or Delete"),
        ([{**put_action(1), **delete_action(2)}], "TransactItems can only contain one of Check, Put, Update or Delete"),
        (
            [check_action(1, "attribute_exists(#x)")],
            (
                "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; "
                "attribute name: #x"
            ),
        ),
        (
            [put_action(number, Item={**key("ann", number), "text": {"S": "x" * 400_000}}) for number in range(11)],
            "Transaction payload size cannot exceed 4 MB",
        ),
    ],
)
def test_transaction_that_means_nothing_is_refused_whole(call, refusal, orders, actions, message):
    assert refusal("TransactWriteItems", TransactItems=actions) == ("ValidationException", message)
    assert items(call) == []


def test_transaction_on_a_missing_table_is_not_found(refusal, orders):
    missing = ("ResourceNotFoundException", "Requested resource not found")
    gone = {"TableName": "gone", "Key": key("ann", 1)}

    assert refusal("TransactWriteItems", TransactItems=[put_action(1), {"Delete": gone}]) == missing
    assert refusal("TransactGetItems", TransactItems=[{"Get": gone}]) == missing


def test_items_are_got_in_the_order_asked_and_an_absent_one_has_no_item(call, orders, put):
    put("ann", 1, note={"S": "gift"})
    gets = [
        {"Get": {"TableName": orders, "Key": key("ann", 2)}},
        {"Get": {"TableName": orders, "Key": key("ann", 1), "ProjectionExpression": "note"}},
    ]

    answer = call("TransactGetItems", TransactItems=gets, ReturnConsumedCapacity="TOTAL")

    assert answer["Responses"] == [{}, {"Item": {"note": {"S": "gift"}}}]
    assert answer["ConsumedCapacity"] == [{"TableName": orders, "CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}]


def test_key_that_is_none_cancels_the_getting(refusal, orders):
    gets = [{"Get": {"TableName": orders, "Key": each}} for each in (key("ann", 1), {"customer": {"S": "ann"}})]

    code, message = refusal("TransactGetItems", TransactItems=gets)

    assert code == "TransactionCanceledException"
    assert message.endswith("[None, ValidationError]")


def test_one_item_is_not_got_twice(refusal, orders):
    get = {"Get": {"TableName": "orders", "Key": key("ann", 1)}}

    assert refusal("TransactGetItems", TransactItems=[get, get]) == (
        "ValidationException", "Transaction request cannot include multiple operations on one item",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["Put", "Delete"])
def test_empty_value_in_a_key_refuses_the_transaction_and_cancels_none(refusal, orders, kind):
    member = "Item" if kind == "Put" else "Key"
    action = {kind: {"TableName": "orders", member: key("", 1)}}

    code, message = refusal("TransactWriteItems", TransactItems=[put_action(2), action])

    assert code == "ValidationException"
    assert message.endswith("cannot contain an empty string value. Key: customer")
