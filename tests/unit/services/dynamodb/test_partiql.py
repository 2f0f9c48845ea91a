"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction: PartiQL on real tables."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.services.dynamodb.conftest import key

WHOLE_KEY = "Where clause does not contain a mandatory equality on all key attributes"


@pytest.fixture
def run(call, orders):
    """Run a statement; parameters are attribute values."""

    def run(statement, *parameters, **params):
        given = {"Parameters": list(parameters)} if parameters else {}
        return call("ExecuteStatement", Statement=statement, **given, **params)

    return run


@pytest.fixture
def filled(put):
    """Orders 1 to 4 of ann, and 1 to 2 of bob; the odd ones are gifts."""
    for customer, count in (("ann", 4), ("bob", 2)):
        for number in range(1, count + 1):
            put(customer, number, **({"gift": {"BOOL": True}} if number % 2 else {}))


@pytest.fixture
def numbers(run, filled):
    """The order numbers that a SELECT answers, as text."""

    def numbers(clause, *parameters, **params):
        answer = run(f"SELECT * FROM orders {clause}", *parameters, **params)
        return " ".join(item["customer"]["S"] + item["order_no"]["N"] for item in answer["Items"])

    return numbers


def test_item_is_inserted_once(run, call):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html"""
    insert = "INSERT INTO orders VALUE {'customer': ?, 'order_no': 1, 'lines': [{'sku': 'a'}]}"

    assert run(insert, {"S": "ann"}) == {"Items": []}

    assert call("GetItem", TableName="orders", Key=key("ann", 1))["Item"] == {
        **key("ann", 1), "lines": {"L": [{"M": {"sku": {"S": "a"}}}]},
    }  # fmt: skip
    with pytest.raises(Exception, match="DuplicateItemException: Duplicate primary key exists in table"):
        run(insert, {"S": "ann"})


def test_insert_needs_the_whole_key(refusal, orders):
    code, message = refusal("ExecuteStatement", Statement="INSERT INTO orders VALUE {'customer': 'ann'}")

    assert (code, "Missing the key order_no in the item" in message) == ("ValidationException", True)


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("WHERE customer = 'ann'", "ann1 ann2 ann3 ann4"),
        ("WHERE customer = 'ann' AND order_no > 2", "ann3 ann4"),
        ("WHERE customer = 'ann' AND order_no BETWEEN 2 AND 3", "ann2 ann3"),
        ("WHERE customer = 'ann' AND gift = true", "ann1 ann3"),
        ("WHERE customer = 'ann' AND gift IS MISSING ORDER BY order_no DESC", "ann4 ann2"),
        ("WHERE customer = 'bob' OR customer = 'ann'", "bob1 bob2 ann1 ann2 ann3 ann4"),
        ("WHERE customer IN ['ann', 'bob'] ORDER BY customer DESC", "bob1 bob2 ann1 ann2 ann3 ann4"),
        ("WHERE customer IN ['bob', 'ann'] ORDER BY customer, order_no DESC", "ann4 ann3 ann2 ann1 bob2 bob1"),
        ("WHERE customer = 'ann' AND order_no = 5", ""),
    ],
)
def test_select_by_partition_key_is_a_query(numbers, clause, found):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.select.html"""
    assert numbers(clause) == found


def test_select_without_a_partition_key_is_a_scan(run, numbers):
    assert sorted(numbers("WHERE order_no = 2").split()) == ["ann2", "bob2"]
    scanned = run("SELECT * FROM orders WHERE order_no = 2", ReturnConsumedCapacity="TOTAL")
    asked = run("SELECT * FROM orders WHERE customer = 'ann' AND order_no = 2", ReturnConsumedCapacity="TOTAL")
    assert scanned["ConsumedCapacity"] == {"TableName": "orders", "CapacityUnits": 2.0}
    assert asked["ConsumedCapacity"] == {"TableName": "orders", "CapacityUnits": 0.5}


