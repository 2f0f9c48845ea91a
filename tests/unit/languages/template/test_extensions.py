"""AWS::LanguageExtensions: loops, lengths, JSON texts, defaults of mappings, functions in more places."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.template import PseudoParameters, TemplateError
from redrive.languages.template.extensions import extend
from redrive.languages.template.loops import LOOPS_NESTED_MAX
from redrive.languages.template.resolve import ResolutionScope, resolve

PSEUDO = PseudoParameters("111122223333", "eu-west-1", "stack", "arn:aws:cloudformation:…", ())
GIVEN: dict[str, str | list[str]] = {"Names": ["a", "b-c"], "One": "1"}


def extended(**sections: Any) -> Any:
    return extend(sections, GIVEN, PSEUDO)


def value_of(node: Any) -> Any:
    """What a property's value becomes."""
    made = extended(Resources={"R": {"Type": "T", "Properties": {"P": node}}})
    return made["Resources"]["R"]["Properties"]["P"]


def test_loop_makes_a_resource_for_each_value_of_a_list_parameter() -> None:
    loop = ["Name", {"Ref": "Names"}, {"Queue&{Name}": {"Type": "Q", "Properties": {"N": {"Ref": "Name"}}}}]

    made = extended(Resources={"Fn::ForEach::Queues": loop, "Other": {"Type": "T"}})

    assert made["Resources"] == {
        "Queuea": {"Type": "Q", "Properties": {"N": "a"}},
        "Queuebc": {"Type": "Q", "Properties": {"N": "b-c"}},
        "Other": {"Type": "T"},
    }


@pytest.mark.parametrize(
    ("fragment", "filled"),
    [
        ({"Fn::Sub": "x-${N}-${M}"}, {"Fn::Sub": "x-v-${M}"}),
        ({"Fn::Sub": ["${N}${A}", {"A": {"Ref": "N"}}]}, {"Fn::Sub": ["v${A}", {"A": "v"}]}),
        ({"Fn::GetAtt": ["Q${N}", "Arn"]}, {"Fn::GetAtt": ["Qv", "Arn"]}),
        ({"Fn::GetAtt": [{"Fn::Sub": "Q${N}"}, "Arn"]}, {"Fn::GetAtt": ["Qv", "Arn"]}),
        ({"Ref": {"Fn::Sub": "Q${N}"}}, {"Ref": "Qv"}),
        ({"DependsOn": ["Q${N}"]}, {"DependsOn": ["Qv"]}),
        ("plain ${N}", "plain ${N}"),
        ({"Key${N}": 1}, {"Key${N}": 1}),
    ],
)
def test_loop_fills_its_identifier_into_functions_and_leaves_plain_texts(fragment: Any, filled: Any) -> None:
    made = extended(Outputs={"Fn::ForEach::L": ["N", ["v"], {"O${N}": {"Value": fragment}}]})

    assert made["Outputs"] == {"Ov": {"Value": filled}}


def test_inner_loop_may_follow_from_the_outer_one() -> None:
    inner = ["In", {"Fn::FindInMap": ["M", {"Ref": "Out"}, "list"]}, {"P${Out}${In}": {"Ref": "In"}}]
    loop = ["Out", ["x", "y"], {"Fn::ForEach::Inner": inner}]

    made = extended(
        Mappings={"M": {"x": {"list": ["1", "2"]}, "y": {"list": ["3"]}}}, Resources={"Fn::ForEach::L": loop}
    )

    assert made["Resources"] == {"Px1": "1", "Px2": "2", "Py3": "3"}


@pytest.mark.parametrize(
    "loop", [[], ["N", ["a"]], ["N", "a", {"K${N}": 1}], [1, ["a"], {"K": 1}], ["N", ["a"], {}], "x"]
)
def test_loop_of_another_layout_is_refused(loop: Any) -> None:
    with pytest.raises(TemplateError, match="Fn::ForEach::L layout is incorrect"):
        extended(Resources={"Fn::ForEach::L": loop})


def test_loop_that_makes_a_key_twice_is_refused() -> None:
    with pytest.raises(TemplateError, match="makes the key Same twice"):
        extended(Resources={"Fn::ForEach::L": ["N", ["a", "b"], {"Same": {"Type": "T"}}]})


def test_loops_inside_of_more_than_five_are_refused() -> None:
    loop: object = {"K": 1}
    for depth in range(LOOPS_NESTED_MAX + 1):
        loop = {f"Fn::ForEach::L{depth}": [f"N{depth}", ["a"], loop]}

    with pytest.raises(TemplateError, match="no more than 5 loops can be nested"):
        extended(Resources=loop)


