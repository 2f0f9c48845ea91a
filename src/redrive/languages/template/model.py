"""A template as values: its sections, typed as far as possible before parameters are known.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-anatomy.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.languages.template.source import Node

ParameterValue = str | list[str]
"""A resolved parameter: numbers are texts, too; lists are lists of texts."""


_SSM_VALUE = "AWS::SSM::Parameter::Value<"


@dataclass(frozen=True, slots=True)
class Parameter:
    """The declaration of one parameter. Absent constraints are None."""

    name: str
    type: str
    default: str | None = None
    description: str = ""
    allowed_values: tuple[str, ...] | None = None
    allowed_pattern: str | None = None
    constraint_description: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_value: str | None = None
    max_value: str | None = None
    no_echo: bool = False

    @property
    def is_list(self) -> bool:
        """Whether a reference to it gives a list."""
        kind = self.type.removeprefix(_SSM_VALUE)
        return kind.startswith(("CommaDelimitedList", "List<"))

    @property
    def is_ssm(self) -> bool:
        """Whether, on AWS, its value comes from the SSM parameter with the given name."""
        return self.type.startswith(_SSM_VALUE)


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource as written: functions are unresolved, and `condition` decides whether the resource exists."""

    logical_id: str
    type: str
    properties: Mapping[str, Node]
    condition: str | None = None
    depends_on: tuple[str, ...] = ()
    deletion_policy: Node = "Delete"
    update_replace_policy: Node = "Delete"
    creation_policy: Node = None
    update_policy: Node = None
    metadata: Node = None


@dataclass(frozen=True, slots=True)
class Output:
    """One output as written; `export_name` is None without an export."""

    name: str
    value: Node
    description: str = ""
    export_name: Node = None
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A template whose structure and references are valid. Every section keeps its source order."""

    resources: Mapping[str, Resource]
    parameters: Mapping[str, Parameter]
    mappings: Mapping[str, Mapping[str, Mapping[str, Node]]]
    conditions: Mapping[str, Node]
    outputs: Mapping[str, Output]
    rules: Mapping[str, Node]
    metadata: Mapping[str, Node]
    description: str = ""
    format_version: str | None = None
    transforms: tuple[str, ...] = ()
