"""Key-condition expressions: the value of the partition key, and a condition on the sort key.

The text is a condition; a key can answer only few conditions, and AWS has an error message for each of the others.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.data.codec import encode_key
from redrive.languages.dynamo.data.values import AttributeValue, type_of
from redrive.languages.dynamo.expressions.conditions import parse_condition
from redrive.languages.dynamo.expressions.forms import read_form
from redrive.languages.dynamo.expressions.placeholders import Placeholders
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
from redrive.languages.dynamo.refusals import invalid, invalid_parameter

_PARAMETER = "KeyConditionExpression"


class RangeOperator(Enum):
    """The operators of conditions on a sort key."""

    EQ = "="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    BETWEEN = "BETWEEN"
    BEGINS_WITH = "begins_with"


@dataclass(frozen=True, slots=True)
class KeyTerm:
    """A condition on one key attribute; BETWEEN has two values, every other operator has one."""

    name: str
    operator: RangeOperator
    values: tuple[AttributeValue, ...]


RangeCondition: TypeAlias = KeyTerm


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """The value of the partition key, and the condition on the sort key if there is one.

    Keys of several attributes, which only global indexes have, add the values of the further partition keys, and the
    values that the first sort keys are equal to; `range` is then the condition on the sort key behind these.
    """

    hash_value: AttributeValue
    range: RangeCondition | None = None
    more_hash_values: tuple[AttributeValue, ...] = ()
    equal_ranges: tuple[AttributeValue, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """A condition on the sort key as a range of `encode_key`'s bytes; None is unbounded."""

    low: bytes | None = None
    low_included: bool = True
    high: bytes | None = None
    high_included: bool = True


def parse_key_condition(text: str, placeholders: Placeholders, hash_key: str, range_key: str | None) -> KeyCondition:
    """Parse a key condition for a table or index with these keys.

    Errors: ValidationException as `parse_condition`; for operators and operands that a key cannot answer; for a
    condition that does not fix the partition key, or names an attribute that is not a key.
    """
    return key_condition(parse_key_terms(text, placeholders), hash_key, range_key)


def parse_key_terms(text: str, placeholders: Placeholders) -> Sequence[KeyTerm]:
    """Parse a key condition into its terms, one for each attribute. Errors: ValidationException."""
    return read_form(_read_terms, text, _PARAMETER, placeholders)


def _read_terms(text: str, kind: str, placeholders: Placeholders) -> Sequence[KeyTerm]:
    terms = tuple([_term(condition) for condition in _conjuncts(parse_condition(text, placeholders, kind))])
    if len({term.name for term in terms}) != len(terms):
        raise invalid("KeyConditionExpressions must only contain one condition per key")
    return terms


def key_condition(terms: Sequence[KeyTerm], hash_key: str, range_key: str | None) -> KeyCondition:
    """The terms as a condition on these keys. Errors: ValidationException if they are none."""
    if len(terms) not in {1, 2}:
        raise invalid("Conditions can be of length 1 or 2 only")
    by_name = {term.name: term for term in terms}
    on_hash = by_name.pop(hash_key, None)
    if on_hash is None:
        raise _missed(hash_key)
    if on_hash.operator is not RangeOperator.EQ:
        raise invalid("Query key condition not supported")
    if not by_name:
        return KeyCondition(on_hash.values[0])
    if range_key is None:
        raise invalid("Query key condition not supported")
    if range_key not in by_name:
        raise _missed(range_key)
    return KeyCondition(on_hash.values[0], by_name[range_key])


def keys_condition(terms: Sequence[KeyTerm], hash_keys: Sequence[str], range_keys: Sequence[str]) -> KeyCondition:
    """The terms as a condition on keys that may consist of several attributes.

    Every partition key must be equal to a value. Sort keys are used in their order, without gaps; only the last of
    them may have an operator other than =. Errors: ValidationException.
    """
    if len(hash_keys) == 1 and len(range_keys) < 2:
        return key_condition(terms, hash_keys[0], range_keys[0] if range_keys else None)
    left = {term.name: term for term in terms}
    hash_values = []
    for name in hash_keys:
        term = left.pop(name, None)
        if term is None:
            raise _missed(name)
        if term.operator is not RangeOperator.EQ:
            raise invalid("Query key condition not supported")
        hash_values.append(term.values[0])
    ranges: list[KeyTerm] = []
    for name in range_keys:
        if not left:
            break
        if name not in left:
            raise _missed(name)
        if ranges and ranges[-1].operator is not RangeOperator.EQ:
            raise invalid("Query key condition not supported")
        ranges.append(left.pop(name))
    if left:
        raise invalid("Query key condition not supported")
    equal_ranges = tuple(term.values[0] for term in ranges[:-1])
    return KeyCondition(hash_values[0], ranges[-1] if ranges else None, tuple(hash_values[1:]), equal_ranges)


