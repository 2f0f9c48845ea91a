"""Texts that are no patterns are refused with AWS's sentence, its line and its column."""

from __future__ import annotations

import json

import pytest

from redrive.languages.event_pattern import PatternError, parse

SOURCE = ' at [Source: (String)"'
BUT = "Value of anything-but must be an array or single string/number value."
TOO_COMPLEX = (
    "Rule is too complex - try using fewer wildcard characters or fewer repeating character sequences after a wildcard "
    "character"
)


def refusal(text: str) -> PatternError:
    with pytest.raises(PatternError) as caught:
        parse(text)
    assert str(caught.value).startswith("Event pattern is not valid. Reason: ")
    return caught.value


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        # Published answers of AWS name these two columns.
        ('{"source": ["aws.health"], "detail": {}}', "Empty objects are not allowed", 40),
        ('{"detail-type":["Object Created"],"source":"aws.s3"}', '"source" must be an object or an array', 45),
        ('{"a":[]}', "Empty arrays are not allowed", 8),
        ("{}", "Empty objects are not allowed", 3),
        ("[]", "Filter is not an object", 2),
        ('"a"', "Filter is not an object", 2),
        ("", "Filter is not an object", 1),
        ('{"a":[["x"]]}', "Match value must be String, number, true, false, or null", 8),
        ('{"a":[{"EXISTS":true}]}', "Unrecognized match type EXISTS", 21),
        ('{"a":[{}]}', "Match expression name not found", 9),
        ('{"a":[{"prefix":"a","suffix":"b"}]}', "Only one key allowed in match expression", 31),
        ('{"a":[{"exists":"true"}]}', "exists match pattern must be either true or false.", 18),
        ('{"a":[{"prefix":1}]}', "prefix match pattern must be a string", 18),
        ('{"a":[{"suffix":["b"]}]}', "suffix match pattern must be a string", 18),
        ('{"a":[{"wildcard":null}]}', "wildcard match pattern must be a string", 23),
        ('{"a":[{"equals-ignore-case":["b"]}]}', "equals-ignore-case match pattern must be a string", 30),
        ('{"a":[{"wildcard":"a**b"}]}', "Consecutive wildcard characters at pos 2", 25),
        ('{"a":[{"numeric":5}]}', "Value of numeric must be an array.", 19),
        ('{"a":[{"numeric":[">",0,">",0]}]}', "Bad numeric range operator: >", 28),
        ('{"a":[{"numeric":["<"]}]}', "Value of < must be numeric", 23),
        ('{"a":[{"numeric":["=",1,"<",2]}]}', "Too many elements in numeric expression", 26),
        ('{"a":[{"cidr":["10.0.0.0/24"]}]}', "prefix match pattern must be a string", 16),
        ('{"a":[{"anything-but":null}]}', BUT, 27),
        ('{"a":[{"anything-but":{"prefix":""}}]}', "Null prefix/suffix not allowed", 35),
        ('{"a":[{"anything-but":{"prefix":{"a":"x"}}}]}', "prefix/suffix match pattern must be a string", 34),
        ('{"a":[{"anything-but":{"numeric":1}}]}', BUT, 35),
        ('{"a":[1],"a":[2]}', "Path `a` cannot be allowed multiple times", 17),
        ('{"a":[1],"$or":[{"a":[2]},{"b":[1]}]}', "Path `a` cannot be allowed multiple times", 37),
        ('{"a":[1]} 2', "Unexpected content after the pattern", 12),
        ("{a:1}", "Unexpected character ('a' (code 97)): was expecting double-quote to start field name", 3),
        ('{"a" 1}', "Unexpected character ('1' (code 49)): was expecting a colon to separate field name and value", 7),
        ('{"a":[1 2]}', "Unexpected character ('2' (code 50)): was expecting comma to separate Array entries", 10),
        ('{"a":[01]}', "Invalid numeric value: Leading zeroes not allowed", 9),
        ('{"a":["x\\q"]}', "Unrecognized character escape 'q' (code 113)", 11),
        ('{"a":["x', "Unexpected end-of-input: was expecting closing quote for a string value", 9),
    ],
)  # fmt: skip
def test_text_is_refused_with_reason_and_place(text: str, reason: str, column: int) -> None:
    error = refusal(text)

    assert error.reason == reason
    assert str(error).endswith(f'{reason}\n{SOURCE}{text}"; line: 1, column: {column}]')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a":[{"cidr":"10.0.0.0"}]}', "Malformed CIDR, one '/' required"),
        ('{"a":[{"cidr":"10.0.0.0/x"}]}', "Malformed CIDR, mask bits must be an integer"),
        ('{"a":[{"cidr":"xx.11.xx/8"}]}', "Nonstandard IP address: xx.11.xx"),
        (
            '{"a":[{"wildcard":"' + "*a" * 60 + '"}]}',
            TOO_COMPLEX,
        ),
    ],
)
def test_refusals_of_networks_and_complex_wildcards_name_no_place(text: str, reason: str) -> None:
    assert str(refusal(text)) == f"Event pattern is not valid. Reason: {reason}"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ('["a", null]', "Inside anything but list, start|null|boolean is not supported."),
        ('{"equals-ignore-case":["a", 1]}',
         "Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported."),
    ],
)  # fmt: skip
def test_refusal_of_a_list_of_anything_but_names_the_place_twice(expression: str, reason: str) -> None:
    error = str(refusal(f'{{"a":[{{"anything-but":{expression}}}]}}'))

    assert error.count(SOURCE) == 2
    assert f"Reason: {reason}\n" in error


def test_place_of_an_error_has_its_line() -> None:
    assert str(refusal('{\n  "a": {\n    "slug": "x"\n  }\n}')).endswith("line: 3, column: 14]")


def test_long_text_is_cut_in_its_refusal() -> None:
    text = json.dumps({"a": ["x" * 600], "b": 1})

    assert f'{text[:500]}"[truncated {len(text) - 500} chars]; line: 1, column: {len(text)}]' in str(refusal(text))


def test_first_mistake_of_a_text_is_told() -> None:
    assert refusal('{"a": "x", "b": [}').reason == '"a" must be an object or an array'


def test_alternatives_beyond_a_thousand_are_refused() -> None:
    ten = [{f"k{number}": [1]} for number in range(10)]
    three = {"a": {"$or": ten}, "b": {"$or": ten}, "c": {"$or": ten}}

    assert len(parse(json.dumps(three)).alternatives) == 1_000
    assert "1000 combinations" in refusal(json.dumps(three | {"d": {"$or": ten[:2]}})).reason
