"""The legacy parameters, which expressions have replaced, converted to the same trees; AWS still supports them.

Expected, ConditionalOperator, AttributeUpdates, KeyConditions, QueryFilter, ScanFilter and AttributesToGet
name only top-level attributes. They have error messages of their own, and cannot be mixed with expressions in
one request.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.data.values import (
    SCALAR_KEY_TYPES,
    SET_TYPES,
    AttributeValue,
    compare,
    read_value,
    type_of,
)
from redrive.languages.dynamo.expressions.keys import KeyCondition, KeyTerm, RangeOperator, key_condition
from redrive.languages.dynamo.expressions.tree import (
    Action,
    AddTo,
    And,
    AttributeExists,
    AttributeNotExists,
    BeginsWith,
    Between,
    Comparator,
    Comparison,
    Condition,
    Contains,
    DeleteFrom,
    IfNotExists,
    In,
    ListAppend,
    Literal,
    Not,
    Or,
    Path,
    Projection,
    Remove,
    SetTo,
    Update,
)
from redrive.languages.dynamo.refusals import invalid, invalid_parameter

_COMPARATORS = {
    "EQ": Comparator.EQ,
    "NE": Comparator.NE,
    "LE": Comparator.LE,
    "LT": Comparator.LT,
    "GE": Comparator.GE,
    "GT": Comparator.GT,
}
_KEY_OPERATORS = {
    "EQ": RangeOperator.EQ,
    "LE": RangeOperator.LE,
    "LT": RangeOperator.LT,
    "GE": RangeOperator.GE,
    "GT": RangeOperator.GT,
    "BETWEEN": RangeOperator.BETWEEN,
    "BEGINS_WITH": RangeOperator.BEGINS_WITH,
}
_COUNTS = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}

_ORDERED = frozenset(SCALAR_KEY_TYPES)
_ALLOWED_TYPES = {
    "LE": _ORDERED,
    "LT": _ORDERED,
    "GE": _ORDERED,
    "GT": _ORDERED,
    "IN": _ORDERED,
    "BETWEEN": _ORDERED,
    "BEGINS_WITH": frozenset({"S", "B"}),
    "CONTAINS": frozenset({"S", "N", "B", "BOOL", "NULL"}),
    "NOT_CONTAINS": frozenset({"S", "N", "B", "BOOL", "NULL"}),
}
_MISMATCH = "Type mismatch for attribute to update"


class LegacyCondition(TypedDict, total=False):
    """A member of KeyConditions, QueryFilter or ScanFilter."""

    ComparisonOperator: str
    AttributeValueList: Sequence[object]


class ExpectedAttribute(LegacyCondition, total=False):
    """A member of Expected."""

    Exists: bool
    Value: object


class AttributeUpdate(TypedDict, total=False):
    """A member of AttributeUpdates."""

    Action: str
    Value: object


def check_not_mixed(legacy: Mapping[str, object], expressions: Mapping[str, object]) -> None:
    """Refuse a request with both kinds of parameters.

    Pass all of either kind by name, None for what is absent.
    The message names the present parameters in the order of the arguments.
    Errors: ValidationException.
    """
    old = [name for name, value in legacy.items() if value is not None]
    new = [name for name, value in expressions.items() if value is not None]
    if old and new:
        raise invalid(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(old)}}} Expression parameters: {{{', '.join(new)}}}"
        )


def check_expressions_given(
    names: object, values: object, naming: Mapping[str, object], valuing: Mapping[str, object]
) -> None:
    """Refuse placeholders in a request without an expression.

    `naming` are the expressions that may use names, `valuing` those that may use values, by parameter name
    and None for what is absent. Errors: ValidationException.
    """
    if names is None and values is None:
        return
    if names is not None and all(text is None for text in naming.values()):
        raise invalid("ExpressionAttributeNames can only be specified when using expressions")
    if values is not None and all(text is None for text in valuing.values()):
        absent = " and ".join(valuing)
        verb = "are" if len(valuing) > 1 else "is"
        raise invalid(f"ExpressionAttributeValues can only be specified when using expressions: {absent} {verb} null")


def expected_condition(
    expected: Mapping[str, ExpectedAttribute] | None, conditional_operator: str | None
) -> Condition | None:
    """Expected and ConditionalOperator as a condition; None if both are empty.

    Errors: ValidationException for members that contradict each other, and as `filter_condition`.
    """
    terms = [_expected(name, attribute) for name, attribute in (expected or {}).items()]
    return _joined(terms, conditional_operator)


def filter_condition(
    conditions: Mapping[str, LegacyCondition] | None, conditional_operator: str | None
) -> Condition | None:
    """QueryFilter or ScanFilter and ConditionalOperator as a condition; None if there is no filter.

    Errors: ValidationException for a wrong number of values, values of wrong or different types, bounds in the wrong
    order, and a ConditionalOperator without conditions.
    """
    terms = [
        _condition(name, *_checked(condition["ComparisonOperator"], condition.get("AttributeValueList")))
        for name, condition in (conditions or {}).items()
    ]
    return _joined(terms, conditional_operator)


def legacy_key_condition(
    conditions: Mapping[str, LegacyCondition], hash_key: str, range_key: str | None
) -> KeyCondition:
    """KeyConditions as a key condition for a table or index with these keys.

    Errors: ValidationException as `filter_condition`, and for conditions that the keys cannot answer.
    """
    return key_condition(legacy_key_terms(conditions, hash_key, terms_max=2), hash_key, range_key)


def legacy_key_terms(conditions: Mapping[str, LegacyCondition], hash_key: str, *, terms_max: int) -> Sequence[KeyTerm]:
    """KeyConditions as terms, one for each attribute; `hash_key` is one of them. Errors as `legacy_key_condition`."""
    read = [
        (name, *_checked(condition["ComparisonOperator"], condition.get("AttributeValueList")))
        for name, condition in conditions.items()
    ]
    if not 1 <= len(read) <= terms_max:
        raise invalid("Conditions can be of length 1 or 2 only")
    if not any(name == hash_key for name, _, _ in read):
        raise invalid(f"Query condition missed key schema element: {hash_key}")
    if not all(operator in _KEY_OPERATORS for _, operator, _ in read):
        raise invalid("Attempted conditional constraint is not an indexable operation")
    return [KeyTerm(name, _KEY_OPERATORS[operator], tuple(values)) for name, operator, values in read]


def attribute_updates(updates: Mapping[str, AttributeUpdate]) -> Update:
    """AttributeUpdates as an update.

    Errors: ValidationException for a missing value, and for types that ADD and DELETE do not accept.
    """
    return Update(tuple(_action(name, update) for name, update in updates.items()), mismatch=_MISMATCH)


def attributes_to_get(names: Sequence[str]) -> Projection:
    """AttributesToGet as a projection. Errors: ValidationException for a repeated name."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise invalid_parameter(f"Duplicate value in attribute name: {name}")
    return Projection(tuple(Path((name,)) for name in names))


