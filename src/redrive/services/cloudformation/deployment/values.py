"""The values for a template's functions, read from the present state of the stack.

There are two scopes. In the scope of a step, everything that the template refers to exists. In the scope of a change
set, resources that do not exist yet have unknown values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from redrive.core.documents import Document, dump_json
from redrive.core.leniency import OnUnknown
from redrive.languages.template import Node, TemplateError, resolve
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.lookups import with_parameters
from redrive.services.cloudformation.model.leniency import TAG
from redrive.services.cloudformation.model.stack import Made
from redrive.services.cloudformation.templates import Plan, PlanScope
from redrive.services.cloudformation.types import resource_type
from redrive.services.cloudformation.types.resource import Existing
from redrive.services.cloudformation.types.schema import check_properties, unknown_warning, without_unavailable

UNKNOWN_YET = "{{changeSet:KNOWN_AFTER_APPLY}}"
"""What a change set shows for a value that is known only after the execution."""


class StackScope(PlanScope):
    """Resolves the names in a template's functions. `imports` collects the exports that were used."""

    def __init__(self, run: Run, plan: Plan) -> None:
        super().__init__(plan)
        self._run = run
        self.imports: set[str] = set()

    def ref(self, name: str) -> Node:
        """See ResolutionScope."""
        value = self.parameter(name)
        if value is not None:
            return value
        return self._made(name).physical_id

    def get_att(self, logical_id: str, attribute: str) -> Node:
        """See ResolutionScope."""
        made = self._made(logical_id)
        attributes, computed = made.attributes, resource_type(made.type).attribute_of
        if attribute not in attributes and computed is not None:
            existing = Existing(made.physical_id, made.properties, attributes)
            return computed(self._run.place(logical_id), made.type, existing, attribute)
        if attribute not in attributes:
            raise TemplateError(f"Attribute '{attribute}' does not exist")
        value: Node = attributes[attribute]
        return value

    def import_value(self, name: str) -> Node:
        """See ResolutionScope."""
        export = self._run.export(name)
        if export is None:
            raise TemplateError(f"No export named {name} found.")
        self.imports.add(name)
        return export.value

    def _made(self, logical_id: str) -> Made:
        resource = self._run.resource(logical_id)
        if resource is None or resource.made is None:
            raise TemplateError(
                f"Unresolved resource dependencies [{logical_id}] in the Resources block of the template"
            )
        return resource.made


class PreviewScope(StackScope):
    """The scope of a change set. `unknown` are the resources that the change set will create or replace."""

    def __init__(self, run: Run, plan: Plan, unknown: AbstractSet[str]) -> None:
        super().__init__(run, plan)
        self._unknown = unknown

    def ref(self, name: str) -> Node:
        """See ResolutionScope."""
        return UNKNOWN_YET if name in self._unknown else super().ref(name)

    def get_att(self, logical_id: str, attribute: str) -> Node:
        """See ResolutionScope."""
        return UNKNOWN_YET if logical_id in self._unknown else super().get_att(logical_id, attribute)


def prepare(run: Run, plan: Plan, scope: StackScope, logical_id: str) -> tuple[Made, str]:
    """Return a resource as the template describes it, without an id yet, and a warning about unknown properties.

    A property that its type does not have is left out with a warning; a strict run refuses it, as AWS does.
    Errors: TemplateError, PropertyError.
    """
    wanted = wanted_as_written(run, plan, scope, logical_id)
    kind = resource_type(wanted.type)
    if kind.is_open:
        return wanted, kind.warn(wanted.properties)
    given = wanted.properties
    warnings = [] if run.is_strict else [unknown_warning(kind.properties, given)]
    if any(warnings):
        given = {name: value for name, value in given.items() if name in kind.properties}
    if run.leniency is not OnUnknown.REFUSE:
        given, left_out = without_unavailable(kind.properties, given)
        warnings += [f"redrive does not serve the property {name}: it is left out." for name in left_out]
    properties = check_properties(logical_id, kind.properties, given)
    warnings.append(kind.warn(properties))
    return dataclasses.replace(wanted, properties=properties), " ".join(filter(None, warnings))


def wanted_as_written(run: Run, plan: Plan, scope: StackScope, logical_id: str) -> Made:
    """Return a resource as the template describes it, before its properties are checked. Errors: TemplateError."""
    resource = plan.template.resources[logical_id]
    policies = plan.active.policies[logical_id]
    properties = _object(resolve(dict(resource.properties), scope))
    place = run.place(logical_id)
    properties = (
        {
            name: with_parameters(run.tx, place.caller, value, f"{resource.type}/Properties/{name}")
            for name, value in properties.items()
        }
        if "{{resolve:" in dump_json(properties)
        else properties
    )
    tags = {key: value for key, value in run.stack.blueprint.tags.items() if key != TAG}
    if resource_type(resource.type).has_tags and tags:
        properties["Tags"] = _with_stack_tags(properties.get("Tags"), tags)
    return Made(
        type=resource.type, physical_id="", properties=properties, attributes={},
        depends_on=tuple(sorted(plan.depends_on[logical_id])), deletion_policy=policies.deletion,
        update_replace_policy=policies.replacement,
        metadata=None if resource.metadata is None else dump_json(resolve(resource.metadata, scope)),
    )  # fmt: skip


def _object(node: Node) -> Document:
    if not isinstance(node, dict):
        raise TemplateError("Template format error: Properties must be an object.")
    return node


def _with_stack_tags(own: object, tags: Mapping[str, str]) -> object:
    """Return a resource's own tags, plus the stack's tags with other keys."""
    if own is not None and not isinstance(own, list):
        return own
    taken = {tag.get("Key") for tag in own or () if isinstance(tag, dict)}
    return [*(own or ()), *({"Key": key, "Value": value} for key, value in tags.items() if key not in taken)]