def test_select_shows_paths_under_their_last_names(run):
    run("INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 1, 'a': {'b': [1, 2]}}")

    assert run("SELECT a.b, a.b[1], nothing FROM orders")["Items"] == [
        {"b": {"L": [{"N": "1"}, {"N": "2"}]}, "b[1]": {"N": "2"}}
    ]
    assert run("SELECT nothing FROM orders")["Items"] == [{}]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "clause",
    [
        "", "WHERE gift = true", "WHERE customer = 'ann'",
        "WHERE customer = 'ann' AND gift = true ORDER BY order_no DESC",
        "WHERE customer IN ['ann', 'bob'] ORDER BY customer DESC, order_no DESC",
        ("WHERE customer = 'ann' AND order_no = 1 OR customer = 'bob' AND order_no = 2"
        " OR customer = 'ann' AND order_no > 2"),
    ],
)  # fmt: skip
def test_pages_of_a_select_follow_each_other(run, numbers, clause, limit):
    """Limit counts what is evaluated, before the filter; NextToken goes on where a page ended.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
    """
    whole = numbers(clause)

    pages: list[list[dict[str, Any]]] = []
    answer: dict[str, Any] = {"NextToken": None}
    while "NextToken" in answer and len(pages) < 20:
        goes_on = {"NextToken": answer["NextToken"]} if pages else {}
        answer = run(f"SELECT * FROM orders {clause}", Limit=limit, **goes_on)
        pages.append(answer["Items"])

    assert all(len(page) <= limit for page in pages)
    assert " ".join(item["customer"]["S"] + item["order_no"]["N"] for item in itertools.chain(*pages)) == whole


def test_token_that_is_none_is_refused(refusal, run, filled):
    token = run("SELECT * FROM orders", Limit=1)["NextToken"]

    assert refusal("ExecuteStatement", Statement="SELECT * FROM orders", NextToken="garbage") == (
        "ValidationException", "Invalid NextToken",
    )  # fmt: skip
    elsewhere = "SELECT * FROM orders WHERE customer = 'nobody'"
    assert refusal("ExecuteStatement", Statement=elsewhere, NextToken=token) == (
        "ValidationException", "The provided starting key is invalid",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("returning", "returned"),
    [
        ("ALL OLD", {**key("ann", 1), "a": {"N": "1"}, "b": {"N": "1"}}),
        ("ALL NEW", {**key("ann", 1), "a": {"N": "2"}, "b": {"N": "1"}}),
        ("MODIFIED OLD", {"a": {"N": "1"}}),
        ("MODIFIED NEW", {"a": {"N": "2"}}),
    ],
)
def test_update_returns_what_was_asked_for(run, put, returning, returned):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.update.html"""
    put("ann", 1, a={"N": "1"}, b={"N": "1"})
    update = "UPDATE orders SET a = a + 1 WHERE customer = 'ann' AND order_no = 1"

    assert run(f"{update} RETURNING {returning} *")["Items"] == [returned]
    assert run(update)["Items"] == []


def test_update_needs_an_item_for_which_its_condition_holds(call, run, put, refusal):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.update.html"""
    put("ann", 1, a={"N": "1"})
    failed = ("ConditionalCheckFailedException", "The conditional request failed")
    update = "UPDATE orders SET a = 2 WHERE customer = 'ann' AND order_no = "

    assert refusal("ExecuteStatement", Statement=f"{update} 2") == failed
    assert refusal("ExecuteStatement", Statement=f"{update} 1 AND a = 7") == failed
    run(f"{update} 1 AND a = 1")

    assert call("Scan", TableName="orders")["Items"] == [{**key("ann", 1), "a": {"N": "2"}}]


