"""The parameters from before expressions: what they mean, and what each mistake is called."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.languages.dynamo import (
    AttributeValue,
    KeyCondition,
    RangeCondition,
    RangeOperator,
    apply_update,
    attribute_updates,
    attributes_to_get,
    check_expressions_given,
    check_not_mixed,
    expected_condition,
    filter_condition,
    holds,
    legacy_key_condition,
    project,
)
from tests.unit.languages.dynamo.refused import refusal

INVALID = "One or more parameter values were invalid: "
ITEM: dict[str, AttributeValue] = {
    "n": {"N": "5"},
    "s": {"S": "abc"},
    "ss": {"SS": ["a", "b"]},
    "l": {"L": [{"N": "1"}]},
}
ONE: AttributeValue = {"N": "1"}
FIVE: AttributeValue = {"N": "5"}
NINE: AttributeValue = {"N": "9"}


def condition(operator: str, *values: object) -> Any:
    return {"ComparisonOperator": operator, "AttributeValueList": list(values)}


@pytest.mark.parametrize(
    ("name", "operator", "values", "outcome"),
    [
        ("n", "EQ", [{"N": "5.0"}], True),
        ("n", "EQ", [{"S": "5"}], False),
        ("x", "EQ", [FIVE], False),
        ("n", "NE", [ONE], True),
        ("x", "NE", [ONE], True),
        ("n", "LE", [FIVE], True),
        ("n", "LT", [FIVE], False),
        ("n", "GE", [FIVE], True),
        ("n", "GT", [FIVE], False),
        ("n", "NOT_NULL", [], True),
        ("x", "NOT_NULL", [], False),
        ("x", "NULL", [], True),
        ("n", "NULL", [], False),
        ("s", "CONTAINS", [{"S": "b"}], True),
        ("ss", "CONTAINS", [{"S": "b"}], True),
        ("l", "CONTAINS", [ONE], True),
        ("l", "CONTAINS", [NINE], False),
        ("ss", "NOT_CONTAINS", [{"S": "z"}], True),
        ("ss", "NOT_CONTAINS", [{"S": "a"}], False),
        ("x", "NOT_CONTAINS", [{"S": "a"}], False),
        ("s", "BEGINS_WITH", [{"S": "ab"}], True),
        ("s", "BEGINS_WITH", [{"S": "b"}], False),
        ("n", "IN", [ONE, FIVE], True),
        ("n", "IN", [ONE, NINE], False),
        ("n", "BETWEEN", [ONE, NINE], True),
        ("n", "BETWEEN", [ONE, ONE], False),
    ],
)
def test_operators_of_filters(name: str, operator: str, values: list[object], outcome: bool) -> None:
    """Each comparison operator means what the expression in its place means."""
    filtered = filter_condition({name: condition(operator, *values)}, None)

    assert filtered is not None
    assert holds(filtered, ITEM) is outcome


@pytest.mark.parametrize(("operator", "outcome"), [(None, False), ("AND", False), ("OR", True)])
def test_conditional_operator_joins_conditions(operator: str | None, outcome: bool) -> None:
    """Conditions are joined by AND unless ConditionalOperator is OR."""
    filtered = filter_condition({"n": condition("EQ", FIVE), "s": condition("EQ", FIVE)}, operator)

    assert filtered is not None
    assert holds(filtered, ITEM) is outcome


def test_nothing_to_filter_is_no_condition() -> None:
    """An absent or empty parameter filters nothing."""
    assert filter_condition(None, None) is None
    assert filter_condition({}, None) is None
    assert expected_condition(None, None) is None


def test_conditional_operator_needs_two_conditions() -> None:
    """ConditionalOperator joins two or more conditions."""
    assert refusal(lambda: filter_condition(None, "AND")) == (
        "ConditionalOperator cannot be used without Filter or Expected"
    )
    assert refusal(lambda: expected_condition({"a": {"Exists": False}}, "OR")) == (
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    )


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("EQ", []),
        ("EQ", [ONE, ONE]),
        ("NULL", [ONE]),
        ("NOT_NULL", [ONE]),
        ("IN", []),
        ("BETWEEN", [ONE]),
        ("BETWEEN", [ONE, ONE, ONE]),
        ("CONTAINS", []),
    ],
)
def test_operator_has_a_number_of_values(operator: str, values: list[object]) -> None:
    """Every operator takes its number of values."""
    assert refusal(lambda: filter_condition({"a": condition(operator, *values)}, None)) == (
        INVALID + f"Invalid number of argument(s) for the {operator} ComparisonOperator"
    )


@pytest.mark.parametrize(
    ("operator", "values", "name"),
    [
        ("LT", [{"BOOL": True}], "BOOL"),
        ("IN", [{"SS": ["a"]}], "SS"),
        ("CONTAINS", [{"M": {}}], "M"),
        ("NOT_CONTAINS", [{"NS": ["1"]}], "NS"),
        ("BETWEEN", [{"L": []}, {"L": []}], "L"),
        ("BEGINS_WITH", [{"N": "1"}], "N"),
    ],
)
def test_operator_takes_some_types(operator: str, values: list[object], name: str) -> None:
    """Order is for scalars, a prefix for strings and binary."""
    assert refusal(lambda: filter_condition({"a": condition(operator, *values)}, None)) == (
        INVALID + f"ComparisonOperator {operator} is not valid for {name} AttributeValue type"
    )


def test_values_of_one_operator_are_alike_and_in_order() -> None:
    """IN has values of one type, BETWEEN has its bounds in order, and every value is valid."""
    assert refusal(lambda: filter_condition({"a": condition("IN", {"S": "b"}, ONE)}, None)) == (
        INVALID + "AttributeValues inside AttributeValueList must be of same type"
    )
    assert refusal(lambda: filter_condition({"a": condition("BETWEEN", NINE, ONE)}, None)) == (
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    )
    assert refusal(lambda: filter_condition({"a": condition("EQ", {})}, None)) == (
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
    )


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [
        ({"n": {"Value": FIVE}}, True),
        ({"n": {"Value": FIVE, "Exists": True}}, True),
        ({"n": {"Value": ONE}}, False),
        ({"x": {"Exists": False}}, True),
        ({"n": {"Exists": False}}, False),
        ({"n": {"ComparisonOperator": "GT", "Value": ONE}}, True),
        ({"n": condition("BETWEEN", ONE, NINE)}, True),
        ({"x": {"ComparisonOperator": "NULL"}}, True),
        ({"n": {"Value": FIVE}, "x": {"Exists": False}}, True),
    ],
)
def test_expected_is_a_condition(expected: Any, outcome: bool) -> None:
    """Expected compares by a value, by absence, or by an operator."""
    wanted = expected_condition(expected, None)

    assert wanted is not None
    assert holds(wanted, ITEM) is outcome


@pytest.mark.parametrize(
    ("attribute", "problem"),
    [
        ({}, "Value must be provided when Exists is null"),
        ({"Exists": True}, "Value must be provided when Exists is true"),
        ({"Exists": False, "Value": ONE}, "Value cannot be used when Exists is false"),
        ({"ComparisonOperator": "LT"}, "Value or AttributeValueList must be used with ComparisonOperator: LT"),
        (
            {"Exists": True, "ComparisonOperator": "LT"},
            "Exists and ComparisonOperator cannot be used together",
        ),
        (
            {"Value": ONE, **condition("LT", ONE)},
            "Value and AttributeValueList cannot be used together",
        ),
        ({"AttributeValueList": [ONE]}, "AttributeValueList can only be used with a ComparisonOperator"),
    ],
)
def test_expected_that_contradicts_itself_is_refused(attribute: Any, problem: str) -> None:
    """The members of Expected exclude one another in AWS's ways."""
    assert refusal(lambda: expected_condition({"a": attribute}, None)) == (INVALID + f"{problem} for Attribute: a")


