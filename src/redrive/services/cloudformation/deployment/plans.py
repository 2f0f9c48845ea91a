"""Check whether a blueprint may be deployed, and compute the changes for a change set."""

from __future__ import annotations

import dataclasses

from redrive.core.scope import Scope
from redrive.languages.template import TemplateError
from redrive.services.cloudformation.deployment.preview import has_updates, preview
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.lookups import check_looked_up, looked_up
from redrive.services.cloudformation.model.change_sets import NO_CHANGES, ChangeSet, ExecutionStatus
from redrive.services.cloudformation.model.leniency import leniency_of
from redrive.services.cloudformation.model.stack import Blueprint, Stack, StackResource
from redrive.services.cloudformation.templates import (
    Plan,
    check_capabilities,
    check_types,
    make_plan,
    read_template,
    validation_error,
)
from redrive.store.api import Transaction


def checked_plan(tx: Transaction, blueprint: Blueprint, scope: Scope, stack_name: str, uid: str) -> Plan:
    """Return the plan of a blueprint, if it may be deployed.

    Errors: ValidationError; InsufficientCapabilitiesException.
    """
    leniency = leniency_of(blueprint.tags, tx.services.on_unknown)
    values, missing, secure = looked_up(tx, scope, read_template(blueprint.template_body), blueprint.parameters)
    check_looked_up(missing, secure, leniency)
    plan = make_plan(blueprint, scope, stack_name, uid, values)
    check_types(plan, leniency)
    check_capabilities(plan.template, blueprint.capabilities)
    return plan


def check_same_types(tx: Transaction, stack: Stack, plan: Plan) -> None:
    """Refuse a change of a resource's type. Errors: ValidationError."""
    differing = [
        logical_id
        for logical_id in plan.active.resources
        if (one := tx.resources.get(StackResource, stack.scope, f"{stack.uid}/{logical_id}")) is not None
        and one.made is not None
        and one.made.type != plan.template.resources[logical_id].type
    ]
    if differing:
        raise validation_error(
            "Update of resource type is not permitted. The new template modifies resource type of the following "
            f"resources: [{', '.join(differing)}]"
        )


def with_changes(run: Run, change_set: ChangeSet) -> ChangeSet:
    """Return the change set with its changes, or with the reason why it cannot be executed."""
    failure = run.stack.blueprint.transform_failure
    if failure:
        return failed_change_set(change_set, failure)
    try:
        changes = tuple(preview(run, imports_existing=change_set.imports_existing))
    except TemplateError as error:
        return failed_change_set(change_set, error.message)
    if not changes and not change_set.creates_stack and not has_updates(run):
        return failed_change_set(change_set, NO_CHANGES)
    imported = tuple(change.logical_id for change in changes if change.action == "Import")
    blueprint = dataclasses.replace(change_set.blueprint, imported=imported)
    return dataclasses.replace(change_set, changes=changes, blueprint=blueprint)


def failed_change_set(change_set: ChangeSet, reason: str) -> ChangeSet:
    """Return the change set with the reason why it cannot be executed."""
    return dataclasses.replace(
        change_set, status="FAILED", status_reason=reason, execution_status=ExecutionStatus.UNAVAILABLE
    )
