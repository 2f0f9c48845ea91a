"""What a blueprint would change about a stack, found without changing anything."""

from __future__ import annotations

from redrive.core.documents import Document, dump_json
from redrive.languages.template import TemplateError
from redrive.services.cloudformation.model import UPDATABLE, Made, StackStatus
from redrive.services.cloudformation.model_change_sets import Change, PropertyChange
from redrive.services.cloudformation.model_templates import Plan
from redrive.services.cloudformation.types import TYPES
from redrive.services.cloudformation.types.resource import changed_keys
from redrive.services.cloudformation.types.schema import PropertyError, check_properties
from redrive.services.cloudformation.workers_outputs import evaluate
from redrive.services.cloudformation.workers_run import Run
from redrive.services.cloudformation.workers_values import UNKNOWN_YET, PreviewScope, wanted_as_written

_UNFINISHED = frozenset({StackStatus.CREATE_FAILED, StackStatus.UPDATE_FAILED})


def preview(run: Run) -> list[Change]:
    """The changes that executing the stack's blueprint would make. Errors: TemplateError."""
    plan = run.plan()
    unknown: set[str] = set()
    changes: list[Change] = []
    for logical_id in plan.order:
        change = _preview_one(run, plan, logical_id, unknown)
        if change is None:
            continue
        changes.append(change)
        if change.action == "Add" or change.replacement != "False":
            unknown.add(logical_id)
    return changes + _removals(run, plan)


def has_updates(run: Run) -> bool:
    """Whether executing the stack's blueprint would change a resource or an output."""
    if run.stack.status in _UNFINISHED and run.stack.status in UPDATABLE:
        return True
    try:
        return bool(preview(run)) or _changes_outputs(run)
    except TemplateError:
        # What cannot be resolved differs from what could be; the operation itself says what is wrong.
        return True


def _changes_outputs(run: Run) -> bool:
    plan = run.plan()
    scope = PreviewScope(run, plan, frozenset())
    outputs = tuple(evaluate(plan.template.outputs[name], scope) for name in plan.active.outputs)
    return outputs != run.stack.outputs


def _removals(run: Run, plan: Plan) -> list[Change]:
    return [
        Change("Remove", one.logical_id, one.type, one.physical_id, policy=one.made.deletion_policy)
        for one in run.resources()
        if one.made is not None and not one.leftover and one.logical_id not in plan.active.resources
    ]


def _preview_one(run: Run, plan: Plan, logical_id: str, unknown: set[str]) -> Change | None:
    scope = PreviewScope(run, plan, unknown)
    resource = run.resource(logical_id)
    type_name = plan.template.resources[logical_id].type
    if resource is None or resource.made is None:
        return Change("Add", logical_id, type_name)
    made = resource.made
    wanted = wanted_as_written(run, plan, scope, logical_id)
    details = [
        *_property_changes(made, _checked(logical_id, wanted)),
        *(
            PropertyChange(attribute)
            for attribute, before, after in (
                ("DeletionPolicy", made.deletion_policy, wanted.deletion_policy),
                ("Metadata", made.metadata, wanted.metadata),
                ("UpdateReplacePolicy", made.update_replace_policy, wanted.update_replace_policy),
            )
            if before != after
        ),
    ]
    return Change("Modify", logical_id, type_name, made.physical_id, tuple(details)) if details else None


def _checked(logical_id: str, wanted: Made) -> Document:
    """The properties held against their type, as far as that is possible while some are unknown."""
    known = TYPES[wanted.type].properties
    given = {name: value for name, value in wanted.properties.items() if name in known}
    try:
        return check_properties(logical_id, known, given)
    except PropertyError:
        return wanted.properties


def _property_changes(made: Made, wanted: Document) -> list[PropertyChange]:
    known = TYPES[made.type].properties
    changes = []
    for name in sorted(changed_keys(made.properties, wanted)):
        replaces = name in known and known[name].replaces
        is_known = UNKNOWN_YET not in dump_json(wanted.get(name))
        recreation = "Never" if not replaces else "Always" if is_known else "Conditionally"
        attribute = "Tags" if name == "Tags" else "Properties"
        changes.append(PropertyChange(attribute, "" if name == "Tags" else name, recreation, is_known))
    return changes