def test_key_conditions_fix_the_partition_key() -> None:
    """KeyConditions mean the same as a key-condition expression."""
    assert legacy_key_condition({"a": condition("EQ", FIVE)}, "a", None) == KeyCondition(FIVE)
    assert legacy_key_condition(
        {"b": condition("BETWEEN", ONE, NINE), "a": condition("EQ", FIVE)}, "a", "b"
    ) == KeyCondition(FIVE, RangeCondition("b", RangeOperator.BETWEEN, (ONE, NINE)))


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "Conditions can be of length 1 or 2 only"),
        ({name: condition("NULL") for name in "abc"}, "Conditions can be of length 1 or 2 only"),
        ({"a": condition("NULL")}, "Attempted conditional constraint is not an indexable operation"),
        ({"a": condition("IN", ONE)}, "Attempted conditional constraint is not an indexable operation"),
        ({"a": condition("LT", ONE)}, "Query key condition not supported"),
        ({"b": condition("NULL")}, "Query condition missed key schema element: a"),
        (
            {"a": condition("EQ", ONE), "c": condition("EQ", ONE)},
            "Query condition missed key schema element: b",
        ),
        ({"a": condition("EQ")}, INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator"),
    ],
)
def test_what_a_key_cannot_answer_is_refused(conditions: Any, message: str) -> None:
    """A query needs an equality on the partition key, and at most one question to the sort key."""
    assert refusal(lambda: legacy_key_condition(conditions, "a", "b")) == message


