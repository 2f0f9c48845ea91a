"""An expression that was read before means with other values what it means when it is read anew."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.languages.dynamo import Placeholders, parse_condition, parse_update
from redrive.languages.dynamo.expressions.tree import AddTo, Comparator, Comparison, ListAppend, Literal, Path, SetTo


def number(value: str) -> dict[str, Any]:
    return {"N": value}


def test_condition_read_before_has_the_values_of_this_request() -> None:
    text = "#a < :x"

    for value in ("1", "2"):
        condition = parse_condition(text, Placeholders({"#a": "a"}, {":x": number(value)}))
        assert condition == Comparison(Comparator.LT, Path(("a",)), Literal({"N": value}))


def test_update_read_before_has_the_values_of_this_request() -> None:
    text = "SET a = list_append(a, :l) ADD n :x"

    for value in ("1", "2"):
        update = parse_update(text, Placeholders(None, {":x": number(value), ":l": {"L": [number(value)]}}))
        appended, added = update.actions
        assert appended == SetTo(Path(("a",)), ListAppend(Path(("a",)), Literal({"L": [{"N": value}]})))
        assert added == AddTo(Path(("n",)), {"N": value})


def test_names_behind_placeholders_are_those_of_this_request() -> None:
    for name in ("a", "b"):
        condition = parse_condition("#n = :x", Placeholders({"#n": name}, {":x": number("1")}))
        assert isinstance(condition, Comparison)
        assert condition.left == Path((name,))


def test_unused_placeholder_is_refused_whenever_the_text_is_read() -> None:
    for _ in range(2):
        placeholders = Placeholders({"#a": "a", "#b": "b"}, {":x": number("1"), ":y": number("2")})
        parse_condition("#a = :x", placeholders)
        with pytest.raises(ServiceError, match=r"ExpressionAttributeNames unused in expressions: keys: \{#b\}"):
            placeholders.check_all_used()


def test_value_of_another_type_is_checked_anew() -> None:
    parse_condition("begins_with(a, :p)", Placeholders(None, {":p": {"S": "x"}}))

    with pytest.raises(ServiceError, match="Incorrect operand type for operator or function"):
        parse_condition("begins_with(a, :p)", Placeholders(None, {":p": number("1")}))


def test_bounds_and_type_names_are_checked_with_each_request() -> None:
    parse_condition("a BETWEEN :x AND :y", Placeholders(None, {":x": number("1"), ":y": number("2")}))
    parse_condition("attribute_type(a, :t)", Placeholders(None, {":t": {"S": "N"}}))

    with pytest.raises(ServiceError, match="upper bound to be greater"):
        parse_condition("a BETWEEN :x AND :y", Placeholders(None, {":x": number("2"), ":y": number("1")}))
    with pytest.raises(ServiceError, match="Invalid attribute type name"):
        parse_condition("attribute_type(a, :t)", Placeholders(None, {":t": {"S": "X"}}))
