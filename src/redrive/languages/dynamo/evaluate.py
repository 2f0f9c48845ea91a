"""Whether a condition holds for an item. Evaluation raises no errors: a comparison of incomparable values is false.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

from typing import assert_never

from redrive.languages.dynamo.data.values import AttributeValue, Item, compare, equal, members_of, type_of
from redrive.languages.dynamo.expressions.tree import (
    And,
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Between,
    Comparator,
    Comparison,
    Condition,
    Contains,
    In,
    Literal,
    Not,
    Operand,
    Or,
    Path,
    Size,
)
from redrive.languages.dynamo.paths import lookup


def holds(condition: Condition, item: Item) -> bool:
    """Whether the condition holds. For an item that does not exist, pass an empty one.

    If the item lacks an operand, or the operand has a wrong type, every comparison is false, except `<>`, which is
    true.
    """
    match condition:  # The most frequent conditions are the first: the cases are tried one after another.
        case AttributeNotExists(path):
            return lookup(item, path) is None
        case AttributeExists(path):
            return lookup(item, path) is not None
        case Comparison(comparator, left, right):
            return _compares(comparator, _value(left, item), _value(right, item))
        case And(terms):
            return all(holds(term, item) for term in terms)
        case Or(terms):
            return any(holds(term, item) for term in terms)
        case Between(operand, low, high):
            value = _value(operand, item)
            return _compares(Comparator.GE, value, _value(low, item)) and _compares(
                Comparator.LE, value, _value(high, item)
            )
        case In(operand, choices):
            value = _value(operand, item)
            return any(_compares(Comparator.EQ, value, _value(choice, item)) for choice in choices)
        case AttributeType(operand, type_name):
            found = _value(operand, item)
            return found is not None and type_of(found) == type_name
        case BeginsWith(operand, prefix):
            return _begins_with(_value(operand, item), _value(prefix, item))
        case Contains(operand, member):
            return _contains(_value(operand, item), _value(member, item))
        case Not(term):
            return not holds(term, item)
        case _:
            assert_never(condition)


def _value(operand: Operand, item: Item) -> AttributeValue | None:
    match operand:
        case Path():
            return lookup(item, operand)
        case Literal(value):
            return value
        case Size(inner):
            size = _size(_value(inner, item))
            return None if size is None else {"N": str(size)}
        case _:
            assert_never(operand)


def _compares(comparator: Comparator, left: AttributeValue | None, right: AttributeValue | None) -> bool:
    if left is None or right is None:
        return comparator is Comparator.NE
    if comparator is Comparator.EQ:
        return equal(left, right)
    if comparator is Comparator.NE:
        return not equal(left, right)
    order = compare(left, right)
    if order is None:
        return False
    match comparator:
        case Comparator.LT:
            return order < 0
        case Comparator.LE:
            return order <= 0
        case Comparator.GT:
            return order > 0
        case Comparator.GE:
            return order >= 0
        case _:
            assert_never(comparator)


def _begins_with(value: AttributeValue | None, prefix: AttributeValue | None) -> bool:
    match value, prefix:
        case {"S": str(text)}, {"S": str(start)}:
            return text.startswith(start)
        case {"B": bytes(data)}, {"B": bytes(first)}:
            return data.startswith(first)
        case _:
            return False


def _contains(value: AttributeValue | None, member: AttributeValue | None) -> bool:
    match value, member:
        case {"S": str(text)}, {"S": str(part)}:
            return part in text
        case {"B": bytes(data)}, {"B": bytes(piece)}:
            return piece in data
        case None, _:
            return False
        case _, None:
            return False
        case _:
            return any(equal(each, member) for each in members_of(value))


def _size(value: AttributeValue | None) -> int | None:
    """The length of a string in characters, of binary in bytes, of a set, list or map in members."""
    match value:
        case {"S": str(text)}:
            return len(text)
        case {"B": bytes(data)}:
            return len(data)
        case {"M": dict(named)}:
            return len(named)
        case {"SS": list(members)} | {"NS": list(members)} | {"BS": list(members)} | {"L": list(members)}:
            return len(members)
        case _:
            return None