@pytest.mark.parametrize(
    ("updates", "changes"),
    [
        ({"n": {"Value": ONE}}, {"n": ONE}),
        ({"x": {"Action": "PUT", "Value": ONE}}, {"x": ONE}),
        ({"n": {"Action": "ADD", "Value": ONE}}, {"n": {"N": "6"}}),
        ({"x": {"Action": "ADD", "Value": ONE}}, {"x": ONE}),
        ({"ss": {"Action": "ADD", "Value": {"SS": ["c"]}}}, {"ss": {"SS": ["a", "b", "c"]}}),
        ({"ss": {"Action": "DELETE", "Value": {"SS": ["a"]}}}, {"ss": {"SS": ["b"]}}),
        ({"l": {"Action": "ADD", "Value": {"L": [NINE]}}}, {"l": {"L": [ONE, NINE]}}),
        ({"x": {"Action": "ADD", "Value": {"L": [NINE]}}}, {"x": {"L": [NINE]}}),
        ({"x": {"Action": "DELETE"}}, {}),
    ],
)
def test_attribute_updates_change_the_item(updates: Any, changes: dict[str, AttributeValue]) -> None:
    """PUT is the default, ADD adds to numbers, sets and lists, DELETE takes members out."""
    assert apply_update(attribute_updates(updates), ITEM) == ITEM | changes


def test_delete_without_value_removes_the_attribute() -> None:
    """DELETE with no value deletes the whole attribute."""
    assert apply_update(attribute_updates({"n": {"Action": "DELETE"}}), {"n": ONE, "s": {"S": "x"}}) == {
        "s": {"S": "x"}
    }


@pytest.mark.parametrize(
    ("update", "problem"),
    [
        ({}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD"}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD", "Value": {"S": "a"}}, "ADD action is not supported for the type S"),
        ({"Action": "ADD", "Value": {"M": {}}}, "ADD action is not supported for the type M"),
        ({"Action": "DELETE", "Value": ONE}, "DELETE action with value is not supported for the type N"),
    ],
)
def test_bad_attribute_update_is_refused(update: Any, problem: str) -> None:
    """A value is needed unless the attribute is deleted, and its type must fit the action."""
    assert refusal(lambda: attribute_updates({"a": update})) == INVALID + problem


@pytest.mark.parametrize(
    "updates",
    [
        {"ss": {"Action": "DELETE", "Value": {"NS": ["1"]}}},
        {"n": {"Action": "DELETE", "Value": {"NS": ["1"]}}},
        {"ss": {"Action": "ADD", "Value": {"NS": ["1"]}}},
        {"s": {"Action": "ADD", "Value": {"L": [ONE]}}},
    ],
)
def test_attribute_of_another_type_is_a_mismatch(updates: Any) -> None:
    """The text for an unfitting attribute is not that of update expressions."""
    assert refusal(lambda: apply_update(attribute_updates(updates), ITEM)) == "Type mismatch for attribute to update"


def test_attributes_to_get_is_a_projection() -> None:
    """AttributesToGet names whole attributes, dots and all, each once."""
    assert project(attributes_to_get(["n", "x.y", "gone"]), {**ITEM, "x.y": ONE}) == {"n": FIVE, "x.y": ONE}
    assert refusal(lambda: attributes_to_get(["a", "b", "a"])) == (INVALID + "Duplicate value in attribute name: a")


def test_both_kinds_of_parameters_are_refused() -> None:
    """Legacy parameters and expressions exclude one another in one request."""
    legacy: dict[str, object] = {"AttributeUpdates": {}, "Expected": {"a": {}}, "ConditionalOperator": None}
    expressions = {"UpdateExpression": "", "ConditionExpression": None}

    check_not_mixed(legacy, {"UpdateExpression": None})
    check_not_mixed({"Expected": None}, expressions)
    assert refusal(lambda: check_not_mixed(legacy, expressions)) == (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributeUpdates, Expected} Expression parameters: {UpdateExpression}"
    )


def test_placeholders_need_an_expression() -> None:
    """Names and values are for expressions, and are refused without one."""
    absent = {"UpdateExpression": None, "ConditionExpression": None}
    given = {"UpdateExpression": "SET a = :a", "ConditionExpression": None}

    check_expressions_given({}, {}, given, given)
    check_expressions_given(None, None, absent, absent)
    assert refusal(lambda: check_expressions_given({}, {}, absent, absent)) == (
        "ExpressionAttributeNames can only be specified when using expressions"
    )
    assert refusal(lambda: check_expressions_given(None, {}, absent, absent)) == (
        "ExpressionAttributeValues can only be specified when using expressions: "
        "UpdateExpression and ConditionExpression are null"
    )
    assert refusal(lambda: check_expressions_given(None, {}, absent, {"FilterExpression": None})) == (
        "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"
    )
