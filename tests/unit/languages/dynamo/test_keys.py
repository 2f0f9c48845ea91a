"""Key conditions: what a key can answer, what each other condition is called, and which bytes satisfy one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.dynamo import (
    AttributeValue,
    KeyBounds,
    KeyCondition,
    Placeholders,
    RangeCondition,
    RangeOperator,
    bounds_of,
    check_key_types,
    encode_key,
    holds,
    parse_condition,
    parse_key_condition,
)
from tests.unit.languages.dynamo.refused import refusal
from tests.unit.languages.dynamo.strategies import SMALL_NUMBERS

ONE: AttributeValue = {"S": "1"}
TWO: AttributeValue = {"S": "2"}


def parse(text: str, range_key: str | None = "b") -> KeyCondition:
    return parse_key_condition(text, Placeholders(None, {":a": ONE, ":b": TWO}), "a", range_key)


@pytest.mark.parametrize(
    ("text", "operator", "values"),
    [
        ("a = :a AND b = :b", RangeOperator.EQ, (TWO,)),
        ("b < :b AND a = :a", RangeOperator.LT, (TWO,)),
        ("(a = :a) AND (b <= :b)", RangeOperator.LE, (TWO,)),
        (":a = a AND b > :b", RangeOperator.GT, (TWO,)),
        ("a = :a and :b <= b", RangeOperator.GE, (TWO,)),
        ("a = :a and :b > b", RangeOperator.LT, (TWO,)),
        ("a = :a and :b < b", RangeOperator.GT, (TWO,)),
        ("a = :a and :b >= b", RangeOperator.LE, (TWO,)),
        ("a = :a AND b BETWEEN :a AND :b", RangeOperator.BETWEEN, (ONE, TWO)),
        ("a = :a AND begins_with(b, :b)", RangeOperator.BEGINS_WITH, (TWO,)),
    ],
)
def test_sort_key_can_be_asked_seven_things(
    text: str, operator: RangeOperator, values: tuple[AttributeValue, ...]
) -> None:
    """The partition key has one value; the sort key is compared, in a range, or begins with a prefix."""
    assert parse(text) == KeyCondition(ONE, RangeCondition("b", operator, values))


def test_partition_key_alone_is_a_condition() -> None:
    """The condition on the sort key is optional."""
    assert parse("a = :a") == KeyCondition(ONE)
    assert parse("a = :a", range_key=None) == KeyCondition(ONE)


UNUSABLE = "Invalid operator used in KeyConditionExpression: "
INVALID = "Invalid condition in KeyConditionExpression: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a > b AND size(b) > c OR a > c", UNUSABLE + "OR"),
        ("a IN (b, size(c), d)", UNUSABLE + "IN"),
        ("attribute_exists(a)", UNUSABLE + "attribute_exists"),
        ("attribute_not_exists(a)", UNUSABLE + "attribute_not_exists"),
        ("contains(a.d, b)", UNUSABLE + "contains"),
        ("NOT a > b", UNUSABLE + "NOT"),
        ("a <> b", UNUSABLE + "<>"),
        (
            ":a BETWEEN size(b) AND size(a) AND b > :b",
            INVALID + "BETWEEN operator must have the key attribute as its first operand",
        ),
        (
            "begins_with(:a, b) AND a > :b",
            INVALID + "begins_with operator must have the key attribute as its first operand",
        ),
        ("size(b) > a AND a.b > b", "KeyConditionExpressions cannot contain nested operations"),
        ("a > size(b.d)", "KeyConditionExpressions cannot contain nested operations"),
        (":a > size(b)", "KeyConditionExpressions cannot contain nested operations"),
        ("b > a.b", INVALID + "Multiple attribute names used in one condition"),
        ("a BETWEEN b AND size(a)", INVALID + "Multiple attribute names used in one condition"),
        ("begins_with(a, b)", INVALID + "Multiple attribute names used in one condition"),
        ("b.d > a AND c.d > e.f", "KeyConditionExpressions cannot have conditions on nested attributes"),
        ("b[0] > a", "KeyConditionExpressions cannot have conditions on nested attributes"),
        (":b > :a AND a < :b", INVALID + "No key attribute specified"),
        ("b > :a AND b < :a AND c = :a", "KeyConditionExpressions must only contain one condition per key"),
        (":a = a AND b = :a AND :a = c", "Conditions can be of length 1 or 2 only"),
        ("b = :a", "Query condition missed key schema element: a"),
        ("a = :a AND c = :b", "Query condition missed key schema element: b"),
        ("a > :a", "Query key condition not supported"),
        ("a BETWEEN :a AND :b AND b = :b", "Query key condition not supported"),
        (
            "a BETWEEN :b AND :a",
            (
                "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal "
                "to lower bound; lower bound operand: AttributeValue: {S:2}, upper bound operand: AttributeValue: {S:1}"
            ),
        ),
        ("a > 4", 'Invalid KeyConditionExpression: Syntax error; token: "4", near: "> 4"'),
        ("", "Invalid KeyConditionExpression: The expression can not be empty;"),
    ],
)
def test_what_a_key_cannot_answer_is_refused(text: str, message: str) -> None:
    """Everything that is no equality on the partition key and one question to the sort key has its own error."""
    assert refusal(lambda: parse(text)) == message


def test_attribute_type_is_no_key_condition() -> None:
    """A well-formed attribute_type is read, and then refused as an operator."""
    placeholders = Placeholders(None, {":t": {"S": "S"}})

    message = refusal(lambda: parse_key_condition("attribute_type(a, :t)", placeholders, "a", None))

    assert message == UNUSABLE + "attribute_type"


def test_second_condition_needs_a_sort_key() -> None:
    """A table without a sort key answers only its partition key."""
    assert refusal(lambda: parse("a = :a AND b = :b", range_key=None)) == "Query key condition not supported"


def test_values_have_the_types_of_the_keys() -> None:
    """A value of another type than the key is refused."""
    message = "One or more parameter values were invalid: Condition parameter type does not match schema type"
    condition = parse("a = :a AND b > :b")

    check_key_types(condition, "S", "S")
    assert refusal(lambda: check_key_types(condition, "N", "S")) == message
    assert refusal(lambda: check_key_types(condition, "S", "N")) == message


@pytest.mark.parametrize(
    ("prefix", "high"),
    [(b"a", b"b"), (b"a\xff\xff", b"b"), (b"\xff", None), (b"", None)],
)
def test_prefix_ends_before_the_next_prefix(prefix: bytes, high: bytes | None) -> None:
    """The upper bound of a prefix is the next prefix that sorts behind it, if there is one."""
    condition = RangeCondition("b", RangeOperator.BEGINS_WITH, ({"B": prefix},))

    assert bounds_of(condition) == KeyBounds(low=prefix, high=high, high_included=False)


def within(bounds: KeyBounds, key: bytes) -> bool:
    above = bounds.low is None or key > bounds.low or (bounds.low_included and key == bounds.low)
    below = bounds.high is None or key < bounds.high or (bounds.high_included and key == bounds.high)
    return above and below


TEXTS = {
    "=": "b = :x",
    "<": "b < :x",
    "<=": "b <= :x",
    ">": "b > :x",
    ">=": "b >= :x",
    "BETWEEN": "b BETWEEN :x AND :y",
}
KEYS = st.one_of(
    st.lists(SMALL_NUMBERS, min_size=3, max_size=3).map(lambda three: [{"N": number} for number in three]),
    st.lists(st.text(max_size=2), min_size=3, max_size=3).map(lambda three: [{"S": text} for text in three]),
    st.lists(st.binary(max_size=2), min_size=3, max_size=3).map(lambda three: [{"B": data} for data in three]),
)


@given(KEYS, st.sampled_from([*TEXTS, "begins_with"]))
def test_bounds_select_what_the_same_filter_would(keys: list[AttributeValue], operator: str) -> None:
    """Reading a range of encoded keys and evaluating the condition on each item give the same items."""
    key, *values = keys
    values.sort(key=encode_key)
    if operator == "begins_with" and "N" in key:
        operator = "="
    text = TEXTS.get(operator, "begins_with(b, :x)")
    condition = RangeCondition("b", RangeOperator(operator), tuple(values[: 1 + (operator == "BETWEEN")]))

    selected = within(bounds_of(condition), encode_key(key))

    placeholders = Placeholders(None, {":x": values[0], ":y": values[1]})
    assert selected == holds(parse_condition(text, placeholders), {"b": key})