def test_failed_condition_shows_the_item_if_asked(world, put):
    put("ann", 1, a={"N": "1"})

    with pytest.raises(ClientError) as caught:
        world.client("dynamodb").execute_statement(
            Statement="DELETE FROM orders WHERE customer = 'ann' AND order_no = 1 AND a = 2",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    assert caught.value.response["Item"] == {**key("ann", 1), "a": {"N": "1"}}


def test_delete_of_a_missing_item_succeeds(run, put, refusal):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.delete.html"""
    put("ann", 1, a={"N": "1"})
    delete = "DELETE FROM orders WHERE customer = 'ann' AND order_no = 1"

    assert refusal("ExecuteStatement", Statement=f"{delete} AND a = 2")[0] == "ConditionalCheckFailedException"
    assert run(f"{delete} RETURNING ALL OLD *")["Items"] == [{**key("ann", 1), "a": {"N": "1"}}]
    assert run(f"{delete} AND a = 2 RETURNING ALL OLD *")["Items"] == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE orders SET a = 1 WHERE customer = 'ann'", WHOLE_KEY),
        ("DELETE FROM orders WHERE customer = 'ann' AND order_no > 1", WHOLE_KEY),
        ("DELETE FROM orders", WHOLE_KEY),
        ('SELECT * FROM "orders"."nope"', "The table does not have the specified index"),
        ("SELECT * FROM orders ORDER BY order_no",
         "Must have WHERE clause in the statement when using ORDER BY clause."),
        (
            "UPDATE orders SET customer = 'bob' WHERE customer = 'ann' AND order_no = 1",
            ("One or more parameter values were invalid: "
            "Cannot update attribute customer. This attribute is part of the key"),
        ),
        ("DELETE FROM orders WHERE customer = 1 AND order_no = 1",
         "The provided key element does not match the schema"),
    ],
)  # fmt: skip
def test_statement_that_the_table_cannot_answer_is_refused(refusal, orders, statement, message):
    assert refusal("ExecuteStatement", Statement=statement) == ("ValidationException", message)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM orders WHERE gift = true ORDER BY order_no",
        "SELECT * FROM orders WHERE customer = 'ann' ORDER BY gift",
        "SELECT * FROM orders WHERE customer IN ['a', 'b'] ORDER BY order_no",
        "EXISTS(SELECT * FROM orders WHERE customer = 'ann' AND order_no = 1)",
        'DELETE FROM "orders"."i" WHERE customer = \'ann\' AND order_no = 1',
    ],
)
def test_statement_that_no_query_can_answer_is_refused(refusal, orders, statement):
    assert refusal("ExecuteStatement", Statement=statement)[0] == "ValidationException"


def test_missing_table_is_not_found(refusal):
    assert refusal("ExecuteStatement", Statement="SELECT * FROM nothing") == (
        "ResourceNotFoundException", "Requested resource not found",
    )  # fmt: skip


def test_large_pages_end_at_1_mb(run, put):
    """The queries of one SELECT share a page of 1 MB."""
    for customer, number in itertools.product("abc", range(2)):
        put(customer, number, text={"S": "x" * 300_000})

    first = run("SELECT * FROM orders WHERE customer IN ['a', 'b', 'c']")
    second = run("SELECT * FROM orders WHERE customer IN ['a', 'b', 'c']", NextToken=first["NextToken"])

    assert (len(first["Items"]), len(second["Items"])) == (4, 2)


def test_each_statement_of_a_batch_has_its_answer(call, put):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html"""
    put("ann", 1, a={"N": "1"})
    where = "WHERE customer = 'ann' AND order_no ="
    texts = [
        "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 1}",
        "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 2}",
        f"UPDATE orders SET a = 2 {where} 1 RETURNING ALL NEW *",
        f"UPDATE orders SET a = 2 {where} 7",
        "DELETE FROM orders WHERE customer = 'ann'",
        "DELETE FROM nothing WHERE id = 1",
        "nonsense",
    ]

    answer = call("BatchExecuteStatement", Statements=[{"Statement": text} for text in texts],
                  ReturnConsumedCapacity="TOTAL")  # fmt: skip

    assert answer["ConsumedCapacity"] == [{"TableName": "orders", "CapacityUnits": 2.0}]
    assert answer["Responses"] == [
        {"TableName": "orders",
         "Error": {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}},
        {"TableName": "orders"},
        {"TableName": "orders", "Item": {**key("ann", 1), "a": {"N": "2"}}},
        {"TableName": "orders",
         "Error": {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}},
        {"Error": {"Code": "ValidationError", "Message": WHOLE_KEY}},
        {"Error": {"Code": "ResourceNotFound", "Message": "Requested resource not found"}},
        {"Error": {
            "Code": "ValidationError",
            "Message": "Statement wasn't well formed, can't be processed: Expected data manipulation",
        }},
    ]  # fmt: skip


def test_batch_reads_items_by_their_whole_keys(call, put):
    put("ann", 1, a={"N": "1"})
    texts = [
        "SELECT a FROM orders WHERE customer = 'ann' AND order_no = 1",
        "SELECT a FROM orders WHERE customer = 'ann' AND order_no = 2",
        "SELECT a FROM orders WHERE customer = 'ann' AND order_no = 1 AND a = 7",
        "SELECT a FROM orders WHERE customer = 'ann'",
    ]

    answer = call("BatchExecuteStatement", Statements=[{"Statement": text} for text in texts])

    message = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
    assert answer["Responses"] == [
        {"TableName": "orders", "Item": {"a": {"N": "1"}}}, {"TableName": "orders"}, {"TableName": "orders"},
        {"Error": {"Code": "ValidationError", "Message": message}},
    ]  # fmt: skip


def test_batch_does_not_mix_reads_and_writes(refusal, orders):
    texts = [
        "SELECT * FROM orders WHERE customer = 'ann' AND order_no = 1",
        "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 1}",
    ]

    for operation, member in (("BatchExecuteStatement", "Statements"), ("ExecuteTransaction", "TransactStatements")):
        assert refusal(operation, **{member: [{"Statement": text} for text in texts]})[0] == "ValidationException"


def test_transaction_does_all_or_nothing(call, put, world):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.transactions.html"""
    put("ann", 1, a={"N": "1"})
    texts = [
        "EXISTS(SELECT * FROM orders WHERE customer = 'ann' AND order_no = 1 AND a = ? AND b IS MISSING)",
        "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 2}",
        "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 3}",
    ]
    client = world.client("dynamodb")

    def transact(value: str) -> dict[str, Any]:
        entries: list[dict[str, Any]] = [{"Statement": text} for text in texts]
        entries[0]["Parameters"] = [{"N": value}]
        answer: dict[str, Any] = client.execute_transaction(
            TransactStatements=entries, ReturnConsumedCapacity="TOTAL"
        )  # fmt: skip
        return answer

    with pytest.raises(ClientError) as failed:
        transact("7")
    before = call("Scan", TableName="orders")["Count"]
    done = transact("1")
    with pytest.raises(ClientError) as again:
        transact("1")

    assert [reason["Code"] for reason in failed.value.response["CancellationReasons"]] == [
        "ConditionalCheckFailed", "None", "None",
    ]  # fmt: skip
    assert before == 1
    assert done["Responses"] == []
    assert done["ConsumedCapacity"] == [{"TableName": "orders", "CapacityUnits": 6.0, "WriteCapacityUnits": 6.0}]
    assert [reason["Code"] for reason in again.value.response["CancellationReasons"]] == [
        "None", "DuplicateItem", "DuplicateItem",
    ]  # fmt: skip


def test_exists_is_false_for_a_missing_item(world, orders):
    """An empty collection is not there, whatever its WHERE clause would say of no attributes."""
    statement = "EXISTS(SELECT * FROM orders WHERE customer = 'ann' AND order_no = 1 AND b IS MISSING)"

    with pytest.raises(ClientError, match=r"\[ConditionalCheckFailed\]"):
        world.client("dynamodb").execute_transaction(TransactStatements=[{"Statement": statement}])


def test_transaction_reads_items_as_of_one_instant(call, put):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.transactions.html"""
    put("ann", 1, a={"N": "1"})
    texts = [
        "SELECT * FROM orders WHERE customer = 'ann' AND order_no = 1",
        "SELECT nothing FROM orders WHERE customer = 'bob' AND order_no = 1",
    ]
    put("bob", 1)

    answer = call("ExecuteTransaction", TransactStatements=[{"Statement": text} for text in texts])
    absent = call("ExecuteTransaction", TransactStatements=[{"Statement": texts[0].replace("1", "9")}])

    assert answer["Responses"] == [{"Item": {**key("ann", 1), "a": {"N": "1"}}}, {"Item": {}}]
    assert absent["Responses"] == [{}]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("nonsense", "Statement wasn't well formed, can't be processed: Expected data manipulation"),
        ("DELETE FROM orders WHERE customer = 'ann' AND order_no = 1 RETURNING ALL OLD *",
         "RETURNING clause is not supported in ExecuteTransaction."),
        ("SELECT * FROM \"orders\".\"i\" WHERE customer = 'ann' AND order_no = 1",
         "Reads on indices are not supported within transactions."),
        ("DELETE FROM orders WHERE customer = 'ann'", WHOLE_KEY),
        ("SELECT * FROM orders WHERE customer = 'ann'", WHOLE_KEY),
    ],
)  # fmt: skip
def test_statement_that_no_transaction_takes_is_named(refusal, orders, statement, message):
    assert refusal("ExecuteTransaction", TransactStatements=[{"Statement": statement}]) == (
        "ValidationException", f"Validation failed in TransactStatements[0]: {message}",
    )  # fmt: skip


def test_one_item_is_not_written_twice_in_a_transaction(refusal, orders):
    insert = {"Statement": "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 1}"}

    assert refusal("ExecuteTransaction", TransactStatements=[insert, insert]) == (
        "ValidationException", "Transaction request cannot include multiple operations on one item",
    )  # fmt: skip


def test_same_token_counts_once(call, refusal, orders):
    insert = {"Statement": "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 1}"}
    other = {"Statement": "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 2}"}

    first = call("ExecuteTransaction", TransactStatements=[insert], ClientRequestToken="t")
    second = call("ExecuteTransaction", TransactStatements=[insert], ClientRequestToken="t")

    assert first == second == {"Responses": []}
    code, _ = refusal("ExecuteTransaction", TransactStatements=[other], ClientRequestToken="t")
    assert code == "IdempotentParameterMismatchException"


def test_item_that_is_not_valid_cancels_the_transaction(world, orders):
    insert = "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 'x'}"

    with pytest.raises(ClientError) as caught:
        world.client("dynamodb").execute_transaction(TransactStatements=[{"Statement": insert}])

    assert [reason["Code"] for reason in caught.value.response["CancellationReasons"]] == ["ValidationError"]
