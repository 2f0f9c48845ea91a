"""Parameters: their declarations in a template, and the values that they accept.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, DecimalException

from redrive.languages.matching import GROUPS, MalformedPattern, compile_regex
from redrive.languages.template.errors import TemplateError
from redrive.languages.template.model import Parameter, ParameterValue, Template
from redrive.languages.template.source import Node
from redrive.languages.template.text import text_of, whole_number

_FIELDS = frozenset(
    {
        "Type",
        "Default",
        "Description",
        "AllowedValues",
        "AllowedPattern",
        "ConstraintDescription",
        "MinLength",
        "MaxLength",
        "MinValue",
        "MaxValue",
        "NoEcho",
    }
)
_TYPES = frozenset({"String", "Number", "List<Number>", "List<String>", "CommaDelimitedList"})
# Types whose values AWS looks up in the account; here they are plain texts.
_AWS_TYPE = re.compile(r"(List<)?AWS::(EC2|Route53)::[A-Za-z:]+(?(1)>)")
PATTERN_COST_MAX = 1_000_000
"""The most cost of all AllowedPatterns of a template: characters of the values times the cost of the pattern."""

_SSM_VALUE = r"String|CommaDelimitedList|List<String>|(List<)?AWS::(EC2|Route53)::[A-Za-z:]+>?"
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-supplied-parameter-types.html
_SSM_TYPE = re.compile(rf"AWS::SSM::Parameter::(Name|Value<({_SSM_VALUE})>)")


def read_parameter(name: str, node: Node) -> Parameter:
    """Parse the declaration of one parameter. Errors: TemplateError."""
    if not isinstance(node, dict):
        raise TemplateError("Template format error: Every Parameters member must be an object.")
    for field in node:
        if field not in _FIELDS:
            raise TemplateError(f"Invalid template parameter property '{field}'")
    allowed = node.get("AllowedValues")
    if allowed is not None and not isinstance(allowed, list):
        raise TemplateError("Template format error: Every AllowedValues member must be a list.")
    declared = Parameter(
        name=name,
        type=_type(name, node),
        default=_optional_text(node, "Default"),
        description=_optional_text(node, "Description") or "",
        allowed_values=None if allowed is None else tuple(map(text_of, allowed)),
        allowed_pattern=_pattern(name, node),
        constraint_description=_optional_text(node, "ConstraintDescription"),
        min_length=_length(name, node, "MinLength"),
        max_length=_length(name, node, "MaxLength"),
        min_value=_bound(name, node, "MinValue"),
        max_value=_bound(name, node, "MaxValue"),
        no_echo=(_optional_text(node, "NoEcho") or "").lower() == "true",
    )
    return declared


def check_defaults(parameters: Mapping[str, Parameter]) -> None:
    """Validate each default by its declaration. Errors: TemplateError."""
    patterns = _Patterns()
    for declared in parameters.values():
        if declared.default is not None:
            _accept(declared, declared.default, patterns)


def resolve_parameters(template: Template, given: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Give every declared parameter its value: the given value, else its default.

    Errors: TemplateError if a parameter has neither, or if a given value has no declaration or violates a constraint.
    """
    unknown = [name for name in given if name not in template.parameters]
    if unknown:
        raise TemplateError(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    missing = [name for name, declared in template.parameters.items() if name not in given and declared.default is None]
    if missing:
        raise TemplateError(f"Parameters: [{', '.join(missing)}] must have values")
    patterns = _Patterns()
    return {
        name: _accept(declared, given.get(name, declared.default or ""), patterns)
        for name, declared in template.parameters.items()
    }


class _Patterns:
    """Matches values with the patterns of one template; all of them together have a limited cost."""

    def __init__(self) -> None:
        self._left = PATTERN_COST_MAX

    def fit(self, declared: Parameter, pattern: str, value: str) -> bool:
        """Whether a value matches a parameter's pattern. Errors: TemplateError (the patterns cost too much)."""
        regex = compile_regex(pattern, GROUPS)
        self._left -= regex.cost * (len(value) + 1)
        if self._left < 0:
            raise TemplateError(
                f"Template format error: AllowedPattern of parameter {declared.name} costs too much for so long a value"
            )
        return regex.fullmatch(value)


def _type(name: str, node: Mapping[str, Node]) -> str:
    kind = node.get("Type")
    if kind is None:
        raise TemplateError(
            f"Template format error: [/Parameters/{name}] Every Parameters object must contain a Type member."
        )
    if not isinstance(kind, str) or not (kind in _TYPES or _AWS_TYPE.fullmatch(kind) or _SSM_TYPE.fullmatch(kind)):
        raise TemplateError(f"Template format error: Unrecognized parameter type: {kind}")
    return kind


def _optional_text(node: Mapping[str, Node], field: str) -> str | None:
    value = node.get(field)
    if isinstance(value, dict | list):
        raise TemplateError(f"Template format error: Every {field} member must be a string.")
    return None if value is None else text_of(value)


def _pattern(name: str, node: Mapping[str, Node]) -> str | None:
    pattern = _optional_text(node, "AllowedPattern")
    if pattern is not None:
        try:
            compile_regex(pattern, GROUPS)
        except MalformedPattern as error:
            raise TemplateError(
                f"Template format error: AllowedPattern of parameter {name} is not a valid regular expression, or one "
                f"that is not supported here: {error}"
            ) from None
    return pattern


def _length(name: str, node: Mapping[str, Node], field: str) -> int | None:
    text = _optional_text(node, field)
    number = None if text is None else whole_number(text)
    if text is not None and number is None:
        raise TemplateError(f"Template format error: {field} of parameter {name} must be a number")
    return number


def _bound(name: str, node: Mapping[str, Node], field: str) -> str | None:
    text = _optional_text(node, field)
    if text is not None and _number(text) is None:
        raise TemplateError(f"Template format error: {field} of parameter {name} must be a number")
    return text


def _accept(declared: Parameter, value: str, patterns: _Patterns) -> ParameterValue:
    """Validate a value by its declaration and split lists. Errors: TemplateError."""
    items = [item.strip() for item in value.split(",")] if declared.is_list else [value]
    for item in items:
        broken = _broken_constraint(declared, item, patterns)
        if broken is None:
            continue
        if declared.constraint_description is not None:
            raise TemplateError(
                f"Parameter {declared.name} failed to satisfy constraint: {declared.constraint_description}"
            )
        raise TemplateError(f"Parameter '{declared.name}' {broken}")
    return items if declared.is_list else value


def _broken_constraint(declared: Parameter, value: str, patterns: _Patterns) -> str | None:
    """The violated constraint, as the end of a sentence; None if there is none."""
    if declared.type in ("Number", "List<Number>"):
        broken = _broken_bound(declared, value)
        if broken is not None:
            return broken
    if declared.allowed_values is not None and value not in declared.allowed_values:
        return "must be one of AllowedValues"
    pattern = declared.allowed_pattern
    if pattern is not None and not patterns.fit(declared, pattern, value):
        return f"must match pattern {pattern}"
    if declared.min_length is not None and len(value) < declared.min_length:
        return f"must contain at least {declared.min_length} characters"
    if declared.max_length is not None and len(value) > declared.max_length:
        return f"must contain at most {declared.max_length} characters"
    return None


def _broken_bound(declared: Parameter, value: str) -> str | None:
    number = _number(value)
    if number is None:
        return "must be a number"
    if declared.min_value is not None and number < Decimal(declared.min_value):
        return f"must be a number not less than {declared.min_value}"
    if declared.max_value is not None and number > Decimal(declared.max_value):
        return f"must be a number not greater than {declared.max_value}"
    return None


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except DecimalException:
        return None
    return number if number.is_finite() else None
