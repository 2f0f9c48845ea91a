"""PartiQL on secondary indexes: `SELECT … FROM "table"."index"`, and backups of tables with indexes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.services.dynamodb.conftest import ORDERS, key

STATE = {"AttributeName": "state", "AttributeType": "S"}
INDEXES = [
    {"IndexName": "by-state",
     "KeySchema": [{"AttributeName": "state", "KeyType": "HASH"}, {"AttributeName": "order_no", "KeyType": "RANGE"}],
     "Projection": {"ProjectionType": "KEYS_ONLY"}},
]  # fmt: skip


@pytest.fixture
def indexed(call):
    """Orders 1 to 4 of ann, open and sent by turns, with an index by state."""
    definitions = [*ORDERS["AttributeDefinitions"], STATE]
    call("CreateTable", **{**ORDERS, "AttributeDefinitions": definitions}, GlobalSecondaryIndexes=INDEXES)
    for number in range(1, 5):
        state = "open" if number % 2 else "sent"
        statement = f"INSERT INTO orders VALUE {{'customer': 'ann', 'order_no': {number}, 'state': '{state}', 'a': 1}}"
        call("ExecuteStatement", Statement=statement)
    return "orders"


def numbers(answer: dict[str, Any]) -> list[int]:
    return [int(item["order_no"]["N"]) for item in answer["Items"]]


def test_select_from_an_index_is_a_query_of_it(call, indexed):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.select.html"""
    select = 'SELECT * FROM "orders"."by-state" WHERE state = \'open\' ORDER BY order_no DESC'

    first = call("ExecuteStatement", Statement=select, Limit=1, ReturnConsumedCapacity="INDEXES")
    second = call("ExecuteStatement", Statement=select, NextToken=first["NextToken"])
    scanned = call("ExecuteStatement", Statement='SELECT state FROM "orders"."by-state" WHERE order_no > 2')

    assert first["Items"] == [{**key("ann", 3), "state": {"S": "open"}}]
    assert first["ConsumedCapacity"]["GlobalSecondaryIndexes"] == {"by-state": {"CapacityUnits": 0.5}}
    assert numbers(second) == [1]
    assert sorted(item["state"]["S"] for item in scanned["Items"]) == ["open", "sent"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('SELECT * FROM "orders"."nope"', "The table does not have the specified index"),
        ('SELECT a FROM "orders"."by-state"',
         "One or more parameter values were invalid: Global secondary index by-state does not project [a]"),
        ('SELECT * FROM "orders"."by-state" WHERE a = 1',
         ("One or more parameter values were invalid: "
         "Secondary index by-state does not project one or more filter attributes: [a]")),
    ],
)  # fmt: skip
def test_what_an_index_does_not_have_is_refused(refusal, indexed, statement, message):
    assert refusal("ExecuteStatement", Statement=statement) == ("ValidationException", message)


def test_consistent_read_of_a_global_index_is_refused(refusal, indexed):
    statement = 'SELECT * FROM "orders"."by-state" WHERE state = \'open\''

    assert refusal("ExecuteStatement", Statement=statement, ConsistentRead=True) == (
        "ValidationException", "Strongly consistent read is not supported on Global Secondary Indexes",
    )  # fmt: skip


def test_restored_table_has_its_indexes_or_leaves_them_out(call, indexed):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableFromBackup.html"""
    arn = call("CreateBackup", TableName=indexed, BackupName="one")["BackupDetails"]["BackupArn"]
    call("DeleteTable", TableName=indexed)
    call("RestoreTableFromBackup", TargetTableName="whole", BackupArn=arn)
    call("RestoreTableFromBackup", TargetTableName="bare", BackupArn=arn, GlobalSecondaryIndexOverride=[])

    found = call("ExecuteStatement", Statement='SELECT * FROM "whole"."by-state" WHERE state = \'sent\'')

    assert numbers(found) == [2, 4]
    assert "GlobalSecondaryIndexes" not in call("DescribeTable", TableName="bare")["Table"]
