"""Compute what a blueprint would change in a stack, without changing anything."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redrive.core.documents import Document, dump_json
from redrive.languages.template import Node, TemplateError
from redrive.languages.template.references import AttributeOf, RefTo, references
from redrive.services.cloudformation.deployment.imports import importable_name
from redrive.services.cloudformation.deployment.outputs import evaluate
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.deployment.values import UNKNOWN_YET, PreviewScope, wanted_as_written
from redrive.services.cloudformation.model.change_sets import Cause, Change, PropertyChange
from redrive.services.cloudformation.model.stack import UPDATABLE, Made, Stack, StackStatus
from redrive.services.cloudformation.templates import NO_ECHO, Plan
from redrive.services.cloudformation.types import resource_type
from redrive.services.cloudformation.types.resource import changed_keys
from redrive.services.cloudformation.types.schema import PropertyError, as_text, check_properties

_UNFINISHED = frozenset({StackStatus.CREATE_FAILED, StackStatus.UPDATE_FAILED})


@dataclass(frozen=True, slots=True)
class _Changed:
    """The changes found so far: parameters, replaced resources, and resources whose replacement is certain."""

    parameters: frozenset[str]
    unknown: set[str]
    replaced: set[str]


def preview(run: Run, *, imports_existing: bool = False) -> list[Change]:
    """Return the changes that executing the stack's blueprint would make. Errors: TemplateError."""
    plan = run.plan()
    changed = _Changed(_changed_parameters(run, plan), set(), set())
    changes: list[Change] = []
    for logical_id in plan.order:
        change = _preview_one(run, plan, changed, logical_id)
        if change is None:
            continue
        if change.action == "Add" and imports_existing:
            change = _imported(run, PreviewScope(run, plan, changed.unknown), plan, change)
        changes.append(change)
        if change.action in ("Add", "Import") or change.replacement != "False":
            changed.unknown.add(logical_id)
        if change.replacement == "True":
            changed.replaced.add(logical_id)
    return sorted(changes + _removals(run, plan), key=lambda change: change.logical_id)


def _imported(run: Run, scope: PreviewScope, plan: Plan, change: Change) -> Change:
    """Return the change by which a resource is imported, if it exists already; otherwise the change that adds it."""
    try:
        wanted = wanted_as_written(run, plan, scope, change.logical_id)
    except TemplateError:
        return change
    name = importable_name(run, wanted)
    return change if name is None else dataclasses.replace(change, action="Import", physical_id=name)


def _changed_parameters(run: Run, plan: Plan) -> frozenset[str]:
    """Return the parameters whose values differ from those of the stack."""
    stored = run.tx.resources.get(Stack, run.scope, run.stack.stack_name)
    if stored is None or not stored.blueprint.template_body or stored.blueprint is run.stack.blueprint:
        return frozenset()
    before = Run(run.tx, stored).plan().parameters
    return frozenset(name for name, value in plan.parameters.items() if name in before and before[name] != value)


def has_updates(run: Run) -> bool:
    """Whether executing the stack's blueprint would change a resource or an output."""
    if run.stack.status in _UNFINISHED and run.stack.status in UPDATABLE:
        return True
    try:
        return bool(preview(run)) or _changes_outputs(run)
    except TemplateError:
        # A value that cannot be resolved counts as a change; the operation itself reports the error.
        return True


def _changes_outputs(run: Run) -> bool:
    plan = run.plan()
    scope = PreviewScope(run, plan, frozenset())
    outputs = tuple(evaluate(plan.template.outputs[name], scope) for name in plan.active.outputs)
    return outputs != run.stack.outputs


def _removals(run: Run, plan: Plan) -> list[Change]:
    return [
        Change(
            "Remove", one.logical_id, one.type, one.physical_id, policy=one.made.deletion_policy,
            before_context=_context(one.made.properties),
        )
        for one in run.resources()
        if one.made is not None and not one.leftover and one.logical_id not in plan.active.resources
    ]  # fmt: skip


