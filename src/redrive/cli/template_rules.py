"""The rules of EventBridge in a template, without a server: SAM's events are rules, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError, UserError
from redrive.core.scope import Scope
from redrive.languages.event_pattern import Pattern, PatternError, parse
from redrive.languages.template import Node, TemplateError, read_root, resolve
from redrive.packaging.template import local_code
from redrive.services.cloudformation.model.stack import Blueprint
from redrive.services.cloudformation.templates import Plan, PlanScope, make_plan
from redrive.services.cloudformation.transforms.expansion import expanded

RULE = "AWS::Events::Rule"
STACK = "stack"
DEFAULT_BUS = "default"

_NAMES = ("Name", "BucketName", "QueueName", "TableName", "FunctionName", "TopicName", "StateMachineName", "RuleName")
"""The properties that give a resource the name which a Ref to it has."""


@dataclass(frozen=True, slots=True)
class TemplateRule:
    """A rule with a pattern: its name, or its logical id if the template does not name it, and its bus."""

    name: str
    bus: str
    pattern: Pattern
    is_enabled: bool


def rules_of_template(file: Path, parameters: Mapping[str, str], scope: Scope) -> list[TemplateRule]:
    """The rules of a template that have a pattern, in the template's order.

    Where a pattern refers to a resource, it holds the name that the template gives the resource, or its logical id.
    Errors: UserError.
    """
    try:
        root = read_root(file.read_text("utf-8"))
        _leave_out_definitions(root)
        plan = plan_of(file, root, parameters, scope)
        return [
            rule
            for logical_id in plan.active.resources
            if plan.template.resources[logical_id].type == RULE
            for rule in _rule(file, plan, logical_id)
        ]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The template {file} cannot be read: {error}.", exit_code=2) from error
    except (TemplateError, ServiceError) as error:
        step = "Give them with: --parameter NAME=VALUE" if "must have values" in error.message else ""
        what = f"The template {file} cannot be used: {error.message}"
        raise UserError(what, next_step=step, exit_code=2) from error


def plan_of(file: Path, root: dict[str, Node], parameters: Mapping[str, str], scope: Scope) -> Plan:
    """A template after its transforms, with its conditions decided; `root` is what stands in the file.

    Errors: UserError; TemplateError; ServiceError.
    """
    for local in local_code(root, file.resolve().parent, parameters):
        # SAM requires a location; nothing is packed.
        local.properties[local.kind.property] = {local.kind.bucket: "local", local.kind.key: "local"}
    blueprint = expanded(Blueprint(dump_json(root), dict(parameters)), scope, STACK, STACK, is_reviewed=True)
    if blueprint.transform_failure:
        raise UserError(f"The template {file} cannot be used: {blueprint.transform_failure}", exit_code=2)
    if blueprint.awaits_macros:
        step = "Give the template as the macros leave it: aws cloudformation get-template --template-stage Processed"
        raise UserError(f"The template {file} asks for macros, which do not run here.", next_step=step, exit_code=2)
    return make_plan(blueprint, scope, STACK, STACK)


def _leave_out_definitions(root: Mapping[str, Node]) -> None:
    """Name a location for local definitions of state machines, as SAM requires; nothing reads them."""
    resources = root.get("Resources")
    for resource in resources.values() if isinstance(resources, dict) else ():
        properties = resource.get("Properties") if isinstance(resource, dict) else None
        if isinstance(properties, dict) and isinstance(properties.get("DefinitionUri"), str):
            properties["DefinitionUri"] = {"Bucket": "local", "Key": "local"}


def _rule(file: Path, plan: Plan, logical_id: str) -> list[TemplateRule]:
    """The rule of a resource; none if it has no pattern."""
    properties = resolve(dict(plan.template.resources[logical_id].properties), Names(plan))
    if not isinstance(properties, dict) or not properties.get("EventPattern"):
        return []
    given = properties["EventPattern"]
    text = given if isinstance(given, str) else dump_json(given)
    try:
        pattern = parse(text)
    except PatternError as error:
        from redrive.cli.events_explain import pattern_hint

        hint = pattern_hint(text)
        what = f"{file}: the pattern of {logical_id} cannot be used. {error}"
        raise UserError(what, next_step=hint[:1].upper() + hint[1:], exit_code=2) from error
    bus = str(properties.get("EventBusName") or DEFAULT_BUS).rsplit("/", 1)[-1]
    is_enabled = properties.get("State") != "DISABLED"
    return [TemplateRule(str(properties.get("Name") or logical_id), bus, pattern, is_enabled)]


class Names(PlanScope):
    """Resolves references by what the template itself says; see ResolutionScope."""

    def ref(self, name: str) -> Node:
        """A parameter's value, or the name of a resource."""
        value = self.parameter(name)
        if value is not None:
            return value
        properties: Document = dict(self._plan.template.resources[name].properties)
        named = next((properties[key] for key in _NAMES if key in properties), None)
        return name if named is None else resolve(named, self)

    def get_att(self, logical_id: str, attribute: str) -> Node:
        """The name of a resource, with the attribute behind it unless that is the name, or the ARN."""
        name = self.ref(logical_id)
        return name if attribute in ("Arn", "Name") else f"{name}.{attribute}"

    def import_value(self, name: str) -> Node:
        """The name of another stack's export."""
        return name
