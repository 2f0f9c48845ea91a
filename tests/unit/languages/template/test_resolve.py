"""Functions replaced by their results, and the error of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.template import Node, PseudoParameters, TemplateError, resolve
from redrive.languages.template.source import read_source

STACK_ID = "arn:aws:cloudformation:us-east-1:123456789012:stack/orders/1"
PSEUDO = PseudoParameters("123456789012", "us-east-1", "orders", STACK_ID, ("arn:aws:sns:us-east-1:1:t",))


@dataclass(frozen=True)
class Scope:
    """A stack with one queue, a few parameters and one export."""

    pseudo: PseudoParameters = PSEUDO
    conditions: Mapping[str, bool] = field(default_factory=lambda: {"IsOn": True, "IsOff": False})
    mappings: Mapping[str, Mapping[str, Mapping[str, Node]]] = field(
        default_factory=lambda: {"Sizes": {"dev": {"batch": 1, "zones": ["a", "b"]}}}
    )

    def ref(self, name: str) -> Node:
        values: dict[str, Node] = {"Queue": "https://queue", "Stage": "dev", "List": ["x", "y"]}
        return values[name]

    def get_att(self, logical_id: str, attribute: str) -> Node:
        return f"{logical_id}:{attribute}"

    def import_value(self, name: str) -> Node:
        if name != "shared":
            raise TemplateError(f"No export named {name} found.")
        return "imported"


def resolved(text: str) -> Node:
    node = read_source(f"key: {text}")
    assert isinstance(node, dict)
    return resolve(node["key"], Scope())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("[1, true, {a: b}]", [1, True, {"a": "b"}]),
        ("!Ref Queue", "https://queue"),
        ("!Ref AWS::AccountId", "123456789012"),
        ("!Ref AWS::Region", "us-east-1"),
        ("!Ref AWS::StackName", "orders"),
        ("!Ref AWS::StackId", STACK_ID),
        ("!Ref AWS::Partition", "aws"),
        ("!Ref AWS::URLSuffix", "amazonaws.com"),
        ("!Ref AWS::NotificationARNs", ["arn:aws:sns:us-east-1:1:t"]),
        ("!GetAtt Queue.Arn", "Queue:Arn"),
        ("!GetAtt Stack.Outputs.Url", "Stack:Outputs.Url"),
        ("!GetAtt [Stack, Outputs, Url]", "Stack:Outputs.Url"),
        ("{'Fn::GetAtt': Queue.Arn}", "Queue:Arn"),
        ("{'Fn::GetAtt': [Queue, !Sub '${Stage}Arn']}", "Queue:devArn"),
        ("!Sub '${Stage}-${ Queue.Arn }-${AWS::Region}'", "dev-Queue:Arn-us-east-1"),
        ("!Sub 'a ${!Literal} ${Stage}'", "a ${Literal} dev"),
        ("!Sub ['${x}/${Stage}', {x: !Join ['', [a, 7, true]]}]", "a7true/dev"),
        ("!Sub ['${a.b}', {a.b: c}]", "c"),
        ("!Sub 'no variables, $ { } <aws.scheduler.execution-id>'", "no variables, $ { } <aws.scheduler.execution-id>"),
        ("!Join ['-', [a, !Ref Stage, 1]]", "a-dev-1"),
        ("!Join [',', !Ref List]", "x,y"),
        ("!Join ['', [a, !Ref AWS::NoValue, b]]", "ab"),
        ("!Split ['-', a-b-c]", ["a", "b", "c"]),
        ("!Select [1, !Split ['-', a-b-c]]", "b"),
        ("!Select ['0', !Ref List]", "x"),
        ("!Select [1, [a, !Ref Stage]]", "dev"),
        ("!FindInMap [Sizes, !Ref Stage, batch]", 1),
        ("!FindInMap [Sizes, dev, zones]", ["a", "b"]),
        ("!If [IsOn, a, b]", "a"),
        ("!If [IsOff, a, !If [IsOn, b, c]]", "b"),
        ("!ImportValue shared", "imported"),
        ("!Base64 {'Fn::Sub': 'hi ${Stage}'}", "aGkgZGV2"),
        ("!GetAZs ''", ["us-east-1a", "us-east-1b", "us-east-1c"]),
        ("!GetAZs eu-west-1", ["eu-west-1a", "eu-west-1b", "eu-west-1c"]),
        ("!Cidr [192.168.0.0/24, 2, 5]", ["192.168.0.0/27", "192.168.0.32/27"]),
        ("!Cidr ['2001:db8::/56', '2', 64]", ["2001:db8::/64", "2001:db8:0:1::/64"]),
    ],
)
def test_function_is_replaced_by_its_result(text: str, value: Node) -> None:
    assert resolved(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: !Ref AWS::NoValue, b: 1}", {"b": 1}),
        ("[1, !Ref AWS::NoValue, 2]", [1, 2]),
        ("{a: !If [IsOff, 1, !Ref AWS::NoValue], b: {c: !Ref AWS::NoValue}}", {"b": {}}),
        ("!Ref AWS::NoValue", None),
    ],
)
def test_no_value_removes_what_it_stands_for(text: str, value: Node) -> None:
    """Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/pseudo-parameter-reference.html"""
    assert resolved(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!Select [3, [a, b]]", "Fn::Select cannot select nonexistent value at index 3"),
        (
            "!Select [-1, [a, b]]",
            "Fn::Select requires a list argument with two elements: an integer index and a list",
        ),
        ("!Select [a]", "Fn::Select requires a list argument with two elements: an integer index and a list"),
        (
            "!Select [0, !Ref Stage]",
            "Fn::Select requires a list argument with two elements: an integer index and a list",
        ),
        ("!FindInMap [Sizes, prod, batch]", "Unable to get mapping for Sizes::prod::batch"),
        (
            "!FindInMap [!Ref Stage, a, b]",
            "Mapping named 'dev' is not present in the 'Mappings' section of template.",
        ),
        (
            "!Join ['-', !Ref Stage]",
            (
                "every Fn::Join object requires two parameters, (1) a string delimiter and (2) a list of strings to be "
                "joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined."
            ),
        ),
        (
            "!Join [a]",
            (
                "every Fn::Join object requires two parameters, (1) a string delimiter and (2) a list of strings to be "
                "joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined."
            ),
        ),
        ("!Join ['-', [[a]]]", "every value of a string function must be a string"),
        (
            "!Split ['', a]",
            (
                "every Fn::Split object requires two parameters, (1) a string delimiter and "
                "(2) a string to be split or a function that returns a string to be split."
            ),
        ),
        ("!Sub '${List}'", "Fn::Sub expression does not resolve to a string: List"),
        ("!Sub '${AWS::NoValue}'", "Fn::Sub expression does not resolve to a string: AWS::NoValue"),
        ("!If [Maybe, a, b]", "unresolved condition dependency Maybe in Fn::If"),
        ("{'Fn::Equals': [a, b]}", "Fn::Equals cannot be used here"),
        ("!Cidr [10.0.0.0/24, 1]", None),
        ("!Cidr [10.0.0.0/24, 257, 4]", None),
        ("!Cidr [10.0.0.0/24, 3, 7]", "Fn::Cidr cannot take 3 blocks of 7 bits from 10.0.0.0/24"),
        ("!Cidr [10.0.0.0/24, 1, 9]", "Fn::Cidr cannot divide 10.0.0.0/24 by 9 bits"),
        ("!Cidr [10.0.0.1/24, 1, 4]", "Fn::Cidr cannot divide 10.0.0.1/24 by 4 bits"),
    ],
)
def test_function_with_wrong_arguments_says_what_it_needs(text: str, message: str | None) -> None:
    with pytest.raises(TemplateError) as error:
        resolved(text)

    cidr = (
        "every Fn::Cidr object requires three parameters, "
        "(1) an IP address block, (2) the number of CIDRs and (3) the number of CIDR bits"
    )
    assert error.value.message == f"Template error: {message or cidr}"


def test_error_of_the_scope_comes_through() -> None:
    with pytest.raises(TemplateError) as error:
        resolved("!ImportValue other")

    assert error.value.message == "No export named other found."


@pytest.mark.parametrize(
    ("region", "partition", "suffix"),
    [
        ("eu-west-1", "aws", "amazonaws.com"),
        ("cn-north-1", "aws-cn", "amazonaws.com.cn"),
        ("us-gov-west-1", "aws-us-gov", "amazonaws.com"),
    ],
)
def test_partition_follows_from_the_region(region: str, partition: str, suffix: str) -> None:
    pseudo = PseudoParameters("1", region, "s", "id")

    assert (pseudo.partition, pseudo.url_suffix) == (partition, suffix)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(node=plain)
def test_value_without_functions_resolves_to_itself(node: Node) -> None:
    assert resolve(node, Scope()) == node


@given(items=st.lists(st.text("ab", max_size=4), min_size=1, max_size=5))
def test_split_takes_apart_what_join_put_together(items: list[str]) -> None:
    joined: Node = {"Fn::Join": ["|", list(items)]}

    assert resolve({"Fn::Split": ["|", joined]}, Scope()) == items