def _preview_one(run: Run, plan: Plan, changed: _Changed, logical_id: str) -> Change | None:
    scope = PreviewScope(run, plan, changed.unknown)
    resource = run.resource(logical_id)
    type_name = plan.template.resources[logical_id].type
    if resource is None or resource.made is None:
        return Change("Add", logical_id, type_name, after_context=_context_of_new(run, plan, scope, logical_id))
    made = resource.made
    wanted = wanted_as_written(run, plan, scope, logical_id)
    properties = _checked(logical_id, wanted)
    hide = _hiding(plan)
    details = [
        *_property_changes(made, properties, plan.template.resources[logical_id].properties, changed, hide),
        *(
            PropertyChange(attribute, before=before, after=after)
            for attribute, before, after in (
                ("DeletionPolicy", made.deletion_policy, wanted.deletion_policy),
                ("Metadata", made.metadata, wanted.metadata),
                ("UpdateReplacePolicy", made.update_replace_policy, wanted.update_replace_policy),
            )
            if before != after
        ),
    ]
    if not details:
        return None
    return Change(
        "Modify", logical_id, type_name, made.physical_id, tuple(details), policy=wanted.update_replace_policy,
        before_context=hide(_context(made.properties)), after_context=hide(_context(properties)),
    )  # fmt: skip


def _context(properties: Document) -> str:
    return dump_json({"Properties": properties})


def _context_of_new(run: Run, plan: Plan, scope: PreviewScope, logical_id: str) -> str:
    """Return the properties of a new resource. A missing export is no reason to refuse the change set."""
    try:
        wanted = wanted_as_written(run, plan, scope, logical_id)
    except TemplateError:
        return _context({})
    return _hiding(plan)(_context(_checked(logical_id, wanted)))


def _hiding(plan: Plan) -> Callable[[str], str]:
    """Return the function that masks the values of NoEcho parameters."""
    secret = [
        value
        for name, value in plan.parameters.items()
        if plan.template.parameters[name].no_echo and isinstance(value, str) and value
    ]

    def hide(text: str) -> str:
        for value in secret:
            text = text.replace(dump_json(value)[1:-1], NO_ECHO)
        return text

    return hide


def _checked(logical_id: str, wanted: Made) -> Document:
    """Check the properties against their type, as far as this is possible while some values are unknown."""
    if resource_type(wanted.type).is_open:
        return wanted.properties
    known = resource_type(wanted.type).properties
    given = {name: value for name, value in wanted.properties.items() if name in known}
    try:
        return check_properties(logical_id, known, given)
    except PropertyError:
        return wanted.properties


def _property_changes(
    made: Made, wanted: Document, written: Mapping[str, Node], changed: _Changed, hide: Callable[[str], str]
) -> list[PropertyChange]:
    known = resource_type(made.type).properties
    changes = []
    for name in sorted(changed_keys(made.properties, wanted)):
        replaces = name in known and known[name].replaces
        is_known = UNKNOWN_YET not in dump_json(wanted.get(name))
        causes = _causes(written.get(name), changed)
        for_certain = is_known or any(cause.entity and cause.is_known for cause in causes)
        recreation = "Never" if not replaces else "Always" if for_certain else "Conditionally"
        attribute = "Tags" if name == "Tags" else "Properties"
        before, after = (
            hide(as_text(properties[name])) if properties.get(name) is not None else None
            for properties in (made.properties, wanted)
        )
        changes.append(
            PropertyChange(attribute, "" if name == "Tags" else name, recreation, causes, before, after)
        )  # fmt: skip
    return changes


def _causes(written: Node, changed: _Changed) -> tuple[Cause, ...]:
    """Return why a property changes: something that its text in the template refers to, or the text itself.

    A change caused by a changed parameter or a replaced resource is certain; AWS reports it as two details.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-changesets-samples.html
    """
    causes: list[Cause] = []
    for reference in references(written):
        match reference:
            case RefTo(name) if name in changed.parameters:
                causes.append(Cause("ParameterReference", name))
            case RefTo(name) if name in changed.unknown:
                causes.append(Cause("ResourceReference", name, is_known=name in changed.replaced))
            case AttributeOf(name, attribute) if name in changed.unknown:
                is_certain = name in changed.replaced
                causes.append(Cause("ResourceAttribute", f"{name}.{attribute}", is_known=is_certain))
            case _:
                pass
    if not causes:
        return (Cause(),)
    unique = tuple(dict.fromkeys(causes))
    return (*unique, Cause(is_known=False)) if any(cause.is_known for cause in unique) else unique
