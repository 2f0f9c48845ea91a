"""Parameters: which declarations are accepted, and which values they accept."""

from __future__ import annotations

import pytest

from redrive.languages.template import ParameterValue, TemplateError, load_template, resolve_parameters


def declare(declaration: str) -> str:
    return f"Parameters: {{P: {declaration}}}\nResources: {{R: {{Type: X}}}}\n"


def value_of(declaration: str, value: str) -> ParameterValue:
    return resolve_parameters(load_template(declare(declaration)), {"P": value})["P"]


@pytest.mark.parametrize(
    ("declaration", "value", "resolved"),
    [
        ("{Type: String}", "", ""),
        ("{Type: String, AllowedValues: [a, 1, true]}", "true", "true"),
        ("{Type: String, AllowedPattern: '[a-z]+', MinLength: 1, MaxLength: 3}", "abc", "abc"),
        ("{Type: Number, MinValue: -1.5, MaxValue: 10}", "-1.5", "-1.5"),
        ("{Type: Number, AllowedValues: [1, 2]}", "2", "2"),
        ("{Type: List<Number>}", "1, 2,3.5", ["1", "2", "3.5"]),
        ("{Type: CommaDelimitedList}", "a, b ,c", ["a", "b", "c"]),
        ("{Type: CommaDelimitedList, AllowedPattern: '[a-z]'}", "a,b", ["a", "b"]),
        ("{Type: 'AWS::EC2::Subnet::Id'}", "subnet-1", "subnet-1"),
        ("{Type: 'List<AWS::EC2::Subnet::Id>'}", "subnet-1,subnet-2", ["subnet-1", "subnet-2"]),
    ],
)
def test_value_within_its_constraints_is_taken(declaration: str, value: str, resolved: ParameterValue) -> None:
    assert value_of(declaration, value) == resolved


@pytest.mark.parametrize(
    ("declaration", "value", "message"),
    [
        ("{Type: String, AllowedValues: [a, b]}", "c", "Parameter 'P' must be one of AllowedValues"),
        ("{Type: String, AllowedPattern: '[a-z]+'}", "a1", "Parameter 'P' must match pattern [a-z]+"),
        ("{Type: String, MinLength: 2}", "a", "Parameter 'P' must contain at least 2 characters"),
        ("{Type: String, MaxLength: 2}", "abc", "Parameter 'P' must contain at most 2 characters"),
        ("{Type: Number}", "ten", "Parameter 'P' must be a number"),
        ("{Type: Number}", "NaN", "Parameter 'P' must be a number"),
        ("{Type: Number, MinValue: 2}", "1", "Parameter 'P' must be a number not less than 2"),
        ("{Type: Number, MaxValue: 2}", "2.1", "Parameter 'P' must be a number not greater than 2"),
        ("{Type: List<Number>}", "1,x", "Parameter 'P' must be a number"),
        ("{Type: CommaDelimitedList, AllowedValues: [a, b]}", "a,c", "Parameter 'P' must be one of AllowedValues"),
        (
            "{Type: String, AllowedPattern: '[a-z]+', ConstraintDescription: must be small letters}",
            "A",
            "Parameter P failed to satisfy constraint: must be small letters",
        ),
    ],
)
def test_value_that_breaks_a_constraint_is_refused(declaration: str, value: str, message: str) -> None:
    with pytest.raises(TemplateError) as error:
        value_of(declaration, value)

    assert error.value.message == message


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("x", "Template format error: Every Parameters member must be an object."),
        (
            "{Default: x}",
            "Template format error: [/Parameters/P] Every Parameters object must contain a Type member.",
        ),
        ("{Type: Text}", "Template format error: Unrecognized parameter type: Text"),
        (
            "{Type: 'List<AWS::EC2::VPC::Id'}",
            "Template format error: Unrecognized parameter type: List<AWS::EC2::VPC::Id",
        ),
        (
            "{Type: 'AWS::SSM::Parameter::Value<Number>'}",
            "Template format error: Unrecognized parameter type: AWS::SSM::Parameter::Value<Number>",
        ),
        ("{Type: String, Pattern: x}", "Invalid template parameter property 'Pattern'"),
        ("{Type: String, AllowedValues: x}", "Template format error: Every AllowedValues member must be a list."),
        ("{Type: String, Default: [x]}", "Template format error: Every Default member must be a string."),
        (
            "{Type: String, AllowedPattern: '['}",
            (
                "Template format error: AllowedPattern of parameter P is not a valid regular expression, or one that "
                "is not supported here: the pattern ends too early"
            ),
        ),
        ("{Type: String, MinLength: x}", "Template format error: MinLength of parameter P must be a number"),
        ("{Type: Number, MaxValue: x}", "Template format error: MaxValue of parameter P must be a number"),
        ("{Type: Number, Default: x}", "Parameter 'P' must be a number"),
    ],
)
def test_malformed_declaration_is_refused(declaration: str, message: str) -> None:
    with pytest.raises(TemplateError) as error:
        load_template(declare(declaration))

    assert error.value.message == message


TWO = load_template(
    "Parameters: {A: {Type: String}, B: {Type: Number, Default: 7}, C: {Type: String}}\nResources: {R: {Type: X}}"
)


def test_default_stands_in_and_a_given_value_wins() -> None:
    assert resolve_parameters(TWO, {"A": "a", "C": ""}) == {"A": "a", "B": "7", "C": ""}
    assert resolve_parameters(TWO, {"A": "a", "B": "8", "C": "c"})["B"] == "8"


def test_parameters_without_value_and_default_are_named() -> None:
    with pytest.raises(TemplateError) as error:
        resolve_parameters(TWO, {})

    assert error.value.message == "Parameters: [A, C] must have values"


def test_parameters_that_are_not_declared_are_named() -> None:
    with pytest.raises(TemplateError) as error:
        resolve_parameters(TWO, {"A": "a", "C": "c", "X": "x", "Y": "y"})

    assert error.value.message == "Parameters: [X, Y] do not exist in the template"