def _missed(name: str) -> ServiceError:
    return invalid(f"Query condition missed key schema element: {name}")


def check_key_types(condition: KeyCondition, hash_type: str, range_type: str | None) -> None:
    """Refuse values whose types differ from the keys' types: S, N or B. Errors: ValidationException."""
    wanted = [(condition.hash_value, hash_type)]
    if condition.range is not None and range_type is not None:
        wanted += [(value, range_type) for value in condition.range.values]
    if any(type_of(value) != type_name for value, type_name in wanted):
        raise invalid_parameter("Condition parameter type does not match schema type")


def bounds_of(condition: RangeCondition) -> KeyBounds:
    """The exact range of encoded keys that satisfy the condition."""
    low = encode_key(condition.values[0])
    match condition.operator:
        case RangeOperator.EQ:
            return KeyBounds(low=low, high=low)
        case RangeOperator.LT:
            return KeyBounds(high=low, high_included=False)
        case RangeOperator.LE:
            return KeyBounds(high=low)
        case RangeOperator.GT:
            return KeyBounds(low=low, low_included=False)
        case RangeOperator.GE:
            return KeyBounds(low=low)
        case RangeOperator.BETWEEN:
            return KeyBounds(low=low, high=encode_key(condition.values[1]))
        case RangeOperator.BEGINS_WITH:
            return KeyBounds(low=low, high=_after_prefix(low), high_included=False)


def _after_prefix(prefix: bytes) -> bytes | None:
    """The smallest bytes greater than everything with this prefix; None if there are none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    """The operands of AND, in order. Errors: ValidationException for conditions that a key cannot answer."""
    match condition:
        case And(terms):
            for term in terms:
                yield from _conjuncts(term)
        case Or():
            raise _unusable("OR")
        case Not():
            raise _unusable("NOT")
        case In():
            raise _unusable("IN")
        case AttributeExists():
            raise _unusable("attribute_exists")
        case AttributeNotExists():
            raise _unusable("attribute_not_exists")
        case AttributeType():
            raise _unusable("attribute_type")
        case Contains():
            raise _unusable("contains")
        case Comparison(comparator=Comparator.NE):
            raise _unusable("<>")
        case Comparison() | Between() | BeginsWith():
            yield condition


def _unusable(operator: str) -> ServiceError:
    return invalid(f"Invalid operator used in {_PARAMETER}: {operator}")


_MIRRORED = {
    Comparator.EQ: RangeOperator.EQ,
    Comparator.LT: RangeOperator.GT,
    Comparator.LE: RangeOperator.GE,
    Comparator.GT: RangeOperator.LT,
    Comparator.GE: RangeOperator.LE,
}


def _term(condition: Condition) -> KeyTerm:
    match condition:
        case Comparison(comparator, Literal(value), right):
            return _named(_MIRRORED[comparator], (right, Literal(value)))
        case Comparison(comparator, left, right):
            return _named(RangeOperator(comparator.value), (left, right))
        case Between(operand, low, high):
            return _named(RangeOperator.BETWEEN, (operand, low, high))
        case BeginsWith(operand, prefix):
            return _named(RangeOperator.BEGINS_WITH, (operand, prefix))
        case _:
            raise AssertionError(condition)


def _named(operator: RangeOperator, operands: Sequence[Operand]) -> KeyTerm:
    """The key attribute, which comes first, and its values. Errors: ValidationException if another form is used."""
    name: str | None = None
    values: list[AttributeValue] = []
    if isinstance(operands[0], Literal) and operator in {RangeOperator.BETWEEN, RangeOperator.BEGINS_WITH}:
        raise _misplaced(f"{operator.value} operator must have the key attribute as its first operand")
    for operand in operands:
        match operand:
            case Size():
                raise invalid(f"{_PARAMETER}s cannot contain nested operations")
            case Literal(value):
                values.append(value)
            case Path(elements):
                if name is not None:
                    raise _misplaced("Multiple attribute names used in one condition")
                if len(elements) > 1:
                    raise invalid(f"{_PARAMETER}s cannot have conditions on nested attributes")
                name = operand.attribute
    if name is None:
        raise _misplaced("No key attribute specified")
    return KeyTerm(name, operator, tuple(values))


def _misplaced(problem: str) -> ServiceError:
    return invalid(f"Invalid condition in {_PARAMETER}: {problem}")
