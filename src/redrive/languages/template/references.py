"""The references in a template's parts, and whether their targets exist.

Names are checked twice: as written, when a template is loaded, over both branches of every If; and as active,
when the conditions are known, over the branches that are taken.
Source: docs/semantics/cloudformation-templates.md
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.functions import (
    find_in_map_arguments,
    function_of,
    get_att_arguments,
    if_arguments,
    ref_name,
    sub_arguments,
    sub_pieces,
)
from redrive.languages.template.model import Output, Resource, Template
from redrive.languages.template.pseudo import PSEUDO_PARAMETERS
from redrive.languages.template.source import Node


@dataclass(frozen=True, slots=True)
class RefTo:
    """A parameter, pseudo parameter or resource by name."""

    name: str


@dataclass(frozen=True, slots=True)
class AttributeOf:
    """An attribute of a resource; `by` is the function that refers to it."""

    name: str
    attribute: str
    by: str


@dataclass(frozen=True, slots=True)
class ConditionNamed:
    """A condition by name."""

    name: str


@dataclass(frozen=True, slots=True)
class MappingNamed:
    """A mapping by name."""

    name: str


Reference = RefTo | AttributeOf | ConditionNamed | MappingNamed


def references(node: Node, conditions: Mapping[str, bool] | None = None) -> Iterator[Reference]:
    """Everything a value refers to, in source order.

    With conditions, only the branches of If that are taken count; without, both do.
    """
    call = function_of(node)
    if call is not None:
        yield from _of_call(*call, conditions)
    elif isinstance(node, dict):
        for value in node.values():
            yield from references(value, conditions)
    elif isinstance(node, list):
        for item in node:
            yield from references(item, conditions)


def _of_call(name: str, argument: Node, conditions: Mapping[str, bool] | None) -> Iterator[Reference]:
    match name:
        case "Ref":
            yield RefTo(ref_name(argument))
        case "Fn::GetAtt":
            logical_id, attribute = get_att_arguments(argument)
            yield AttributeOf(logical_id, str(attribute), name)
            yield from references(attribute, conditions)
        case "Fn::Sub":
            yield from _of_sub(argument, conditions)
        case "Fn::If":
            condition, then, otherwise = if_arguments(argument)
            yield ConditionNamed(condition)
            for branch, taken in ((then, True), (otherwise, False)):
                if conditions is None or conditions[condition] is taken:
                    yield from references(branch, conditions)
        case "Fn::FindInMap":
            arguments = find_in_map_arguments(argument)
            if isinstance(arguments[0], str):
                yield MappingNamed(arguments[0])
            yield from references(list(arguments), conditions)
        case _:
            yield from references(argument, conditions)


def _of_sub(argument: Node, conditions: Mapping[str, bool] | None) -> Iterator[Reference]:
    text, values = sub_arguments(argument)
    for _, name in sub_pieces(text):
        if name is None or name in values:
            continue
        logical_id, dot, attribute = name.partition(".")
        yield AttributeOf(logical_id, attribute, "Fn::Sub") if dot else RefTo(name)
    yield from references(values, conditions)


def resource_references(resource: Resource, conditions: Mapping[str, bool] | None = None) -> Iterator[Reference]:
    """Everything a resource refers to by functions, without DependsOn."""
    for part in (
        dict(resource.properties),
        resource.creation_policy,
        resource.update_policy,
        resource.metadata,
        resource.deletion_policy,
        resource.update_replace_policy,
    ):
        yield from references(part, conditions)


def output_references(output: Output, conditions: Mapping[str, bool] | None = None) -> Iterator[Reference]:
    """Everything an output refers to."""
    yield from references(output.value, conditions)
    yield from references(output.export_name, conditions)


def check_references(template: Template) -> None:
    """Check that every name in a template, on every branch, is declared in it.

    Errors: TemplateError in CloudFormation's words.
    """
    _check_conditions_block(template)
    found = [found for resource in template.resources.values() for found in resource_references(resource)]
    depended = [name for resource in template.resources.values() for name in resource.depends_on]
    _check_block(template, found, template.resources, "Resources")
    _check_named([name for name in depended if name not in template.resources], "Resources")
    outputs = [found for output in template.outputs.values() for found in output_references(output)]
    _check_block(template, outputs, template.resources, "Outputs")
    _check_condition_names(template, [each.condition for each in template.resources.values()], "Resources")
    _check_condition_names(template, [each.condition for each in template.outputs.values()], "Outputs")


def check_active_references(
    template: Template, conditions: Mapping[str, bool], resources: Container[str], outputs: Iterable[str]
) -> None:
    """Check that existing parts refer only to existing parts. Errors: TemplateError."""
    found = [
        found
        for name, resource in template.resources.items()
        if name in resources
        for found in resource_references(resource, conditions)
    ]
    _check_block(template, found, resources, "Resources")
    shown = [found for name in outputs for found in output_references(template.outputs[name], conditions)]
    _check_block(template, shown, resources, "Outputs")


def _check_block(template: Template, found: Iterable[Reference], resources: Container[str], block: str) -> None:
    unresolved = []
    for reference in found:
        match reference:
            case RefTo(name):
                if name not in template.parameters and name not in PSEUDO_PARAMETERS and name not in resources:
                    unresolved.append(name)
            case AttributeOf(name, attribute, by):
                if name not in resources:
                    raise _undefined(name, attribute, by)
            case ConditionNamed(name):
                if name not in template.conditions:
                    raise TemplateError(f"Template error: unresolved condition dependency {name} in Fn::If")
            case MappingNamed(name):
                _check_mapping(template, name)
    _check_named(unresolved, block)


def _check_named(unresolved: Iterable[str], block: str) -> None:
    names = ", ".join(dict.fromkeys(unresolved))
    if names:
        raise TemplateError(
            f"Template format error: Unresolved resource dependencies [{names}] in the {block} block of the template"
        )


def _check_condition_names(template: Template, names: Iterable[str | None], block: str) -> None:
    for name in names:
        if name is not None and name not in template.conditions:
            raise TemplateError(
                f"Template format error: Unresolved condition dependency {name} in the {block} block of the template"
            )


def _undefined(name: str, attribute: str, by: str) -> TemplateError:
    if by == "Fn::Sub":
        return TemplateError(
            f"Template error: instance of Fn::Sub references invalid resource attribute {name}.{attribute}"
        )
    return TemplateError(f"Template error: instance of Fn::GetAtt references undefined resource {name}")


def _check_mapping(template: Template, name: str) -> None:
    if name not in template.mappings:
        raise TemplateError(
            f"Template error: Mapping named '{name}' is not present in the 'Mappings' section of template."
        )


def _check_conditions_block(template: Template) -> None:
    """Conditions may refer only to parameters and mappings."""
    unresolved = []
    for reference in references(dict(template.conditions)):
        match reference:
            case RefTo(name):
                if name not in template.parameters and name not in PSEUDO_PARAMETERS:
                    unresolved.append(name)
            case AttributeOf(name):
                unresolved.append(name)
            case MappingNamed(name):
                _check_mapping(template, name)
            case ConditionNamed():
                raise TemplateError(
                    "Template format error: Fn::If cannot be used in the Conditions block of the template"
                )
    if unresolved:
        names = ", ".join(dict.fromkeys(unresolved))
        raise TemplateError(
            f"Template format error: Unresolved dependencies [{names}]. "
            "Cannot reference resources in the Conditions block of the template"
        )
