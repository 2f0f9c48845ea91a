"""The matcher of a whole bus finds what the definition finds, whatever was added, replaced and removed before."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from redrive.languages.event_pattern import Matcher, Pattern, matches, parse
from redrive.languages.event_pattern.automaton import Automaton
from redrive.languages.event_pattern.states import TEXTS_OF_FIELD_MAX
from tests.unit.languages.counting import lines_run
from tests.unit.languages.event_pattern.strategies import EVENTS, PATTERNS, WIDE_EVENTS, WIDE_PATTERNS

NAMES = st.sampled_from("pqrstuvw")
CHANGES = st.lists(st.tuples(NAMES, st.none() | PATTERNS), max_size=12)


def expected(patterns: dict[str, Pattern], event: dict[str, Any]) -> frozenset[str]:
    return frozenset(name for name, pattern in patterns.items() if matches(pattern, event))


@settings(max_examples=60)
@given(st.dictionaries(NAMES, PATTERNS, max_size=8), st.lists(EVENTS, min_size=1, max_size=6))
def test_matcher_finds_the_patterns_that_the_definition_finds(
    patterns: dict[str, Pattern], events: list[dict[str, Any]]
) -> None:
    matcher = Matcher.of(patterns)

    assert [matcher.matching(event) for event in events] == [expected(patterns, event) for event in events]


@settings(max_examples=60)
@given(st.dictionaries(NAMES, PATTERNS, max_size=4), CHANGES, EVENTS)
def test_matcher_after_changes_is_the_matcher_of_what_is_left(
    patterns: dict[str, Pattern], changes: list[tuple[str, Pattern | None]], event: dict[str, Any]
) -> None:
    matcher = Matcher.of(patterns)
    left = dict(patterns)
    for name, pattern in changes:
        before = matcher.matching(event)
        changed = matcher.without(name) if pattern is None else matcher.with_pattern(name, pattern)
        assert matcher.matching(event) == before
        matcher = changed
        if pattern is None:
            left.pop(name, None)
        else:
            left[name] = pattern

        assert matcher.matching(event) == expected(left, event)


@settings(max_examples=60)
@given(st.lists(WIDE_PATTERNS, min_size=16, max_size=24), st.lists(WIDE_EVENTS, min_size=1, max_size=3))
def test_matcher_of_many_patterns_asks_for_keys_first_and_finds_the_same(
    patterns: list[Pattern | None], events: list[dict[str, Any]]
) -> None:
    named = {str(number): pattern for number, pattern in enumerate(patterns) if pattern is not None}
    matcher = Matcher.of(named)

    assert [matcher.matching(event) for event in events] == [expected(named, event) for event in events]


@given(PATTERNS, EVENTS)
@example(parse('{"a": [1]}'), {"a": 1})
def test_event_as_text_matches_what_its_object_matches(pattern: Pattern, event: dict[str, Any]) -> None:
    matcher = Matcher.of({"p": pattern})

    assert matcher.matching_json(json.dumps(event)) == matcher.matching_json(json.dumps(event).encode())
    assert matcher.matching_json(json.dumps(event)) == matcher.matching(event)


def test_pattern_of_a_large_bus_that_is_replaced_matches_as_the_new_one_alone() -> None:
    many = {str(number): parse(f'{{"a": ["v{number}"]}}') for number in range(600)}

    replaced = Matcher.of(many).with_pattern("7", parse('{"a": ["new"]}'))
    rounds = [(replaced.matching({"a": "v7"}), replaced.matching({"a": "new"})) for _ in range(700)]

    assert rounds == [(frozenset(), frozenset({"7"}))] * 700
    assert replaced.without("7").matching({"a": "new"}) == frozenset()


def test_texts_that_are_kept_for_a_field_are_bounded_and_all_texts_match() -> None:
    """Each event has a text of its own, as names of files are."""
    patterns = {f"{kind}{number}": parse(f'{{"type": ["{kind}"], "file": [{{"suffix": ".{number}"}}]}}')
                for kind in "abcde" for number in range(3)}  # fmt: skip
    automaton = Automaton(patterns)
    start = automaton.start()

    found = [
        automaton.names(start, {"type": "abcde"[at % 5], "file": f"{at}.{at % 3}"})
        for at in range(2 * TEXTS_OF_FIELD_MAX)
    ]

    assert found == [{f"{'abcde'[at % 5]}{at % 3}"} for at in range(2 * TEXTS_OF_FIELD_MAX)]
    assert max(len(field.texts) for field in automaton.fields) == TEXTS_OF_FIELD_MAX


def test_text_that_one_state_has_met_is_known_to_the_others() -> None:
    patterns = {f"{kind}{number}": parse(f'{{"type": ["{kind}"], "file": [{{"wildcard": "*{number}*x"}}]}}')
                for kind in "abcde" for number in range(9)}  # fmt: skip
    automaton = Automaton(patterns)
    start = automaton.start()
    for kind in "ab":
        automaton.names(start, {"type": kind, "file": "warm"})

    first = lines_run(automaton.names, start, {"type": "a", "file": "1x"})
    automaton.names(start, {"type": "a", "file": "2x"})
    second = lines_run(automaton.names, start, {"type": "b", "file": "2x"})

    assert 2 * second < first