def test_loops_that_multiply_are_bounded() -> None:
    loop: object = {"K${N0}x${N1}x${N2}x${N3}x${N4}": 1}
    for depth in range(LOOPS_NESTED_MAX):
        loop = {f"Fn::ForEach::L{depth}": [f"N{depth}", [str(n) for n in range(50)], loop]}

    with pytest.raises(TemplateError, match="makes more than 100000 values"):
        extended(Resources=loop)


@pytest.mark.parametrize(
    ("node", "length"),
    [
        ({"Fn::Length": {"Ref": "Names"}}, 2),
        ({"Fn::Length": [{"Ref": "R"}, {"Fn::GetAtt": ["R", "Arn"]}, "x"]}, 3),
        ({"Fn::Length": {"Fn::Split": [",", "a,b,c,d"]}}, 4),
    ],
)
def test_length_is_a_number(node: Any, length: Any) -> None:
    assert value_of(node) == length


def test_length_of_what_is_no_list_is_refused() -> None:
    with pytest.raises(TemplateError, match="Fn::Length is incorrectly set"):
        value_of({"Fn::Length": "abc"})


def test_json_text_of_what_is_known_is_compact_and_keeps_its_order() -> None:
    node = {"Fn::ToJsonString": {"b": {"Ref": "Names"}, "a": [1, True, None, "${x}"], "gone": {"Ref": "AWS::NoValue"}}}

    assert value_of(node) == '{"b":["a","b-c"],"a":[1,true,null,"${x}"]}'


def test_json_text_is_a_sub_where_the_stack_has_to_be_made_first() -> None:
    arn = {"Fn::GetAtt": ["R", "Arn"]}

    made = value_of({"Fn::ToJsonString": {"arn": arn, "text": "${x}", "one": {"Ref": "One"}}})

    assert made == {"Fn::Sub": ['{"arn":"${Later0}","text":"${!x}","one":"1"}', {"Later0": arn}]}


def test_json_text_has_no_place_for_conditions() -> None:
    with pytest.raises(TemplateError, match="Fn::ToJsonString does not support Condition intrinsic function"):
        value_of({"Fn::ToJsonString": {"a": {"Condition": "C"}}})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().map(lambda key: f"k{key}"), inner),
)


@given(st.dictionaries(st.text().map(lambda key: f"k{key}"), JSON))
def test_json_text_reads_back_as_what_was_written(value: Any) -> None:
    assert json.loads(value_of({"Fn::ToJsonString": value})) == value


class Known:
    """A scope in which every resource has the same id."""

    pseudo = PSEUDO

    def ref(self, name: str) -> str:
        return "later"


@given(st.dictionaries(st.text().map(lambda key: f"k{key}"), JSON))
def test_json_text_with_a_later_part_reads_back_when_that_part_is_known(value: Any) -> None:
    made = value_of({"Fn::ToJsonString": {**value, "later": {"Ref": "R"}}})

    assert json.loads(str(resolve(made, cast("ResolutionScope", Known())))) == {**value, "later": "later"}


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        (["M", "x", "y"], "1"),
        (["M", "z", "y"], "default"),
        (["None", "x", "y"], "default"),
        (["M", {"Ref": "K"}, "y"], "1"),
    ],
)
def test_mapping_without_the_key_gives_the_default(keys: Any, found: Any) -> None:
    made: Any = extend(
        {
            "Mappings": {"M": {"x": {"y": "1"}}},
            "Resources": {
                "R": {"Type": "T", "Properties": {"P": {"Fn::FindInMap": [*keys, {"DefaultValue": "default"}]}}}
            },
        },
        {"K": "x"},
        PSEUDO,
    )

    assert made["Resources"]["R"]["Properties"]["P"] == found


@pytest.mark.parametrize(("stage", "policy"), [("prod", "Retain"), ("dev", "Delete")])
def test_deletion_policy_may_follow_from_parameters(stage: Any, policy: Any) -> None:
    made: Any = extend(
        {
            "Conditions": {"IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}},
            "Resources": {"R": {"Type": "T", "DeletionPolicy": {"Fn::If": ["IsProd", "Retain", "Delete"]}}},
        },
        {"Stage": stage},
        PSEUDO,
    )

    assert made["Resources"]["R"]["DeletionPolicy"] == policy
