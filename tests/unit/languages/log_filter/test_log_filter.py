"""Filter patterns, as lists of what they match and what they do not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.log_filter import MalformedFilter, parse_filter
from tests.unit.languages.counting import lines_run

DOCUMENT = json.dumps(
    {
        "eventType": "UpdateTrail",
        "sourceIPAddress": "111.111.111.111",
        "arrayKey": ["value", "another value"],
        "objectList": [{"name": "a", "id": 1}, {"name": "b", "id": 2}],
        "SomeObject": None,
        "ThisFlag": True,
        "user": {"id": 1, "e.mail": "x@y", "name": "Jörg"},
        "ratio": 0.5,
        "code": "404",
    }
)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "anything"),
        ("ERROR", "[ERROR 400] BAD REQUEST"),
        ("ERROR", "ERRORCODE"),
        ("ERROR BAD", "BAD [ERROR 400]"),
        ('"BAD REQUEST"', "[ERROR] BAD REQUEST"),
        (r'"say \"yes\""', 'they say "yes" now'),
        ("?ERROR ?WARN", "WARN only"),
        ("ERROR -EXITING", "ERROR 1"),
        ('-"still going"', "stopped"),
        ("%ERR[O0]R%", "ERR0R"),
        ("ERROR ?WARN", "ERROR without the other"),
        ("Jörg", "Jörg"),
    ],
)
def test_terms_match_these_messages(pattern: str, message: str) -> None:
    assert parse_filter(pattern)(message)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("ERROR", "error"),
        ("ERROR BAD", "ERROR"),
        ('"BAD REQUEST"', "BAD  REQUEST"),
        ("?ERROR ?WARN", "INFO"),
        ("ERROR -EXITING", "ERROR EXITING"),
        ("-ERROR", "ERROR"),
        ("%^ERROR%", "an ERROR"),
    ],
)
def test_terms_do_not_match_those_messages(pattern: str, message: str) -> None:
    assert not parse_filter(pattern)(message)


@pytest.mark.parametrize(
    "pattern",
    [
        '{ $.eventType = "UpdateTrail" }',
        "{$.eventType=UpdateTrail}",
        '{ $.eventType = "Update*" }',
        "{ $.sourceIPAddress != 123.123.* }",
        "{ $.sourceIPAddress = 111.* }",
        '{ $.arrayKey[0] = "value" }',
        '{ $.arrayKey[*] = "another value" }',
        "{ $.objectList[1].id = 2 }",
        "{ $.SomeObject IS NULL }",
        "{ $.SomeOtherObject NOT EXISTS }",
        "{ $.ThisFlag IS TRUE }",
        '{ ($.user.id = 1) && ($.objectList[0].name = "a") }',
        "{ $.user.id = 2 || $.ratio < 1 && $.ratio >= 0.5 }",
        "{ $.user.['e.mail'] = %^x@% }",
        '{ $.user.name = "Jörg" }',
        "{ $.ratio = 5e-1 }",
        "{ $.code = 404 }",
        "{ ($.user.id = 2 || $.user.id = 1) && $.ratio > 0 }",
        '{ $.objectList[*].name != "a" }',
    ],
)
def test_json_expressions_match_the_document(pattern: str) -> None:
    assert parse_filter(pattern)(DOCUMENT)


@pytest.mark.parametrize(
    "pattern",
    [
        '{ $.eventType = "updateTrail" }',
        '{ $.missing != "x" }',
        '{ $.missing = "*" }',
        "{ $.arrayKey[2] = value }",
        "{ $.arrayKey = value }",
        "{ $.user = 1 }",
        "{ $.ThisFlag IS FALSE }",
        "{ $.ThisFlag IS NULL }",
        "{ $.SomeObject NOT EXISTS }",
        "{ $.user.id > 1 }",
        "{ $.code > 1 }",
        "{ ($.user.id = 2 || $.user.id = 1) && $.ratio > 1 }",
        "{ $.eventType[0] = U }",
    ],
)
def test_json_expressions_do_not_match_the_document(pattern: str) -> None:
    assert not parse_filter(pattern)(DOCUMENT)


@pytest.mark.parametrize("message", ["plain text", '"UpdateTrail"', "{", ""])
def test_json_expression_matches_nothing_but_json(message: str) -> None:
    assert not parse_filter("{ $.eventType NOT EXISTS }")(message)


@pytest.mark.parametrize(
    "pattern",
    [
        '"open',
        "not-quoted",
        "%a(b)%",
        "%a% %b% %c%",
        "%[%",
        "%a{600}b{600}%",
        r"%a\b%",
        "%a{%",
        "[ip, user",
        "[a, ..., b, ...]",
        "[a, a]",
        "[a=1 && b=2]",
        "[a > x]",
        "[a b]",
        "{ $.a = 1",
        "{ }",
        "{ $.a }",
        "{ $.a = }",
        "{ $.a > x }",
        "{ $.a IS 1 }",
        "{ $.a NOT NULL }",
        "{ a = 1 }",
        "{ ($.a = 1 }",
        "{ $.a = 1 $.b = 2 }",
        "{ $ = 1 }",
        "{ " + "(" * 30 + "$.a = 1" + ")" * 30 + " }",
    ],
)
def test_pattern_that_cannot_be_read_is_malformed(pattern: str) -> None:
    with pytest.raises(MalformedFilter):
        parse_filter(pattern)


@pytest.mark.parametrize("pattern", ["%x*x*x*y%", "%[xz]*x[xz]{99}y%", '{ $.a = "*x*x*xy*" }', "{ $.a = %x*x*y% }"])
def test_work_doubles_with_the_message_whatever_the_pattern(pattern: str) -> None:
    matches = parse_filter(pattern)
    short, long = json.dumps({"a": "x" * 5_000}), json.dumps({"a": "x" * 10_000})

    assert lines_run(matches, long) < 2.2 * lines_run(matches, short) + 2_000


def test_weight_of_a_filter_grows_with_what_it_asks() -> None:
    weights = [parse_filter(text).weight for text in ("a", "a b", "%a%", "{ $.a = 1 }", "{ $.a = %a% && $.b = 1 }")]

    assert weights == [1, 2, 9, 2, 11]


@given(st.text(max_size=60))
def test_every_text_is_a_pattern_or_malformed(text: str) -> None:
    """Whatever is asked for, the answer is a test or MalformedFilter, and a test answers for every message."""
    try:
        matches = parse_filter(text)
    except MalformedFilter:
        return
    assert matches(DOCUMENT) in (True, False)


@given(st.text(min_size=1, max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_quoted_phrase_matches_every_message_that_contains_it(phrase: str, before: str, after: str) -> None:
    quoted = '"' + phrase.replace("\\", "\\\\").replace('"', '\\"') + '"'

    assert parse_filter(quoted)(before + phrase + after)
    assert not parse_filter("-" + quoted)(before + phrase + after)


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("{", "If a filter pattern starts with '{' it must end with '}'"),
        ("{ $.a = 1", "If a filter pattern starts with '{' it must end with '}'"),
        ("a a.b", "Invalid character(s) in term 'a.b'"),
    ],
)
def test_sentences_about_patterns_are_those_of_aws(pattern: str, sentence: str) -> None:
    with pytest.raises(MalformedFilter) as caught:
        parse_filter(pattern)

    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("pattern", "is_matched"),
    [
        ("[ip, user, username, timestamp, request, status_code, bytes]", True),
        ("[ip, user, username]", False),
        ("[..., status_code, bytes]", True),
        ("[ip, ..., bytes]", True),
        ("[..., status_code=4*, bytes]", True),
        ("[..., status_code!=4*, bytes]", False),
        ("[..., request=*.html*, status_code=404 || status_code=410, bytes>1000 && bytes<=1534]", True),
        ("[..., bytes<1000]", False),
        ('[ip="127.0.0.1", ...]', True),
        ("[ip=%127\\.0\\.0\\.[0-9]%, ...]", True),
        ("[,,,,,,]", True),
        ("[w1!=x, ...]", True),
        ("[(ip=10.*), ...]", False),
    ],
)
def test_patterns_of_fields_between_spaces(pattern: str, is_matched: bool) -> None:
    line = '127.0.0.1 - frank [10/Oct/2000:13:25:15 -0700] "GET /index.html HTTP/1.0" 404 1534'

    assert parse_filter(pattern)(line) is is_matched


def test_what_stands_in_brackets_or_quotation_marks_is_one_field_without_them() -> None:
    found = parse_filter("[a, ..., b]").extracted('x [one two] "three \\" four"')

    assert found == {"$a": "x", "$b": 'three \\" four'}
