"""The keys in WHERE clauses: the queries find what evaluating the clause on every item would, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.languages.dynamo import AttributeValue, Condition, Item, RangeOperator, bounds_of, encode_key, equal, holds
from redrive.languages.partiql import Keys, Reach, Select, bind, full_key_of, parse, reaches_of
from tests.unit.languages.dynamo.refused import refusal

KEYS = Keys("pk", "S", "sk", "N")

Plain = Mapping[str, "str | int"]
"""An item of the oracle: strings and numbers, as Python has them."""


def select(clause: str) -> Select:
    found = bind(parse(f"SELECT * FROM t WHERE {clause}"), ())
    assert isinstance(found, Select)
    return found


def reaches(clause: str) -> list[Reach] | None:
    found = reaches_of(select(clause).where, KEYS)
    return None if found is None else list(found)


def found_by(reach: Reach, item: Item) -> bool:
    """Whether a query finds an item: its partition key, the bounds of its sort key, then the filter."""
    if not equal(item["pk"], reach.key.hash_value):
        return False
    if reach.key.range is not None:
        bounds, encoded = bounds_of(reach.key.range), encode_key(item["sk"])
        if bounds.low is not None and (encoded < bounds.low or (encoded == bounds.low and not bounds.low_included)):
            return False
        if bounds.high is not None and (encoded > bounds.high or (encoded == bounds.high and not bounds.high_included)):
            return False
    return reach.filter is None or holds(reach.filter, item)


@pytest.mark.parametrize(
    "clause",
    [
        "pk = 'a'", "'a' = pk", "pk = 'a' AND x = 1", "pk IN ['a', 'b']", "pk = 'a' OR pk = 'b'",
        "(pk = 'a' AND sk > 1) OR (pk = 'b' AND x = 1)", "x = 1 AND (pk = 'a' OR pk = 'b')",
    ],
)  # fmt: skip
def test_clause_with_a_partition_key_is_a_query(clause: str) -> None:
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.select.html"""
    assert reaches(clause)


