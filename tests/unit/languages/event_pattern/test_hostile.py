"""No pattern and no event makes the matcher work without measure. Work is counted in lines of Python."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.languages.event_pattern import Matcher, PatternError, explain, matches, parse
from tests.unit.languages.counting import lines_run


def matcher_of(pattern: dict[str, Any]) -> Matcher:
    return Matcher.of({"p": parse(json.dumps(pattern))})


def test_wildcards_cost_a_time_linear_in_the_text() -> None:
    matcher = matcher_of({"a": [{"wildcard": "*a*a*a*a*a*a*a*a*a*a*a*a*b"}]})
    matcher.matching({"a": "x"})

    short = lines_run(matcher.matching, {"a": "a" * 1_000})
    long = lines_run(matcher.matching, {"a": "a" * 100_000})

    assert long <= 2 * short


def test_nested_prefixes_cost_no_more_than_their_number() -> None:
    pattern = {"a": [{"prefix": "a" * length} for length in range(60)]}
    matcher = matcher_of(pattern)

    assert matcher.matching({"a": "a" * 59}) == {"p"}
    assert lines_run(matcher.matching, {"a": "a" * 58 + "b"}) < 1_000


def test_or_that_multiplies_is_refused_before_it_is_made() -> None:
    explosive: dict[str, Any] = {"x": [1]}
    for number in range(40):
        explosive = {f"k{number}": {"$or": [{"a": [1]}, {"b": [1]}]}, "n": explosive}
    text = json.dumps(explosive)
    assert len(text) < 2_048

    def refused() -> None:
        with pytest.raises(PatternError, match="combinations"):
            parse(text)

    assert lines_run(refused) < 100_000


def test_alternatives_with_many_fields_each_are_refused() -> None:
    ten = [{f"k{number}": [1]} for number in range(10)]
    many = {f"f{number}": [1] for number in range(60)}

    with pytest.raises(PatternError, match="more than 50000 fields"):
        parse(json.dumps({"a": {"$or": ten}, "b": {"$or": ten}, "c": {"$or": ten}} | many))


def test_event_of_many_elements_costs_a_time_linear_in_them() -> None:
    matcher = matcher_of({"a": {"x": [1], "y": [2], "z": [{"exists": False}]}})

    def event(size: int) -> dict[str, Any]:
        return {"a": [{"x": 1, "y": 1}, {"x": 2, "y": 2}] * size}

    matcher.matching(event(1))
    assert lines_run(matcher.matching, event(1_000)) <= 12 * lines_run(matcher.matching, event(100))


def test_rules_that_ask_for_other_fields_cost_nothing() -> None:
    def work(rules: int) -> int:
        patterns = {
            str(number): parse(f'{{"source": ["s"], "detail": {{"f{number}": [1]}}}}') for number in range(rules)
        }
        matcher = Matcher.of(patterns)
        event = {"source": "s", "detail": {"f1": 1}}
        assert matcher.matching(event) == {"1"}
        return lines_run(matcher.matching, event)

    assert work(2_000) == work(20)


def test_pattern_that_changes_does_not_build_the_others_again() -> None:
    patterns = {str(number): parse(f'{{"source": ["s{number}"]}}') for number in range(2_000)}
    matcher = Matcher.of(patterns)
    added = parse('{"source": ["new"]}')

    assert lines_run(matcher.with_pattern, "new", added) < 2_000
    assert lines_run(matcher.without, "7") < 2_000
    assert matcher.with_pattern("new", added).without("7").matching({"source": "new"}) == {"new"}


def test_cache_is_bounded_and_still_right_when_it_was_emptied() -> None:
    patterns = {
        str(number): parse(f'{{"a": ["v{number}"], "b": [{{"anything-but": "{number}"}}]}}') for number in range(40)
    }
    matcher = Matcher.of(patterns)

    wrong = [
        number
        for number in range(60_000)
        if matcher.matching({"a": f"v{number % 40}", "b": str(number)})
        != (frozenset() if number < 40 else {str(number % 40)})
    ]

    assert wrong == []


@pytest.mark.parametrize("depth", [101, 1_000, 100_000])
@pytest.mark.parametrize("opening", ['{"a":', '{"a":[', '{"$or":[', "[", '{"a":[{"anything-but":'])
def test_pattern_that_is_too_deep_is_refused(opening: str, depth: int) -> None:
    with pytest.raises(PatternError):
        parse(opening * depth)


def test_path_of_too_many_steps_is_refused() -> None:
    with pytest.raises(PatternError, match="100 steps"):
        parse(json.dumps({"a." * 1_000: [1]}))


def test_deep_event_is_read_as_far_as_a_pattern_goes() -> None:
    pattern = parse(json.dumps({"a": {"b": [1]}}))
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    event = {"a": {"b": deep, "c": deep}}

    assert matches(pattern, event)
    assert Matcher.of({"p": pattern}).matching(event) == {"p"}
    assert explain(pattern, event).matches


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "null", '{"a":', '{"a":"\\ud800"}', b'{"a":"\xff"}', '{"a":NaN}', '{"a":1e999}']
)
def test_text_that_is_no_event_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        matcher_of({"a": [1]}).matching_json(text)


def test_half_of_a_surrogate_pair_in_a_pattern_is_refused() -> None:
    with pytest.raises(PatternError, match="surrogate"):
        parse('{"a": ["\\ud800"]}')
    assert matches(parse('{"a": ["\\ud83d\\ude00"]}'), {"a": "😀"})


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 400, "123456789012345678901234567890"])
def test_huge_number_is_harmless_where_values_are_compared(number: str) -> None:
    assert not matches(parse(f'{{"a": [{number}]}}'), {"a": 1})
    assert matches(parse(f'{{"a": [{{"anything-but": {number}}}]}}'), {"a": 1})


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 400, "9007199254740993"])
def test_number_that_is_no_double_is_refused_in_a_range(number: str) -> None:
    with pytest.raises(PatternError, match="Cannot compare number"):
        parse(f'{{"a": [{{"numeric": ["<", {number}]}}]}}')