def _joined(terms: Sequence[Condition], conditional_operator: str | None) -> Condition | None:
    if conditional_operator is not None and not terms:
        raise invalid("ConditionalOperator cannot be used without Filter or Expected")
    if conditional_operator is not None and len(terms) == 1:
        raise invalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")
    if len(terms) < 2:
        return terms[0] if terms else None
    return Or(tuple(terms)) if conditional_operator == "OR" else And(tuple(terms))


def _expected(name: str, attribute: ExpectedAttribute) -> Condition:
    exists, value = attribute.get("Exists"), attribute.get("Value")
    operator, listed = attribute.get("ComparisonOperator"), attribute.get("AttributeValueList")
    if operator is not None:
        if exists is not None:
            raise _contradiction("Exists and ComparisonOperator cannot be used together", name)
        if value is not None and listed is not None:
            raise _contradiction("Value and AttributeValueList cannot be used together", name)
        if value is None and listed is None and operator not in {"NULL", "NOT_NULL"}:
            raise _contradiction(f"Value or AttributeValueList must be used with ComparisonOperator: {operator}", name)
        return _condition(name, *_checked(operator, listed if value is None else [value]))
    if listed is not None:
        raise _contradiction("AttributeValueList can only be used with a ComparisonOperator", name)
    if exists is False:
        if value is not None:
            raise _contradiction("Value cannot be used when Exists is false", name)
        return AttributeNotExists(Path((name,)))
    if value is None:
        shown = "null" if exists is None else "true"
        raise _contradiction(f"Value must be provided when Exists is {shown}", name)
    return Comparison(Comparator.EQ, Path((name,)), Literal(read_value(value)))


def _contradiction(problem: str, name: str) -> ServiceError:
    return invalid_parameter(f"{problem} for Attribute: {name}")


def _checked(operator: str, raw: Sequence[object] | None) -> tuple[str, list[AttributeValue]]:
    """The operator and its values. Errors: ValidationException if they do not fit each other."""
    values = [read_value(value) for value in raw or ()]
    fits = len(values) >= 1 if operator == "IN" else len(values) == _COUNTS.get(operator, 1)
    if not fits:
        raise invalid_parameter(f"Invalid number of argument(s) for the {operator} ComparisonOperator")
    types = [type_of(value) for value in values]
    if len(set(types)) > 1:
        raise invalid_parameter("AttributeValues inside AttributeValueList must be of same type")
    for name in types:
        if operator in _ALLOWED_TYPES and name not in _ALLOWED_TYPES[operator]:
            raise invalid_parameter(f"ComparisonOperator {operator} is not valid for {name} AttributeValue type")
    if operator == "BETWEEN" and (compare(values[0], values[1]) or 0) > 0:
        raise invalid(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )
    return operator, values


def _condition(name: str, operator: str, values: Sequence[AttributeValue]) -> Condition:
    path = Path((name,))
    literals = tuple(Literal(value) for value in values)
    match operator:
        case "NULL":
            return AttributeNotExists(path)
        case "NOT_NULL":
            return AttributeExists(path)
        case "BETWEEN":
            return Between(path, literals[0], literals[1])
        case "IN":
            return In(path, literals)
        case "BEGINS_WITH":
            return BeginsWith(path, literals[0])
        case "CONTAINS":
            return Contains(path, literals[0])
        case "NOT_CONTAINS":
            # A missing attribute does not satisfy NOT_CONTAINS either.
            return And((AttributeExists(path), Not(Contains(path, literals[0]))))
        case _:
            return Comparison(_COMPARATORS[operator], path, literals[0])


def _action(name: str, update: AttributeUpdate) -> Action:
    path, verb = Path((name,)), update.get("Action", "PUT")
    raw = update.get("Value")
    if raw is None:
        if verb != "DELETE":
            raise invalid_parameter("Only DELETE action is allowed when no attribute value is specified")
        return Remove(path)
    value = read_value(raw)
    type_name = type_of(value)
    if verb == "PUT":
        return SetTo(path, Literal(value))
    if verb == "DELETE":
        if type_name not in SET_TYPES:
            raise invalid_parameter(f"DELETE action with value is not supported for the type {type_name}")
        return DeleteFrom(path, value)
    if type_name == "L":
        # The legacy ADD appends to a list; the ADD of expressions refuses one.
        return SetTo(path, ListAppend(IfNotExists(path, Literal({"L": []})), Literal(value)))
    if type_name not in {"N", *SET_TYPES}:
        raise invalid_parameter(f"ADD action is not supported for the type {type_name}")
    return AddTo(path, value)