@pytest.mark.parametrize("clause", ["pk > 'a'", "x = 1", "pk = 'a' OR x = 1", "NOT pk = 'a'", "pk = x", "pk = 1"])
def test_clause_without_a_partition_key_is_a_scan(clause: str) -> None:
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.select.html"""
    assert reaches(clause) is None


@pytest.mark.parametrize(
    ("condition", "operator"),
    [
        ("sk = 1", RangeOperator.EQ), ("1 < sk", RangeOperator.GT), ("sk <= 1", RangeOperator.LE),
        ("sk BETWEEN 1 AND 2", RangeOperator.BETWEEN),
    ],
)  # fmt: skip
def test_condition_on_the_sort_key_bounds_the_query(condition: str, operator: RangeOperator) -> None:
    (reach,) = reaches(f"x = 1 AND {condition} AND pk = 'a'") or []

    assert reach.key.range is not None
    assert reach.key.range.operator is operator
    assert reach.filter == select("x = 1").where


def test_what_stands_beside_a_disjunction_counts_for_each_query() -> None:
    found = reaches("x = 1 AND (pk = 'a' OR pk = 'b' AND y = 2) AND sk > 3") or []

    assert [reach.key.range is not None and reach.key.range.operator for reach in found] == [RangeOperator.GT] * 2
    assert [reach.filter for reach in found] == [select("x = 1").where, select("y = 2 AND x = 1").where]


def test_overlapping_sort_keys_are_refused() -> None:
    message = "Overlapping conditions with range keys are not supported in where clause"

    assert refusal(lambda: reaches("(pk = 'a' AND sk > 1) OR (pk = 'a' AND sk < 5)")) == message
    assert refusal(lambda: reaches("(pk = 'a' AND sk > 1) OR pk = 'a'")) == message
    assert reaches("(pk = 'a' AND sk > 5) OR (pk = 'a' AND sk < 5)")


def test_query_has_at_most_50_partition_keys() -> None:
    def clause(count: int) -> str:
        return f"pk IN [{', '.join(repr(str(number)) for number in range(count))}]"

    assert len(reaches(clause(50)) or []) == 50
    refusal(lambda: reaches(clause(51)))


def test_write_needs_the_whole_key() -> None:
    assert full_key_of(select("sk = 1 AND x = 2 AND pk = 'a'").where, ("pk", "sk")) == (
        {"pk": {"S": "a"}, "sk": {"N": "1"}}, select("x = 2").where,
    )  # fmt: skip
    assert full_key_of(select("pk = 'a'").where, ("pk", "sk")) is None
    assert full_key_of(select("pk = 'a' AND sk > 1").where, ("pk", "sk")) is None
    assert full_key_of(select("pk = 'a' OR sk = 1").where, ("pk", "sk")) is None
    assert full_key_of(None, ("pk",)) is None


def test_many_disjunctions_take_few_steps() -> None:
    """Each part of a clause is looked at once: 40 disjunctions that nest would otherwise take forever."""
    assert reaches(" AND ".join(f"(a{number} = 1 OR b{number} = 2)" for number in range(40))) is None


@dataclass(frozen=True)
class Clause:
    """A clause as text, and as a function on plain items that knows nothing of PartiQL."""

    text: str
    means: Callable[[Plain], bool]

    def __repr__(self) -> str:
        return self.text


def _comparison(name: str, operator: str, value: str | int) -> Clause:
    compare: dict[str, Callable[[object, object], bool]] = {
        "=": lambda a, b: a == b, "<>": lambda a, b: a != b,
        "<": lambda a, b: a < b, ">=": lambda a, b: a >= b,  # type: ignore[operator]
    }  # fmt: skip

    def means(item: Plain) -> bool:
        if name not in item or type(item[name]) is not type(value):
            return operator == "<>"
        return compare[operator](item[name], value)

    return Clause(f"{name} {operator} {value!r}", means)


def _among(name: str, values: list[str] | list[int]) -> Clause:
    return Clause(f"{name} IN {values!r}", lambda item: item.get(name) in values)


def _between(name: str, bounds: tuple[int, int]) -> Clause:
    low, high = sorted(bounds)
    return Clause(
        f"{name} BETWEEN {low} AND {high}",
        lambda item: isinstance(value := item.get(name), int) and low <= value <= high,
    )


def _both(one: Clause, other: Clause) -> Clause:
    return Clause(f"({one.text}) AND ({other.text})", lambda item: one.means(item) and other.means(item))


def _either(one: Clause, other: Clause) -> Clause:
    return Clause(f"({one.text}) OR ({other.text})", lambda item: one.means(item) or other.means(item))


TEXTS = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(0, 4)
OPERATORS = st.sampled_from(["=", "<>", "<", ">="])
TERMS = st.one_of(
    st.builds(_comparison, st.just("pk"), st.just("="), TEXTS),
    st.builds(_among, st.just("pk"), st.lists(TEXTS, min_size=1, max_size=3)),
    st.builds(_comparison, st.just("pk"), OPERATORS, TEXTS),
    st.builds(_comparison, st.just("sk"), OPERATORS, NUMBERS),
    st.builds(_between, st.just("sk"), st.tuples(NUMBERS, NUMBERS)),
    st.builds(_comparison, st.just("x"), OPERATORS, NUMBERS | TEXTS),
    st.builds(lambda: Clause("x IS MISSING", lambda item: "x" not in item)),
)
CLAUSES = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.builds(_both, inner, inner),
        st.builds(_either, inner, inner),
        inner.map(lambda term: Clause(f"NOT ({term.text})", lambda item: not term.means(item))),
    ),
    max_leaves=6,
)
ITEMS: list[Plain] = [
    {"pk": pk, "sk": sk, **({} if x is None else {"x": x})} for pk in "abc" for sk in range(5) for x in (None, 1, "a")
]


def _stored(item: Plain) -> dict[str, AttributeValue]:
    return {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in item.items()}


def times_found(plan: Sequence[Reach] | None, where: Condition, item: Item) -> int:
    """How often the queries find an item; a scan finds it once if the clause holds."""
    if plan is None:
        return int(holds(where, item))
    return sum(found_by(reach, item) for reach in plan)


@given(CLAUSES)
def test_queries_find_what_the_clause_means_and_nothing_twice(clause: Clause) -> None:
    """The oracle evaluates each clause in Python, on every item."""
    wanted = [item for item in ITEMS if clause.means(item)]
    where = select(clause.text).where
    assert where is not None

    try:
        plan = reaches_of(where, KEYS)
    except ServiceError:
        assume(False)
    found = [item for item in ITEMS for _ in range(times_found(plan, where, _stored(item)))]

    assert found == wanted
