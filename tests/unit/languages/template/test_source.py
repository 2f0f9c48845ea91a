"""Reading a template's text: scalars stay what they look like, short forms become long, mistakes name their place."""

from __future__ import annotations

import json
import string

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.template import Node, TemplateError
from redrive.languages.template.places import keys_twice, line_of
from redrive.languages.template.source import DEPTH_MAX, SHORT_FORMS, read_source
from tests.fuzz.work import lines_run

scalars = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(string.printable, max_size=8)
nodes = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
documents = st.dictionaries(st.text(string.ascii_letters, max_size=5), nodes, max_size=3)


@given(document=documents)
def test_json_is_read_as_json_reads_it(document: dict[str, Node]) -> None:
    assert read_source(json.dumps(document)) == document


@given(document=st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=5), nodes, min_size=1, max_size=3))
def test_yaml_that_quotes_its_strings_reads_back(document: dict[str, Node]) -> None:
    text = yaml.safe_dump(document, default_style='"', sort_keys=False)
    read = read_source(text)

    assert read == document
    assert isinstance(read, dict)
    assert list(read) == list(document)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2010-09-09", "2010-09-09"),
        ("2012-10-17", "2012-10-17"),
        ("2025-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("012345678901", "012345678901"),
        ("123456789012", 123456789012),
        ("1_000", "1_000"),
        ("0x1F", "0x1F"),
        ("0", 0),
        ("-7", -7),
        ("1.5", 1.5),
        ("1.2.3", "1.2.3"),
        ("true", True),
        ("No", False),
        ("~", None),
        ("", None),
        ('"7"', "7"),
        ("'true'", "true"),
        ("rate(5 minutes)", "rate(5 minutes)"),
    ],
)
def test_scalar_is_a_string_unless_plainly_something_else(text: str, value: Node) -> None:
    read = read_source(f"key: {text}")

    assert read == {"key": value}
    assert isinstance(read, dict)
    assert type(read["key"]) is type(value)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("!Ref Queue", {"Ref": "Queue"}),
        ("!Condition IsProd", {"Condition": "IsProd"}),
        ("!GetAtt Queue.Arn", {"Fn::GetAtt": ["Queue", "Arn"]}),
        ("!GetAtt Stack.Outputs.Name", {"Fn::GetAtt": ["Stack", "Outputs.Name"]}),
        ("!GetAtt [Queue, Arn]", {"Fn::GetAtt": ["Queue", "Arn"]}),
        ("!Sub '${Queue}-x'", {"Fn::Sub": "${Queue}-x"}),
        ("!Join [',', [a, !Ref B]]", {"Fn::Join": [",", ["a", {"Ref": "B"}]]}),
        ("!Select [0, !GetAZs '']", {"Fn::Select": [0, {"Fn::GetAZs": ""}]}),
        ("!Split ['|', a|b]", {"Fn::Split": ["|", "a|b"]}),
        ("!FindInMap [M, !Ref K, v]", {"Fn::FindInMap": ["M", {"Ref": "K"}, "v"]}),
        ("!If [C, 1, !Ref AWS::NoValue]", {"Fn::If": ["C", 1, {"Ref": "AWS::NoValue"}]}),
        ("!And [!Equals [a, b], !Not [!Condition C]]", None),
        ("!Or [!Condition A, !Condition B]", {"Fn::Or": [{"Condition": "A"}, {"Condition": "B"}]}),
        ("!ImportValue x", {"Fn::ImportValue": "x"}),
        ("!Base64 x", {"Fn::Base64": "x"}),
        ("!Cidr [10.0.0.0/16, 2, 8]", {"Fn::Cidr": ["10.0.0.0/16", 2, 8]}),
        ("!Transform {Name: X}", {"Fn::Transform": {"Name": "X"}}),
    ],
)
def test_short_form_becomes_the_long_form(text: str, node: Node) -> None:
    """Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html"""
    expected = node or {"Fn::And": [{"Fn::Equals": ["a", "b"]}, {"Fn::Not": [{"Condition": "C"}]}]}

    assert read_source(f"key: {text}") == {"key": expected}


@pytest.mark.parametrize("name", sorted(SHORT_FORMS - {"GetAtt"}))
def test_every_short_form_may_stand_in_a_block(name: str) -> None:
    long = name if name in ("Ref", "Condition") else f"Fn::{name}"

    assert read_source(f"key: !{name}\n  - a\n  - b\n") == {"key": {long: ["a", "b"]}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "YAML not well-formed. (line 1, column 5)"),
        ("a:\n  b: !Unknown x\n", "YAML not well-formed. (line 2, column 6)"),
        ("a: !!int x", "YAML not well-formed. (line 1, column 4)"),
        ("? [a]\n: b\n", "YAML not well-formed. (line 1, column 3)"),
        ("a: 1\n---\nb: 2\n", "YAML not well-formed. (line 2, column 1)"),
        ("a: \x07", "YAML not well-formed."),
        ('{"a": 1,}', "JSON not well-formed. (line 1, column 9)"),
        ('{"a": NaN}', "JSON not well-formed. (NaN is not JSON)"),
        ("{a: 1}", "JSON not well-formed. (line 1, column 2)"),
    ],
)
def test_text_that_is_not_well_formed_names_the_place(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as error:
        read_source(text)

    assert error.value.message == f"Template format error: {message}"


def test_aliases_are_not_allowed() -> None:
    with pytest.raises(TemplateError) as error:
        read_source("a: &x 1\nb: *x\n")

    assert error.value.message == "Template error: YAML aliases are not allowed in CloudFormation templates."


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 5_000 + "]" * 5_000, '{"a": ' + "[" * 50_000, '{"a":' + "[" * 101 + "]" * 101 + "}"]
)
def test_bottomless_template_is_refused_and_exhausts_nothing(text: str) -> None:
    with pytest.raises(TemplateError, match=f"nested deeper than {DEPTH_MAX} levels"):
        read_source(text)


def test_flows_inside_flows_cost_no_more_than_the_depth_that_is_read() -> None:
    """PyYAML looks at all open flows with each token; a text of beginnings alone took the square of its length."""

    def refuse(levels: int) -> None:
        with pytest.raises(TemplateError, match="nested deeper"):
            read_source("a: " + "[" * levels)

    assert lines_run(lambda: refuse(1_000)) < 2 * lines_run(lambda: refuse(200))


@pytest.mark.parametrize("text", ['{"Description": "\\ud800"}', 'Description: "\\ud800"', 'Description: "\\U0000dfff"'])
def test_half_of_a_surrogate_pair_is_not_well_formed(text: str) -> None:
    """No store and no answer could hold it."""
    with pytest.raises(TemplateError, match="half of a surrogate pair"):
        read_source(text)


@pytest.mark.parametrize("text", ["a: 1\nb: 2\na: 3\n", '{"a": 1, "b": 2, "a": 3}'])
def test_last_value_of_a_key_that_stands_twice_counts(text: str) -> None:
    assert read_source(text) == {"a": 3, "b": 2}
    assert keys_twice(text) == [("a", 3 if "\n" in text else 1)]


def test_line_of_a_resource_is_that_of_its_key() -> None:
    text = "Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n  Other: {}\n"

    assert line_of(text, "Resources", "Other") == 4
    assert line_of(text, "Resources", "None") is None
    assert line_of("a: [", "Resources", "None") is None
