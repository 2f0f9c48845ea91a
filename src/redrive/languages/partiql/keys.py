"""Which items a WHERE clause can mean: the key conditions in it, and the filter that is left for each.

A clause that gives the partition key by `=`, `IN` or `OR` becomes queries; any other becomes a scan.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.select.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redrive.languages.dynamo.data.codec import encode_key
from redrive.languages.dynamo.data.values import AttributeValue, Item, equal, type_of
from redrive.languages.dynamo.expressions.keys import (
    KeyCondition,
    KeyTerm,
    RangeCondition,
    RangeOperator,
    bounds_of,
)
from redrive.languages.dynamo.expressions.tree import (
    And,
    BeginsWith,
    Between,
    Comparator,
    Comparison,
    Condition,
    In,
    Literal,
    Or,
    Path,
)
from redrive.languages.dynamo.refusals import invalid

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-operators.html
HASH_CHOICES_MAX = 50

_MIRRORED = {
    Comparator.EQ: RangeOperator.EQ,
    Comparator.LT: RangeOperator.GT,
    Comparator.LE: RangeOperator.GE,
    Comparator.GT: RangeOperator.LT,
    Comparator.GE: RangeOperator.LE,
}


@dataclass(frozen=True, slots=True)
class Keys:
    """The names and types (S, N or B) of the key attributes of a table or index."""

    hash_key: str
    hash_type: str
    range_key: str | None = None
    range_type: str | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """The items of one query: a key condition, and the filter on what it finds."""

    key: KeyCondition
    filter: Condition | None

    def is_within(self, range_value: AttributeValue) -> bool:
        """Whether a sort key satisfies the condition on the sort key."""
        if self.key.range is None:
            return True
        bounds, encoded = bounds_of(self.key.range), encode_key(range_value)
        return _begins_before_end(bounds.low, bounds.low_included, encoded, True) and _begins_before_end(
            encoded, True, bounds.high, bounds.high_included
        )


def reaches_of(where: Condition | None, keys: Keys) -> Sequence[Reach] | None:
    """The queries that together find what a clause means, no item twice; None if only a scan finds it.

    Errors: ValidationException for conditions on a sort key that overlap, and for more than 50 partition keys.
    """
    if where is None:
        return None
    found = _reaches(where, keys)
    if found is None:
        return None
    merged = _merged(found)
    if len(merged) > HASH_CHOICES_MAX:
        raise invalid(f"The IN operator is provided with too many operands; number of operands: {len(merged)}")
    return merged


def full_key_of(where: Condition | None, key_names: Sequence[str]) -> tuple[Item, Condition | None] | None:
    """The primary key that a clause requires by `=`, and the rest of the clause; None if a part of the key lacks."""
    rest = [] if where is None else list(_conjuncts(where))
    key: dict[str, AttributeValue] = {}
    for name in key_names:
        for at, term in enumerate(rest):
            value = _equal_to(name, term)
            if value is not None:
                key[name] = value
                del rest[at]
                break
        else:
            return None
    return key, _all(rest)


def _reaches(where: Condition, keys: Keys) -> list[Reach] | None:
    """Queries for a clause; some may find the same items."""
    pinned = _pinned(where, keys)
    if pinned is None:
        return None
    found: list[Reach] = []
    for value, rest in pinned:
        ranged, left = _range_of(keys, rest)
        found.append(Reach(KeyCondition(value, ranged), _all(left)))
    return found


def _pinned(where: Condition, keys: Keys) -> list[tuple[AttributeValue, list[Condition]]] | None:
    """The partition keys that a clause allows, each with what else it then requires; None if it allows any."""
    terms = list(_conjuncts(where))
    for at, term in enumerate(terms):
        values = _values_of(keys.hash_key, term)
        if values is not None and all(type_of(value) == keys.hash_type for value in values):
            rest = [*terms[:at], *terms[at + 1 :]]
            return [(value, rest) for value in values]
    for at, term in enumerate(terms):
        branches = [_pinned(branch, keys) for branch in term.terms] if isinstance(term, Or) else [None]
        if None not in branches:
            rest = [*terms[:at], *terms[at + 1 :]]
            return [(value, [*left, *rest]) for branch in branches if branch for value, left in branch]
    return None


def _merged(reaches: Sequence[Reach]) -> list[Reach]:
    """One query for each partition key, or for each range of its sort keys. Errors: ValidationException."""
    merged: list[Reach] = []
    for reach in reaches:
        for at, other in enumerate(merged):
            if not equal(reach.key.hash_value, other.key.hash_value):
                continue
            if reach.key.range == other.key.range:
                merged[at] = Reach(other.key, _either(other.filter, reach.filter))
                break
            if _overlap(reach.key.range, other.key.range):
                raise invalid("Overlapping conditions with range keys are not supported in where clause")
        else:
            merged.append(reach)
    return merged


def _overlap(one: RangeCondition | None, other: RangeCondition | None) -> bool:
    if one is None or other is None:
        return True
    first, second = bounds_of(one), bounds_of(other)
    return _begins_before_end(first.low, first.low_included, second.high, second.high_included) and (
        _begins_before_end(second.low, second.low_included, first.high, first.high_included)
    )


def _begins_before_end(low: bytes | None, low_included: bool, high: bytes | None, high_included: bool) -> bool:
    if low is None or high is None:
        return True
    return low <= high if low_included and high_included else low < high


def _range_of(keys: Keys, terms: Sequence[Condition]) -> tuple[RangeCondition | None, list[Condition]]:
    """The first condition on the sort key, and the other conditions."""
    for at, term in enumerate(terms):
        ranged = None if keys.range_key is None else _range_term(keys.range_key, term)
        if ranged is not None and all(type_of(value) == keys.range_type for value in ranged.values):
            return ranged, [*terms[:at], *terms[at + 1 :]]
    return None, list(terms)


def _range_term(name: str, term: Condition) -> KeyTerm | None:
    path = Path((name,))
    match term:
        case Comparison(Comparator.NE, _, _):
            return None
        case Comparison(comparator, left, Literal(value)) if left == path:
            return KeyTerm(name, RangeOperator(comparator.value), (value,))
        case Comparison(comparator, Literal(value), right) if right == path:
            return KeyTerm(name, _MIRRORED[comparator], (value,))
        case Between(operand, Literal(low), Literal(high)) if operand == path:
            return KeyTerm(name, RangeOperator.BETWEEN, (low, high))
        case BeginsWith(operand, Literal(prefix)) if operand == path and encode_key(prefix):
            return KeyTerm(name, RangeOperator.BEGINS_WITH, (prefix,))
        case _:
            return None


def _values_of(name: str, term: Condition) -> list[AttributeValue] | None:
    """The values of an attribute that a condition allows, each once; None if it does not list them."""
    value = _equal_to(name, term)
    if value is not None:
        return [value]
    match term:
        case In(operand, choices) if operand == Path((name,)):
            values: list[AttributeValue] = []
            for choice in choices:
                if not isinstance(choice, Literal):
                    return None
                if not any(equal(choice.value, known) for known in values):
                    values.append(choice.value)
            return values
        case _:
            return None


def _equal_to(name: str, term: Condition) -> AttributeValue | None:
    path = Path((name,))
    match term:
        case Comparison(Comparator.EQ, left, Literal(value)) if left == path:
            return value
        case Comparison(Comparator.EQ, Literal(value), right) if right == path:
            return value
        case _:
            return None


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, And):
        for term in condition.terms:
            yield from _conjuncts(term)
    else:
        yield condition


def _all(terms: Sequence[Condition]) -> Condition | None:
    if len(terms) < 2:
        return terms[0] if terms else None
    return And(tuple(terms))


def _either(one: Condition | None, other: Condition | None) -> Condition | None:
    """The condition that one of two filters holds; no filter always holds."""
    if one is None or other is None or one == other:
        return None if one is None or other is None else one
    return Or((one, other))
