"""The key of a table or index is read from the query that a handler makes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from redrive.prove.stage.queried_keys import filtered_values, queried_key

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


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("#e < :n and s = :t", {"expiry": {"N": "4"}, "s": {"S": "2025-01-01"}}),
        ("#e > :n", {"expiry": {"N": "6"}}),
        ("d < :t", {"d": {"S": "2024-01-01"}}),
        ("d BETWEEN :t AND :t", {"d": {"S": "2025-01-01"}}),
        ("attribute_exists(d)", {}),
    ],
)
def test_values_that_meet_a_filter(condition: str, values: Mapping[str, object]) -> None:
    params = {
        "FilterExpression": condition, "ExpressionAttributeNames": {"#e": "expiry"},
        "ExpressionAttributeValues": {":n": {"N": "5"}, ":t": {"S": "2025-01-01"}},
    }  # fmt: skip

    assert filtered_values(params) == values
