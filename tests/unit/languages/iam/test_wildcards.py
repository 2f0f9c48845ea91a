"""The matcher of `*` and `?`, and the variables in a pattern."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.iam.wildcards import expand, glob, matches, matches_arn, plain
from tests.unit.languages.counting import lines_run


def oracle(pattern: str, text: str) -> bool:
    """The same question, asked of the regular expression engine."""
    wild = {"*": ".*", "?": "."}
    expression = "".join(wild.get(character, re.escape(character)) for character in pattern)
    return re.fullmatch(expression, text, re.DOTALL) is not None


@given(pattern=st.text("ab*?\n", max_size=10), text=st.text("ab\n", max_size=12))
def test_matcher_agrees_with_regular_expressions(pattern: str, text: str) -> None:
    assert matches(glob(pattern), text) == oracle(pattern, text)


@given(text=st.text())
def test_text_without_wildcards_matches_itself(text: str) -> None:
    pattern = tuple(text)

    assert matches(pattern, text)
    assert plain(pattern) == text


def test_many_stars_do_not_make_matching_slow() -> None:
    """A pattern that would take a backtracking matcher longer than the universe is answered at once."""
    assert not matches(glob("*a" * 200 + "b"), "a" * 2_000)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", ""),
        ("*", ""),
        ("sqs:*", "sqs:SendMessage"),
        ("arn:aws:sqs:*:*:orders-*", "arn:aws:sqs:us-east-1:123456789012:orders-dlq"),
        ("arn:aws:s3:::bucket/*", "arn:aws:s3:::bucket/a/b:c"),
        ("?", "x"),
    ],
)
def test_wildcards_cover_runs_and_single_characters(pattern: str, text: str) -> None:
    assert matches(glob(pattern), text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("", "x"), ("?", ""), ("?", "xy"), ("a*c", "ab"), ("Orders", "orders"), ("a.c", "abc"), ("[a]", "a")],
)
def test_everything_but_wildcards_stands_for_itself(pattern: str, text: str) -> None:
    assert not matches(glob(pattern), text)


def test_arn_parts_are_matched_each_on_its_own() -> None:
    """In an ARN condition a wildcard does not reach past its part.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
    """
    arn = "arn:aws:sns:us-east-1:123456789012:topic:1"

    assert matches_arn(glob("arn:aws:sns:*:*:*"), arn)
    assert matches_arn(glob("arn:*:sns:us-*:??????789012:topic:?"), arn)
    assert not matches_arn(glob("arn:aws:sns:*:topic:1"), arn)
    assert not matches_arn(glob("*"), arn)


def lookup(key: str) -> str | None:
    return {"aws:username": "ali*ce", "aws:PrincipalTag/team": "red"}.get(key)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("home/${aws:username}/*", "home/ali*ce/x"),
        ("${aws:PrincipalTag/team}", "red"),
        ("${ aws:PrincipalTag/team , 'blue'}", "red"),
        ("${aws:PrincipalTag/colour, 'blue'}-?", "blue-1"),
        ("${aws:PrincipalTag/colour, 'it''s'}", "it's"),
        ("a${*}b${?}c${$}", "a*b?c$"),
        ("${unclosed", "${unclosed"),
    ],
)
def test_variable_is_replaced_by_its_value_or_default(pattern: str, text: str) -> None:
    expanded = expand(pattern, lookup)

    assert expanded is not None
    assert matches(expanded, text)


def test_wildcard_in_a_value_is_a_plain_character() -> None:
    expanded = expand("${aws:username}", lookup)

    assert expanded is not None
    assert not matches(expanded, "alibabace")


def test_variable_without_value_and_default_has_no_pattern() -> None:
    assert expand("home/${aws:userid}", lookup) is None


def test_without_a_lookup_a_variable_is_plain_text() -> None:
    assert expand("${aws:username}", None) == tuple("${aws:username}")


@pytest.mark.parametrize("pattern", ["*" + "a" * 900 + "b", "*" + "a?" * 400 + "b*", "*a" * 300 + "b"])
def test_work_doubles_with_the_text_whatever_the_pattern(pattern: str) -> None:
    short = lines_run(matches, glob(pattern), "a" * 5_000)
    long = lines_run(matches, glob(pattern), "a" * 10_000)

    assert long < 2.2 * short + 100
    assert long < 10 * 10_000


@pytest.mark.parametrize("text", ["${" + " " * 1_000_000, "${" * 500_000, "${a,'" + "''" * 500_000, "${ " * 300_000])
def test_variable_that_is_never_closed_is_looked_at_once(text: str) -> None:
    """Spaces were divided among three parts of the pattern in all ways: cubic work."""
    assert plain(expand(text, lookup) or ()) == text


def test_name_of_a_variable_has_no_spaces_around_it_and_no_dollar_inside() -> None:
    assert plain(expand("${  aws:PrincipalTag/team\t}${ $ }${x${aws:PrincipalTag/team}", lookup) or ()) == "red$${xred"
