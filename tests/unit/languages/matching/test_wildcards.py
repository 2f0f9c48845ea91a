"""Patterns with `*` and `?`."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from redrive.languages.matching import ANY, ONE, Wildcard
from tests.unit.languages.counting import lines_run


@given(st.text("ab*?", max_size=10), st.text("ab*", max_size=10))
@example("a*a", "a")
@example("*?*", "")
@example("**b", "ab")
@example("a?*?b", "aabab")
def test_wildcards_cover_what_python_covers(pattern: str, text: str) -> None:
    expression = "".join({"*": ".*", "?": "."}.get(one, re.escape(one)) for one in pattern)

    assert Wildcard.of(pattern).matches(text) is bool(re.fullmatch(expression, text, re.DOTALL))


@given(st.text("ab*?", max_size=10), st.text("ab?", max_size=10))
def test_question_mark_is_itself_where_it_is_no_wildcard(pattern: str, text: str) -> None:
    expression = "".join({"*": ".*"}.get(one, re.escape(one)) for one in pattern)

    assert Wildcard.of(pattern, one=False).matches(text) is bool(re.fullmatch(expression, text, re.DOTALL))


def test_texts_among_tokens_are_taken_as_they_are() -> None:
    pattern = Wildcard.of_tokens(["a*", ANY, ONE, "?"])

    assert pattern.matches("a*xy?")
    assert not pattern.matches("abxy?")


@pytest.mark.parametrize(
    ("pattern", "unit"), [("*a" * 200 + "*b", "a"), ("*" + "a?" * 400 + "b*", "a"), ("*" + "a" * 500 + "b", "a")]
)
def test_work_doubles_with_the_text_whatever_the_pattern(pattern: str, unit: str) -> None:
    wildcard = Wildcard.of(pattern)

    short = lines_run(wildcard.matches, unit * 5_000)
    long = lines_run(wildcard.matches, unit * 10_000)

    assert short < 5 * 5_000
    assert long < 2.2 * short + 100
