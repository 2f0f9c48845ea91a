"""The key of a table or index is read from the query that a handler makes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from redrive.prove.stage.queried_keys import queried_key

VALUES = {":a": {"S": "x"}, ":b": {"N": "1"}, ":c": {"BOOL": True}}


@pytest.mark.parametrize(
    ("condition", "key"),
    [
        ("pk = :a", {"pk": "S"}),
        ("#p = :a AND #s BETWEEN :b AND :b", {"a": "S", "b": "N"}),
        ("sk > :b and pk = :a", {"pk": "S", "sk": "N"}),
        ("pk=:b AND begins_with(sk, :a)", {"pk": "N", "sk": "S"}),
        ("pk > :a", {}),
        ("pk = :c", {}),
        ("nonsense", {}),
    ],
)
def test_key_of_an_expression(condition: str, key: Mapping[str, str]) -> None:
    params = {
        "KeyConditionExpression": condition, "ExpressionAttributeValues": VALUES,
        "ExpressionAttributeNames": {"#p": "a", "#s": "b"},
    }  # fmt: skip

    assert queried_key(params) == key


def test_key_of_conditions_from_before_expressions() -> None:
    conditions = {
        "sk": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "1"}]},
        "pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]},
    }

    assert queried_key({"KeyConditions": conditions}) == {"pk": "S", "sk": "N"}
