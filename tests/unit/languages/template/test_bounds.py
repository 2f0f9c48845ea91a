"""Templates made to cost more than they weigh: each is answered with a value or a sentence, in linear work.

The sizes are such that the quadratic or exponential way would not come to an end.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.languages.template import Node, PseudoParameters, TemplateError, activate, load_template, resolve
from redrive.languages.template.declarations import PATTERN_COST_MAX, resolve_parameters
from redrive.languages.template.functions import sub_pieces
from tests.unit.languages.counting import lines_run
from tests.unit.languages.template.test_resolve import Scope

PSEUDO = PseudoParameters("123456789012", "us-east-1", "s", "arn:aws:cloudformation:us-east-1:1:stack/s/1")
QUEUE: dict[str, Any] = {"Q": {"Type": "X"}}
TOO_LARGE = "Template error: a value has more than 1048576 characters once its functions are resolved"


def nested(levels: int, inner: Node, wrap: Any) -> Node:
    node = inner
    for _ in range(levels):
        node = wrap(node)
    return node


@pytest.mark.parametrize("unit", ["${", "${!", "${a}", "${{"])
def test_sub_reads_its_text_once_however_many_openings_it_has(unit: str) -> None:
    """The attack: each opening was looked at up to the end of the text, again and again."""
    assert list(sub_pieces("${" * 1_000_000)) == [("${" * 1_000_000, None)]

    short, long = (lines_run(lambda count: list(sub_pieces(unit * count)), count) for count in (20_000, 40_000))
    assert long < 2.2 * short + 100


def test_sub_gives_many_escapes_back_as_plain_text() -> None:
    assert list(sub_pieces("${!a}" * 100_000)) == [("${a}" * 100_000, None)]


LAUGHS: list[Any] = [
    nested(40, "ha", lambda node: {"Fn::Sub": ["${a}${a}", {"a": node}]}),
    nested(24, "ha-ha", lambda node: {"Fn::Join": ["-" * 500, {"Fn::Split": ["-", node]}]}),
    nested(90, "ha", lambda node: {"Fn::Base64": node}),
    {"Fn::Split": ["a", {"Fn::Sub": ["${a}" * 500, {"a": "a" * 5_000}]}]},
    [{"Fn::Sub": ["${a}" * 100, {"a": "a" * 1_000}]} for _ in range(40)],
]


@pytest.mark.parametrize("value", LAUGHS)
def test_value_that_grows_without_end_is_refused(value: Node) -> None:
    with pytest.raises(TemplateError) as error:
        resolve(value, Scope())

    assert error.value.message == TOO_LARGE


def test_value_that_is_used_many_times_is_resolved_once() -> None:
    def work(levels: int) -> int:
        value = nested(levels, "", lambda node: {"Fn::Sub": ["${a}${a}${a}", {"a": node}]})
        return lines_run(lambda: resolve(value, Scope()))

    assert work(40) < 2.2 * work(20) + 100


def test_large_value_within_the_limit_is_resolved() -> None:
    assert resolve({"Fn::Sub": ["${a}" * 4, {"a": "x" * 50_000}]}, Scope()) == "x" * 200_000


def test_chain_of_conditions_may_be_longer_than_the_stack_is_deep() -> None:
    conditions: dict[str, Node] = {f"C{index}": {"Condition": f"C{index + 1}"} for index in range(5_000)}
    conditions["C5000"] = {"Fn::Equals": ["a", "a"]}
    template = load_template(json.dumps({"Conditions": conditions, "Resources": QUEUE}))

    assert activate(template, {}, PSEUDO).conditions["C0"] is True


def test_condition_that_many_others_name_is_decided_once() -> None:
    conditions: dict[str, Node] = {f"C{n}": {"Fn::And": [{"Condition": f"C{n + 1}"}] * 10} for n in range(200)}
    conditions["C200"] = {"Fn::Equals": ["a", "b"]}
    template = load_template(json.dumps({"Conditions": conditions, "Resources": QUEUE}))

    assert activate(template, {}, PSEUDO).conditions["C0"] is False


def declared(**fields: object) -> str:
    return json.dumps({"Parameters": {"P": {"Type": "String", **fields}}, "Resources": QUEUE})


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "(a*)*(a*)*b"])
def test_allowed_pattern_made_to_go_back_for_ever_is_answered(pattern: str) -> None:
    value = "a" * 4_000 + "!"

    with pytest.raises(TemplateError) as error:
        load_template(declared(AllowedPattern=pattern, Default=value))

    assert error.value.message == f"Parameter 'P' must match pattern {pattern}"


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"^(?=.*[a-z])(?=.*\d)[a-zA-Z\d]{8,41}$", "abcdefg1"),
        (r"(?!aws:)[\w+=,.@-]{1,128}", "team"),
        (r"^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}$", "10.0.0.255"),
        (r"\p{L}+\b", "Größe"),
        (r"[a-zA-Z0-9]{1,900}", "x" * 900),
    ],
)
def test_allowed_patterns_as_templates_have_them_are_understood(pattern: str, value: str) -> None:
    template = load_template(declared(AllowedPattern=pattern, Default=value))

    assert resolve_parameters(template, {}) == {"P": value}


@pytest.mark.parametrize("pattern", ["(" * 2_000 + ")" * 2_000, "((a{999}){999}){999}", r"(a)\1", "a++", "(?>a)"])
def test_allowed_pattern_that_cannot_be_matched_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(TemplateError, match="AllowedPattern of parameter P is not a valid regular expression"):
        load_template(declared(AllowedPattern=pattern))


def test_allowed_patterns_of_a_template_cost_so_much_and_no_more() -> None:
    costly = "(" + "|".join(f"{first}{second}" for first in "abcdefghij" for second in "abcdefghij") + ")*"
    template = load_template(declared(AllowedPattern=costly))

    assert resolve_parameters(template, {"P": "ab" * 1_000}) == {"P": "ab" * 1_000}
    with pytest.raises(TemplateError, match="costs too much for so long a value"):
        resolve_parameters(template, {"P": "ab" * (PATTERN_COST_MAX // 100)})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Fn::Select": ["9" * 5_000, ["a"]]}, "Fn::Select requires a list argument with two elements"),
        ({"Fn::Cidr": ["10.0.0.0/8", "9" * 5_000, "8"]}, "every Fn::Cidr object requires three parameters"),
        ({"Fn::Cidr": ["10.0.0.0/8", "1", "9" * 5_000]}, "every Fn::Cidr object requires three parameters"),
        ({"Fn::Cidr": ["10.0.0.0/8", "1", "9" * 18]}, "cannot divide"),
    ],
)
def test_number_of_thousands_of_digits_is_no_number(value: Node, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        resolve(value, Scope())


def test_length_of_thousands_of_digits_is_no_number() -> None:
    with pytest.raises(TemplateError, match="MaxLength of parameter P must be a number"):
        load_template(declared(MaxLength="9" * 5_000))


@pytest.mark.parametrize("text", ['{"Metadata": {"a": 1e999}}', "Metadata: {a: 1.0e999}", "Metadata: {a: -1.5e9999}"])
def test_number_without_end_is_not_well_formed(text: str) -> None:
    """It could be neither written as JSON nor shown."""
    with pytest.raises(TemplateError, match="not well-formed"):
        load_template(text)
