"""Searches that capture: both ways say what Python says, and a pattern that explodes is followed all at once."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from redrive.languages.matching import Capturing, MalformedPattern
from redrive.languages.matching.syntax import CAPTURES, parse_regex
from redrive.languages.matching.threads import Threads
from tests.unit.languages.counting import lines_run
from tests.unit.languages.matching.strategies import TEXTS

_PIECES = st.sampled_from(
    [
        "a",
        "b",
        "1",
        " ",
        ".",
        r"\d",
        r"\S",
        "[ab]",
        "[^a]",
        "a*",
        "b+",
        "a?",
        ".*",
        ".*?",
        r"\d+",
        "[ab]{1,2}",
        "^",
        "$",
        r"\b",
    ]
)
_GROUPS = st.lists(_PIECES, min_size=1, max_size=3).map("".join)
_BRANCHES = st.lists(_GROUPS, min_size=1, max_size=2).map("|".join)


@st.composite
def captures(draw: st.DrawFn) -> str:
    """A pattern with named groups, some of which are optional."""
    parts = [draw(st.sampled_from(["", "a", " "]))]
    for name in draw(st.sampled_from([("x",), ("x", "y"), ("x", "y", "z")])):
        parts.append(f"(?P<{name}>{draw(_BRANCHES)}){draw(st.sampled_from(['', '', '?']))}")
        parts.append(draw(st.sampled_from(["", "b", " ", "1?"])))
    return "".join(parts)


@given(captures(), st.lists(TEXTS, max_size=5))
@example("(?P<x>a|ab)(?P<y>c|bcd)?(?P<z>d*)", ["abcd"])
@example("(?P<x>.*)(?P<y>b*)", ["aabb\nb"])
def test_captures_are_those_of_python_in_both_ways(pattern: str, texts: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = re.compile(pattern, re.ASCII)
    capturing = Capturing.of(pattern)
    threads = Threads(parse_regex(pattern, CAPTURES))

    for text in texts:
        found = expected.search(text)
        groups = None if found is None else found.groups()
        assert (capturing.groups(text), capturing.search(text)) == (groups, found is not None)
        assert threads.groups(text) == groups


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?<a>(x+x+)+)y", "x" * 2_000),
        (r"(?<a>.*)(?<b>.*)(?<c>.*)(?<d>.*)q", "x" * 2_000),
        (r"(?<a>(a|a)*)c", "a" * 2_000),
        (r"(?<a>\s+)$", " " * 2_000 + "x"),
    ],
)
def test_work_doubles_with_the_text(pattern: str, text: str) -> None:
    """Python's matcher would need hours for some of these."""
    capturing = Capturing.of(pattern)
    capturing.groups(text)

    once = lines_run(lambda: capturing.groups(text))
    twice = lines_run(lambda: capturing.groups(text * 2))

    assert twice < 3 * once + 1_000


def test_ignoring_case_holds_from_its_place_on() -> None:
    assert Capturing.of("^(?i)exception$").search("Exception")
    assert not Capturing.of("E(?i)rror").search("eRROR")
    assert Capturing.of("E(?i)rror").search("ERROR")


@pytest.mark.parametrize("pattern", [r"(?<a>x)\1", "(?<a>x)(?<a>y)", "(?<a>x", "(?>a)b", "a{2000}"])
def test_what_cannot_be_matched_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(MalformedPattern):
        Capturing.of(pattern)


def test_short_texts_of_common_patterns_go_to_pythons_matcher() -> None:
    capturing = Capturing.of(r"user=(?<user>\S+), took (?<ms>\d+) ms (?<rest>.*)")

    assert lines_run(lambda: capturing.groups("user=a, took 31 ms on x")) < 60
