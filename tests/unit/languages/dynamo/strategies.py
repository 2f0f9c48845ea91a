"""Random values, paths and trees for the property tests of DynamoDB's languages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from redrive.languages.dynamo.data.numbers import canonical
from redrive.languages.dynamo.data.values import TYPES, compare
from redrive.languages.dynamo.expressions.tree import (
    AddTo,
    And,
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Between,
    Comparator,
    Comparison,
    Contains,
    DeleteFrom,
    Difference,
    IfNotExists,
    In,
    ListAppend,
    Literal,
    Not,
    Or,
    Path,
    Remove,
    SetTo,
    Size,
    Sum,
)

NAMES = ("a", "b", "c")

DECIMALS = st.builds(
    lambda negative, digits, exponent: Decimal((int(negative), tuple(map(int, str(digits))), exponent)),
    st.booleans(),
    st.integers(0, 10**38 - 1),
    st.integers(-130, 88),
).filter(lambda number: number == 0 or -130 <= number.adjusted() <= 125)
NUMBERS = DECIMALS.map(lambda number: canonical(str(number)))
SMALL_NUMBERS = st.integers(-20, 20).map(str)

SCALARS = st.one_of(
    st.builds(lambda text: {"S": text}, st.text(max_size=4)),
    st.builds(lambda number: {"N": number}, SMALL_NUMBERS),
    st.builds(lambda data: {"B": data}, st.binary(max_size=4)),
    st.builds(lambda truth: {"BOOL": truth}, st.booleans()),
    st.just({"NULL": True}),
)
SETS = st.one_of(
    st.lists(st.text(max_size=2), min_size=1, max_size=3, unique=True).map(lambda members: {"SS": members}),
    st.lists(SMALL_NUMBERS, min_size=1, max_size=3, unique=True).map(lambda members: {"NS": members}),
    st.lists(st.binary(max_size=2), min_size=1, max_size=3, unique=True).map(lambda members: {"BS": members}),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS | SETS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda elements: {"L": elements})
        | st.dictionaries(st.sampled_from([*NAMES, "B", "BS", "name"]), inner, max_size=3).map(
            lambda members: {"M": members}
        )
    ),
    max_leaves=8,
)
ITEMS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3)

PATHS = st.builds(
    lambda name, rest: Path((name, *rest)),
    st.sampled_from([*NAMES, "name", "with space", "1st"]),
    st.lists(st.sampled_from([*NAMES, "status", 0, 1, 7]), max_size=3),
)

ORDERED = st.builds(lambda text: Literal({"S": text}), st.text(max_size=3)) | st.builds(
    lambda number: Literal({"N": number}), SMALL_NUMBERS
)
SIZED = PATHS.map(Size)
OPERANDS = PATHS | SIZED | VALUES.map(Literal)
ORDERED_OPERANDS = PATHS | SIZED | ORDERED
PREFIXES = st.builds(lambda text: Literal({"S": text}), st.text(max_size=3))


def _distinct(first: object, *others: object) -> bool:
    return not isinstance(first, Path) or first not in others


def _in_order(low: object, high: object) -> bool:
    if not isinstance(low, Literal) or not isinstance(high, Literal):
        return True
    order = compare(low.value, high.value)
    return order is not None and order <= 0


TERMS = st.one_of(
    st.builds(Comparison, st.sampled_from([Comparator.EQ, Comparator.NE]), OPERANDS, OPERANDS).filter(
        lambda term: _distinct(term.left, term.right)
    ),
    st.builds(
        Comparison,
        st.sampled_from([Comparator.LT, Comparator.LE, Comparator.GT, Comparator.GE]),
        ORDERED_OPERANDS,
        ORDERED_OPERANDS,
    ).filter(lambda term: _distinct(term.left, term.right)),
    st.builds(Between, ORDERED_OPERANDS, ORDERED_OPERANDS, ORDERED_OPERANDS).filter(
        lambda term: _distinct(term.operand, term.low, term.high) and _in_order(term.low, term.high)
    ),
    st.builds(In, OPERANDS, st.lists(OPERANDS, min_size=1, max_size=3).map(tuple)).filter(
        lambda term: _distinct(term.operand, *term.choices)
    ),
    st.builds(AttributeExists, PATHS),
    st.builds(AttributeNotExists, PATHS),
    st.builds(AttributeType, OPERANDS, st.sampled_from(TYPES)),
    st.builds(BeginsWith, PATHS, PREFIXES),
    st.builds(Contains, PATHS, VALUES.map(Literal)),
)
CONDITIONS = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda terms: And(tuple(terms))),
        st.lists(inner, min_size=2, max_size=3).map(lambda terms: Or(tuple(terms))),
        inner.map(Not),
    ),
    max_leaves=6,
)

NUMERIC = PATHS | SMALL_NUMBERS.map(lambda number: Literal({"N": number}))
LISTS = PATHS | st.lists(VALUES, max_size=2).map(lambda elements: Literal({"L": elements}))
EXPRESSIONS = st.one_of(
    PATHS,
    VALUES.map(Literal),
    st.builds(Sum, NUMERIC, NUMERIC),
    st.builds(Difference, NUMERIC, NUMERIC),
    st.builds(IfNotExists, PATHS, VALUES.map(Literal)),
    st.builds(ListAppend, LISTS, LISTS | st.builds(IfNotExists, PATHS, LISTS)),
)
ADDABLE = SMALL_NUMBERS.map(lambda number: {"N": number}) | SETS


def actions(paths: st.SearchStrategy[Path]) -> st.SearchStrategy[object]:
    """One action at one of these paths."""
    return st.one_of(
        st.builds(SetTo, paths, EXPRESSIONS),
        st.builds(Remove, paths),
        st.builds(AddTo, paths, ADDABLE),
        st.builds(DeleteFrom, paths, SETS),
    )
