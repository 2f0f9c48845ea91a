"""Checks a template's structure and converts it to a Template.

It must not know parameter values or resource types: later steps use those.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-anatomy.html
and docs/semantics/cloudformation-templates.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from redrive.languages.template.declarations import check_defaults, read_parameter
from redrive.languages.template.errors import TemplateError
from redrive.languages.template.functions import function_of
from redrive.languages.template.model import Output, Parameter, Resource, Template
from redrive.languages.template.policies import checked_policy
from redrive.languages.template.references import check_references
from redrive.languages.template.source import Node, read_source
from redrive.languages.template.transforms import declared_transforms

# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
DESCRIPTION_BYTES_MAX = 1_024
SECTION_SIZES_MAX = {"Resources": 500, "Parameters": 200, "Outputs": 200, "Mappings": 200}

_SECTIONS = (
    "AWSTemplateFormatVersion",
    "Description",
    "Metadata",
    "Parameters",
    "Rules",
    "Mappings",
    "Conditions",
    "Transform",
    "Resources",
    "Outputs",
)
_RESOURCE_FIELDS = frozenset(
    {
        "Type",
        "Properties",
        "Condition",
        "DependsOn",
        "DeletionPolicy",
        "UpdateReplacePolicy",
        "CreationPolicy",
        "UpdatePolicy",
        "Metadata",
    }
)
_OUTPUT_FIELDS = frozenset({"Value", "Description", "Export", "Condition"})
_ALPHANUMERIC = re.compile(r"[A-Za-z0-9]+")


def load_template(text: str) -> Template:
    """Parse a template, check its structure and every name it refers to.

    Errors: TemplateError in CloudFormation's words.
    """
    root = read_root(text)
    unknown = [name for name in root if name not in _SECTIONS]
    if unknown:
        raise TemplateError(f"Invalid template property or properties [{', '.join(unknown)}]")
    if root.get("Transform"):
        raise TemplateError("Template error: the transforms of the template have not been carried out.")
    resources = _section(root, "Resources")
    if not resources:
        raise TemplateError("Template format error: At least one Resources member must be defined.")
    template = Template(
        resources={name: _resource(name, node) for name, node in resources.items()},
        parameters=_parameters(root),
        mappings={name: _mapping(name, node) for name, node in _section(root, "Mappings").items()},
        conditions=_objects(root, "Conditions"),
        outputs={name: _output(name, node) for name, node in _section(root, "Outputs").items()},
        rules=_objects(root, "Rules"),
        metadata=_section(root, "Metadata"),
        description=_description(root.get("Description")),
        format_version=_format_version(root.get("AWSTemplateFormatVersion")),
    )
    check_defaults(template.parameters)
    check_references(template)
    return template


def load_declared(text: str) -> Template:
    """Parse a template before its transforms: parameters, description, types of resources.

    The transforms determine the rest, so nothing else is checked. Errors: TemplateError.
    """
    root = read_root(text)
    resources = root.get("Resources")
    typed = {
        name: node for name, node in resources.items() if isinstance(node, dict) and isinstance(node.get("Type"), str)
    } if isinstance(resources, dict) else {}  # fmt: skip
    template = Template(
        resources={name: Resource(name, str(node["Type"]), {}) for name, node in typed.items()},
        parameters=_parameters(root),
        mappings={}, conditions={}, outputs={}, rules={}, metadata=_section(root, "Metadata"),
        description=_description(root.get("Description")),
        format_version=_format_version(root.get("AWSTemplateFormatVersion")),
        transforms=tuple(one.name for one in declared_transforms(root)),
    )  # fmt: skip
    check_defaults(template.parameters)
    return template


def read_root(text: str) -> dict[str, Node]:
    """The sections of a template as written. Errors: TemplateError."""
    root = read_source(text)
    if not isinstance(root, dict):
        raise TemplateError("Template format error: unsupported structure.")
    return root


def _parameters(root: Mapping[str, Node]) -> dict[str, Parameter]:
    return {name: read_parameter(name, node) for name, node in _section(root, "Parameters").items()}


def _format_version(node: Node) -> str | None:
    if node not in (None, "2010-09-09"):
        raise TemplateError("Template format error: unsupported value for AWSTemplateFormatVersion.")
    return None if node is None else str(node)


def _description(node: Node) -> str:
    if node is None:
        return ""
    if not isinstance(node, str):
        raise TemplateError("Template format error: every Description member must be a string.")
    if len(node.encode()) > DESCRIPTION_BYTES_MAX:
        raise TemplateError(f"Template format error: 'Description' length is greater than {DESCRIPTION_BYTES_MAX}.")
    return node


def _section(root: Mapping[str, Node], name: str) -> dict[str, Node]:
    section = root.get(name)
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise TemplateError(f"Template format error: {name} must be an object.")
    most = SECTION_SIZES_MAX.get(name, len(section))
    if len(section) > most:
        raise TemplateError(
            f"Template format error: Number of {name.lower()}, {len(section)}, is greater than maximum allowed, {most}"
        )
    if name in ("Resources", "Parameters", "Outputs"):
        for key in section:
            if not _ALPHANUMERIC.fullmatch(key):
                raise TemplateError(f"Template format error: {name[:-1]} name {key} is non alphanumeric.")
    return section


def _objects(root: Mapping[str, Node], name: str) -> dict[str, Node]:
    """A section whose members are all objects."""
    section = _section(root, name)
    if not all(isinstance(node, dict) for node in section.values()):
        raise TemplateError(f"Template format error: Every {name} member must be an object.")
    return section


def _resource(name: str, node: Node) -> Resource:
    place = f"Template format error: [/Resources/{name}]"
    if not isinstance(node, dict):
        raise TemplateError(f"{place} Every Resources member must be an object.")
    _only(node, _RESOURCE_FIELDS, "resource")
    if "Type" not in node:
        raise TemplateError(f"{place} Every Resources object must contain a Type member.")
    kind = node["Type"]
    if not isinstance(kind, str):
        raise TemplateError(f"{place} Every Type member must be a string.")
    properties = node.get("Properties")
    if properties is not None and not isinstance(properties, dict):
        raise TemplateError(f"{place} Every Properties member must be an object.")
    return Resource(
        logical_id=name,
        type=kind,
        properties=properties or {},
        condition=_condition_name(node),
        depends_on=_depends_on(node.get("DependsOn"), place),
        deletion_policy=_policy(name, node, "DeletionPolicy"),
        update_replace_policy=_policy(name, node, "UpdateReplacePolicy"),
        creation_policy=node.get("CreationPolicy"),
        update_policy=node.get("UpdatePolicy"),
        metadata=node.get("Metadata"),
    )


def _only(node: Mapping[str, Node], allowed: frozenset[str], noun: str) -> None:
    for field in node:
        if field not in allowed:
            raise TemplateError(f"Invalid template {noun} property '{field}'")


def _condition_name(node: Mapping[str, Node]) -> str | None:
    condition = node.get("Condition")
    if condition is not None and not isinstance(condition, str):
        raise TemplateError("Template format error: Every Condition member must be a string.")
    return condition


def _depends_on(node: Node, place: str) -> tuple[str, ...]:
    match node:
        case None:
            return ()
        case str():
            return (node,)
        case list() if all(isinstance(name, str) for name in node):
            return tuple(map(str, node))
        case _:
            raise TemplateError(f"{place} Every DependsOn value must be a string.")


def _policy(name: str, node: Mapping[str, Node], field: str) -> Node:
    """A policy as written: a word, or a function that gives one once the parameters are known."""
    policy = node.get(field, "Delete")
    return policy if function_of(policy) is not None else checked_policy(name, field, policy)


def _output(name: str, node: Node) -> Output:
    if not isinstance(node, dict) or node.get("Value") is None:
        raise TemplateError("Template format error: Every Outputs member must contain a Value object")
    _only(node, _OUTPUT_FIELDS, "output")
    export = node.get("Export")
    if export is not None and (not isinstance(export, dict) or list(export) != ["Name"]):
        raise TemplateError(f"Template format error: Output {name} is malformed. An Export must contain a Name.")
    return Output(
        name=name,
        value=node["Value"],
        description=_description(node.get("Description")),
        export_name=export["Name"] if export else None,
        condition=_condition_name(node),
    )


def _mapping(name: str, node: Node) -> dict[str, dict[str, Node]]:
    if not isinstance(node, dict):
        raise TemplateError("Template format error: Every Mappings member must be an object.")
    mapping: dict[str, dict[str, Node]] = {}
    for key, attributes in node.items():
        if not isinstance(attributes, dict):
            raise TemplateError(f"Template format error: Every Mappings member {name} must be a map of maps.")
        for value in attributes.values():
            if value is None or isinstance(value, dict):
                raise TemplateError("Template format error: Every Mappings attribute must be a String or a List.")
        mapping[key] = attributes
    return mapping
