"""Regular expressions: they say what Python's say, and never take more than linear time."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from redrive.languages.matching import GROUPS, NO_GROUPS, MalformedPattern, Regex, compile_regex
from tests.unit.languages.counting import lines_run
from tests.unit.languages.matching.strategies import FLAT, NESTED, TEXTS


def oracle(pattern: str) -> re.Pattern[str]:
    """Python's reading of a pattern; patterns that Python refuses are passed over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(pattern, re.ASCII)
        except re.error:
            assume(False)
            raise


def agrees(regex: Regex, expected: re.Pattern[str], text: str) -> bool:
    return (regex.search(text), regex.fullmatch(text)) == (bool(expected.search(text)), bool(expected.fullmatch(text)))


@given(FLAT, st.lists(TEXTS, max_size=5))
@example("a$", ["a\n"])
@example("^$", ["\n", ""])
@example("a?a?aa", ["aa"])
@example("$\n", ["\n"])
def test_pattern_without_groups_matches_what_python_matches(pattern: str, texts: list[str]) -> None:
    expected = oracle(pattern)

    regex = compile_regex(pattern, NO_GROUPS)

    assert [text for text in texts if not agrees(regex, expected, text)] == []


@given(NESTED, st.lists(TEXTS, max_size=5))
@example("(a|b)*(?=1)", ["ab1"])
@example("(a*)*b", ["aab"])
@example("((^)?a){2}", ["aa"])
@example(r"(?<!a)b\b", ["ab b"])
@example("(?=a(?!b)).", ["ab", "a1"])
def test_pattern_with_groups_matches_what_python_matches(pattern: str, texts: list[str]) -> None:
    expected = oracle(pattern)

    regex = compile_regex(pattern, GROUPS)
    told = [text for text in texts if text or r"\B" not in pattern]  # Python's \B fails in an empty text, until 3.14.

    assert [text for text in told if not agrees(regex, expected, text)] == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\p{L}+", "Größe"),
        (r"\p{Alpha}\P{Lower}", "aB"),
        (r"[\p{Lu}_]+", "Ä_"),
        ("(?<name>a)b", "ab"),
        ("(?i)error[a-c]", "ErRoRB"),
        (r"a\z", "a"),
        (r"\u0041", "A"),
    ],
)
def test_pattern_as_java_has_it_is_understood(pattern: str, text: str) -> None:
    assert compile_regex(pattern, GROUPS).fullmatch(text)


@pytest.mark.parametrize(
    "pattern",
    ["*", "a**", "a*+", "a{2,1}", "a{1001}", "[b-a]", "[a", "a\\", "(", "a)", r"(a)\1", "(?>a)", r"\q", "[a&&b]", "{",
     "(?m)a", "^*", "(" * 60 + ")" * 60, r"\p{Greek}", r"[\b]", r"[^\p{L}]"],
)  # fmt: skip
def test_pattern_that_is_not_supported_is_refused(pattern: str) -> None:
    with pytest.raises(MalformedPattern):
        compile_regex(pattern, GROUPS)


@given(st.text("ab()[]{}|*+?^$\\.-,1dwp:=!<", max_size=20))
def test_every_text_is_a_pattern_or_malformed(text: str) -> None:
    try:
        regex = compile_regex(text, GROUPS)
    except MalformedPattern:
        return
    assert regex.search("ab 1") in (True, False)


@pytest.mark.parametrize("pattern", ["(((a{100}){100}){100}){100}", "(a|b){600}", "a{999}b{999}"])
def test_pattern_that_grows_beyond_the_limit_is_refused_before_it_grows(pattern: str) -> None:
    with pytest.raises(MalformedPattern, match="too large"):
        compile_regex(pattern, GROUPS)


HOSTILE = [
    ("a*a*a*a*[bc]", "a"),
    ("(a|a)*[bc]", "a"),
    ("(a+)+$", "a"),
    ("(x+x+)+y?z?[bc]", "x"),
    ("(.*)(.*)(.*)[!?]", "a"),
    ("a?" * 60 + "a" * 60 + "[bc]", "a"),
    ("[ab]*a[ab]{200}[!?]", "ab"),
    ("(?=.*[0-9])(?=.*[A-Z]).*", "a"),
]


@pytest.mark.parametrize(("pattern", "unit"), HOSTILE)
def test_work_doubles_with_the_text_whatever_the_pattern(pattern: str, unit: str) -> None:
    """What takes a backtracking matcher quadratic or exponential time takes this one linear time."""
    regex = compile_regex(pattern, GROUPS)

    short = lines_run(regex.search, unit * 2_000 + "#")
    long = lines_run(regex.search, unit * 4_000 + "#")

    assert short < 200 * 2_000 * len(unit)
    assert long < 2.2 * short + 1_000


def test_rows_kept_are_bounded_whatever_the_text_has() -> None:
    """A text of very many sets of places and characters is read, and its rows are forgotten on the way."""
    regex = compile_regex("[ab]*a[^x]{12}c", GROUPS)
    text = "".join("ab"[number.bit_count() % 2] + chr(0x4E00 + number % 7_000) for number in range(30_000))

    assert not regex.search(text + "c!")
    assert sum(map(len, regex._searching._rows.values())) <= 20_001  # noqa: SLF001 -- the bound is on what is inside.
    assert regex.search(text[-40:] + "a" + "b" * 12 + "c")
