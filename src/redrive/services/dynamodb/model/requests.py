"""Parameters of item requests that belong together: expressions or their legacy equivalents, and the returned values.

AWS still supports the legacy parameters, but not together with expressions in one request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from redrive.core.errors import ServiceError
from redrive.languages.dynamo import (
    Condition,
    ExpectedAttribute,
    Placeholders,
    Projection,
    attributes_to_get,
    check_expressions_given,
    check_not_mixed,
    expected_condition,
    parse_condition,
    parse_projection,
)
from redrive.languages.dynamo.expressions.tree import (
    And,
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Between,
    Comparison,
    Contains,
    In,
    Literal,
    Not,
    Operand,
    Or,
    Path,
    Size,
)
from redrive.services.dynamodb.model.table import invalid

Names = Mapping[str, str]
Values = Mapping[str, object]


def read_write_condition(
    *,
    expected: Mapping[str, ExpectedAttribute] | None,
    conditional_operator: str | None,
    condition_expression: str | None,
    names: Names | None,
    values: Values | None,
) -> Condition | None:
    """Return the condition of PutItem or DeleteItem, or None. Errors: ValidationException."""
    if expected is not None or conditional_operator is not None:
        check_not_mixed(
            {"Expected": expected, "ConditionalOperator": conditional_operator},
            {"ConditionExpression": condition_expression},
        )
    if names is None and values is None and condition_expression is None:
        return expected_condition(expected, conditional_operator)
    texts = {"ConditionExpression": condition_expression}
    check_expressions_given(names, values, texts, texts)
    placeholders = Placeholders(names, values)
    condition = condition_of(placeholders, condition_expression, expected, conditional_operator)
    placeholders.check_all_used()
    return condition


def condition_of(
    placeholders: Placeholders,
    condition_expression: str | None,
    expected: Mapping[str, ExpectedAttribute] | None,
    conditional_operator: str | None,
) -> Condition | None:
    """Return the condition from either parameter, or None. Errors: ValidationException."""
    if condition_expression is not None:
        return parse_condition(condition_expression, placeholders)
    return expected_condition(expected, conditional_operator)


def projection_of(
    placeholders: Placeholders, projection_expression: str | None, names: Sequence[str] | None
) -> Projection | None:
    """Return the projection from either parameter, None for the whole item. Errors: ValidationException."""
    if projection_expression is not None:
        return parse_projection(projection_expression, placeholders)
    return None if names is None else attributes_to_get(names)


class _Detected:
    """A context manager that adds the prefix of AWS's validators to errors about expressions and placeholders.

    Since 2026 AWS has this prefix for PutItem, UpdateItem and DeleteItem, but not for queries, scans or transactions.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, ServiceError) and error.message.startswith(_DETECTED):
            raise invalid(f"1 validation error detected: {error.message}") from None


_DETECTED = (
    "Invalid UpdateExpression:", "Invalid ConditionExpression:", "Value provided in ExpressionAttribute",
    "ExpressionAttributeNames must not be empty", "ExpressionAttributeValues must not be empty",
    "One or more parameter values were invalid: An string set",
    "One or more parameter values were invalid: An number set",
    "One or more parameter values were invalid: Binary sets",
)  # fmt: skip

detected = _Detected()
"""Wraps the parsing of expressions and values of PutItem, UpdateItem and DeleteItem."""


def check_returned(return_values: str | None, *allowed: str) -> None:
    """Refuse ReturnValues that the operation does not support. Errors: ValidationException."""
    if return_values not in (None, "NONE", *allowed):
        raise invalid(f"ReturnValues can only be {' or '.join((*allowed, 'NONE'))}")


def check_select(
    select: str | None, index_name: str | None, attributes: Sequence[str] | None, projection_expression: str | None
) -> None:
    """Refuse a Select that contradicts the parameters that choose attributes. Errors: ValidationException."""
    chosen = "AttributesToGet" if attributes is not None else "ProjectionExpression"
    is_chosen = attributes is not None or projection_expression is not None
    match select:
        case "ALL_PROJECTED_ATTRIBUTES" if index_name is None:
            raise invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
        case "SPECIFIC_ATTRIBUTES" if not is_chosen:
            raise invalid(
                "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
            )
        case "COUNT" if is_chosen:
            raise invalid(f"Cannot specify the {chosen} when choosing to get only the Count")
        case "ALL_ATTRIBUTES" | "ALL_PROJECTED_ATTRIBUTES" if is_chosen:
            raise invalid(f"Cannot specify the {chosen} when choosing to get {select}")


def check_segment(segment: int | None, total_segments: int | None) -> None:
    """Refuse Segment without TotalSegments, TotalSegments without Segment, and a Segment out of range.

    Errors: ValidationException.
    """
    if segment is None and total_segments is None:
        return
    if segment is None or total_segments is None:
        absent, present = ("Segment", "TotalSegments") if segment is None else ("TotalSegments", "Segment")
        raise invalid(
            f"The {absent} parameter is required but was not present in the request when parameter {present} is present"
        )
    if segment >= total_segments:
        raise invalid(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total_segments}"
        )


def check_key_not_filtered(key_names: Sequence[str], condition: Condition | None, kind: str) -> None:
    """Refuse a query filter on a key attribute, which belongs in the key condition.

    Errors: ValidationException.
    """
    names = set(attributes_of(condition)) if condition is not None else set()
    for name in key_names:
        if name in names:
            raise invalid(f"{kind} can only contain non-primary key attributes: Primary key attribute: {name}")


def invalid_start(problem: str = "") -> ServiceError:
    """Build the error for an invalid ExclusiveStartKey."""
    return invalid(f"The provided starting key is invalid{': ' if problem else ''}{problem}")


def attributes_of(condition: Condition) -> Iterator[str]:
    """Yield the names of the attributes in a condition."""
    match condition:
        case And(terms) | Or(terms):
            for each in terms:
                yield from attributes_of(each)
        case Not(term):
            yield from attributes_of(term)
        case Comparison(_, left, right):
            yield from _named_by(left, right)
        case Between(operand, low, high):
            yield from _named_by(operand, low, high)
        case In(operand, choices):
            yield from _named_by(operand, *choices)
        case AttributeExists(path) | AttributeNotExists(path):
            yield path.attribute
        case AttributeType(operand, _):
            yield from _named_by(operand)
        case BeginsWith(operand, other) | Contains(operand, other):
            yield from _named_by(operand, other)
        case _:
            assert_never(condition)


def _named_by(*operands: Operand) -> Iterator[str]:
    for operand in operands:
        match operand:
            case Path():
                yield operand.attribute
            case Size(inner):
                yield from _named_by(inner)
            case Literal():
                pass
            case _:
                assert_never(operand)
