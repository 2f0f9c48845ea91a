"""A Choice chooses as an oracle says that evaluates each operator by its definition."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.languages.states import Choice, StatesError, choose
from redrive.languages.states.choice_rules import OPERATORS
from tests.unit.languages.states.worlds import bindings, state

VALUES: list[object] = ["", "a", "b", "é", "𝄞", "￰", 0, 1, 1.0, -2.5, True, False, None, [], {}, "2024-01-01T00:00:00Z",
                        "2024-01-01T01:00:00+01:00", "2024-01-02T00:00:00.5Z", "2024-01-01"]  # fmt: skip
TIMES = {"2024-01-01T00:00:00Z": 0.0, "2024-01-01T01:00:00+01:00": 0.0, "2024-01-02T00:00:00.5Z": 86_400.5}


def _choice(rules: list[dict[str, Any]], **members: Any) -> Choice:
    one = state({"Type": "Choice", "Choices": rules, **members})
    assert isinstance(one, Choice)
    return one


def _goes(rule: dict[str, Any], raw: object) -> bool:
    chosen = choose(_choice([{**rule, "Next": "A"}], Default="B"), raw, bindings())
    assert chosen is not None
    return chosen.next == "A"


def _order(first: object, second: object, kind: str) -> int | None:
    """-1, 0 or 1; None for values that are not both of the kind."""

    def of(value: object) -> Any:
        match kind:
            case "String" if isinstance(value, str):
                return [
                    int.from_bytes(value.encode("utf-16-be")[at : at + 2]) for at in range(0, 2 * len(value) + 2, 2)
                ]
            case "Numeric" if isinstance(value, (int, float)) and not isinstance(value, bool):
                return value
            case "Boolean" if isinstance(value, bool):
                return value
            case "Timestamp" if isinstance(value, str):
                return TIMES.get(value)
            case _:
                return None

    left, right = of(first), of(second)
    return None if left is None or right is None else (left > right) - (left < right)


SIGNS = {"Equals": [0], "LessThan": [-1], "GreaterThan": [1], "LessThanEquals": [-1, 0], "GreaterThanEquals": [0, 1]}


@pytest.mark.parametrize("operator", sorted(name for name in OPERATORS if name.endswith("Path")))
def test_comparison_with_a_path_is_that_of_its_kind_and_false_for_other_kinds(operator: str) -> None:
    kind = next(kind for kind in ("String", "Numeric", "Boolean", "Timestamp") if operator.startswith(kind))
    signs = SIGNS[operator.removeprefix(kind).removesuffix("Path")]
    choice = _choice([{"Variable": "$.a", operator: "$.b", "Next": "A"}], Default="B")

    for first, second in itertools.product(VALUES, VALUES):
        chosen = choose(choice, {"a": first, "b": second}, bindings())
        assert chosen is not None
        assert (chosen.next == "A") is (_order(first, second, kind) in signs), (first, second)


@pytest.mark.parametrize(
    ("operator", "holding"),
    [
        ("IsNull", lambda value: value is None),
        ("IsBoolean", lambda value: isinstance(value, bool)),
        ("IsNumeric", lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)),
        ("IsString", lambda value: isinstance(value, str)),
        ("IsTimestamp", lambda value: isinstance(value, str) and value in TIMES),
        ("IsPresent", lambda value: True),
    ],
)
def test_question_for_a_kind_says_whether_the_value_is_of_it(operator: str, holding: Any) -> None:
    for value in VALUES:
        assert _goes({"Variable": "$.a", operator: True}, {"a": value}) is holding(value)
        assert _goes({"Variable": "$.a", operator: False}, {"a": value}) is not holding(value)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("log-*.txt", "log-1.txt", True),
        ("log-*.txt", "log-.txt", True),
        ("log-*.txt", "log-1.txt.bak", False),
        ("*", "", True),
        ("a*a", "a", False),
        (r"a\\*b", r"a\x*b", True),
        ("a\\*b", "a*b", True),
        ("a\\*b", "axb", False),
        ("a\\\\b", "a\\b", True),
        ("?", "x", False),
        ("*a*b*", "xxaxxbxx", True),
    ],
)
def test_star_matches_any_text_and_a_backslash_makes_it_plain(pattern: str, text: str, *, matches: bool) -> None:
    assert _goes({"Variable": "$", "StringMatches": pattern}, text) is matches


@given(st.lists(st.sampled_from(["a", "b", "*"]), max_size=6), st.text("ab", max_size=8))
def test_pattern_matches_what_trying_all_lengths_finds(pieces: list[str], text: str) -> None:
    def tried(left: list[str], rest: str) -> bool:
        if not left:
            return not rest
        if left[0] == "*":
            return any(tried(left[1:], rest[at:]) for at in range(len(rest) + 1))
        return rest.startswith(left[0]) and tried(left[1:], rest[1:])

    assert _goes({"Variable": "$", "StringMatches": "".join(pieces)}, text) is tried(pieces, text)


TESTS = st.recursive(
    st.sampled_from(["p", "q"]).map(lambda name: {"Variable": f"$.{name}", "BooleanEquals": True}),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda tests: {"And": tests})
        | st.lists(inner, min_size=1, max_size=3).map(lambda tests: {"Or": tests})
        | inner.map(lambda test: {"Not": test})
    ),
    max_leaves=6,
)


def _truth(test: dict[str, Any], data: dict[str, bool]) -> bool:
    match test:
        case {"And": tests}:
            return all(_truth(one, data) for one in tests)
        case {"Or": tests}:
            return any(_truth(one, data) for one in tests)
        case {"Not": inner}:
            return not _truth(inner, data)
        case _:
            return data[test["Variable"][2:]]


@settings(max_examples=60)
@given(TESTS, st.booleans(), st.booleans())
def test_and_or_and_not_are_those_of_logic(test: dict[str, Any], p: bool, q: bool) -> None:
    data = {"p": p, "q": q}

    assert _goes(test, data) is _truth(test, data)


def test_first_rule_that_holds_is_taken_with_its_assignments() -> None:
    choice = _choice(
        [
            {"Variable": "$.n", "NumericGreaterThan": 10, "Next": "A"},
            {"Variable": "$.n", "NumericGreaterThan": 5, "Next": "B", "Assign": {"seen.$": "$.n"}},
            {"Variable": "$.n", "NumericGreaterThan": 1, "Next": "C"},
        ],
        InputPath="$.in",
        OutputPath="$.n",
    )

    chosen = choose(choice, {"in": {"n": 7}}, bindings())

    assert chosen is not None
    assert (chosen.next, chosen.output, chosen.variables) == ("B", 7, {"seen": 7})


def test_choice_without_a_default_chooses_nothing_when_no_rule_holds() -> None:
    assert choose(_choice([{"Variable": "$", "IsNull": True, "Next": "A"}]), 1, bindings()) is None


def test_variable_that_is_not_there_fails_all_but_is_present() -> None:
    assert _goes({"Variable": "$.zip", "IsPresent": False}, {})
    with pytest.raises(StatesError) as raised:
        _goes({"Variable": "$.zip", "StringEquals": "a"}, {})

    assert raised.value.error == "States.Runtime"
    assert raised.value.cause == (
        "Invalid path '$.zip': The choice state's condition path references an invalid value."
    )


def test_jsonata_condition_must_give_a_boolean() -> None:
    choice = _choice(
        [
            {
                "Condition": "{% $states.input.n > 5 %}",
                "Next": "A",
                "Output": "{% $states.input.n %}",
                "Assign": {"v": 1},
            },
            {"Condition": "{% $states.input.n %}", "Next": "B"},
        ],
        QueryLanguage="JSONata",
    )

    chosen = choose(choice, {"n": 7}, bindings())

    assert chosen is not None
    assert (chosen.next, chosen.output, chosen.variables) == ("A", 7, {"v": 1})
    with pytest.raises(StatesError, match=r"type. Expected 'boolean', but was 'number' for value: 2"):
        choose(choice, {"n": 2}, bindings())
