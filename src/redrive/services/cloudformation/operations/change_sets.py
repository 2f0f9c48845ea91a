"""The operations on change sets: compute, describe, execute, delete."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudformation.acting import acting, pass_role
from redrive.services.cloudformation.deployment.plans import check_same_types, checked_plan, with_changes
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.locations import fetch_as
from redrive.services.cloudformation.lookups import looked_up
from redrive.services.cloudformation.model.change_sets import (
    Change,
    ChangeSet,
    ExecutionStatus,
    change_set_arn,
)
from redrive.services.cloudformation.model.requests import check_stack_name, page, refuse_given, tags_of, without_empty
from redrive.services.cloudformation.model.stack import Blueprint, Stack, StackStatus, parse_stack_id, stack_arn
from redrive.services.cloudformation.operations.stacks import (
    begin_update,
    changed_blueprint,
    check_updatable,
    existing_stack,
    find_stack,
    new_stack,
)
from redrive.services.cloudformation.templates import (
    asked_template,
    given_parameters,
    shown_parameters,
    template_of,
    template_of_blueprint,
    validation_error,
)
from redrive.services.cloudformation.transforms.expansion import expanded
from redrive.services.cloudformation.workers.macros import await_macros, pending
from redrive.store.api import Transaction


def find_change_set(tx: Transaction, caller: Caller, name: str, stack_name: str | None, action: str) -> ChangeSet:
    """Return the change set with this id, or with this name in the given stack.

    Errors: ChangeSetNotFoundException; ValidationError (a name without its stack, or no such stack).
    """
    if name.startswith("arn:"):
        tx.services.authorize(tx, caller, f"cloudformation:{action}", stack_arn(caller.scope, "*", "*"))
        found = next((one for one in tx.resources.list(ChangeSet, caller.scope) if one.id == name), None)
    elif stack_name is None:
        raise validation_error("StackName must be specified if ChangeSetName is not specified as an ARN.")
    else:
        stack = existing_stack(tx, caller, stack_name, action)
        found = tx.resources.get(ChangeSet, stack.scope, f"{stack.uid}/{name}")
    if found is None:
        raise ServiceError("ChangeSetNotFoundException", f"ChangeSet [{name}] does not exist")
    return found


@operation("CreateChangeSet")
def create_change_set(
    tx: Transaction, caller: Caller, *,
    stack_name: str, change_set_name: str, template_body: str | None = None, template_url: str | None = None,
    use_previous_template: bool | None = None, parameters: Sequence[Document] | None = None,
    capabilities: Sequence[str] | None = None, resource_types: Sequence[str] | None = None,
    role_arn: str | None = None, rollback_configuration: Document | None = None,
    notification_arns: Sequence[str] | None = None, tags: Sequence[Document] | None = None,
    client_token: str | None = None, description: str | None = None, change_set_type: str = "UPDATE",
    resources_to_import: Sequence[Document] | None = None, include_nested_stacks: bool | None = None,
    on_stack_failure: str | None = None, deployment_mode: str | None = None, deployment_config: Document | None = None,
    import_existing_resources: bool | None = None,
    disable_validation: bool | None = None,  # noqa: ARG001 -- nothing is validated before deployment here.
) -> Document:  # fmt: skip
    """Compute what a template would change in a stack. A set of type CREATE also creates the stack, in review.

    A set without changes has the status FAILED, with that reason. A repeated request with the same token returns the
    same set. With ImportExistingResources, named resources that exist already and belong to no stack are imported.

    Errors: AlreadyExistsException; InsufficientCapabilitiesException; LimitExceededException; ValidationError (no such
    stack, or one that already exists; template, parameters, an unsupported setting).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateChangeSet.html
    """
    refuse_given(ResourceTypes=resource_types, ResourcesToImport=resources_to_import, DeploymentMode=deployment_mode)
    if change_set_type == "IMPORT":
        raise validation_error("ChangeSetType IMPORT is not supported.")
    creates = change_set_type == "CREATE"
    stack = _stack_for(tx, caller, stack_name, change_set_name, creates=creates)
    template_body = asked_template(tx, caller, template_body, template_url)
    pass_role(tx, caller, role_arn, stack.id)
    existing = tx.resources.get(ChangeSet, stack.scope, f"{stack.uid}/{change_set_name}")
    if existing is not None and client_token is not None and existing.client_token == client_token:
        return {"Id": existing.id, "StackId": stack.id}
    if existing is not None:
        raise ServiceError("AlreadyExistsException", f"ChangeSet {change_set_name} cannot be created because it exists")
    if creates:
        blueprint = Blueprint(
            template_body=template_of(template_body), parameters=given_parameters(parameters, {}),
            tags=tags_of(tags), capabilities=tuple(capabilities or ()), role_arn=role_arn,
            notification_arns=tuple(notification_arns or ()), rollback_configuration=rollback_configuration,
            deployment_config=deployment_config,
        )  # fmt: skip
    else:
        blueprint = changed_blueprint(
            stack, template_body, use_previous=bool(use_previous_template), parameters=parameters,
            capabilities=capabilities, role_arn=role_arn, rollback_configuration=rollback_configuration,
            notification_arns=notification_arns, tags=tags, deployment_config=deployment_config,
        )  # fmt: skip
    blueprint = expanded(
        blueprint, stack.scope, stack.stack_name, stack.uid, is_reviewed=True, fetch=fetch_as(tx, caller)
    )
    if blueprint.is_whole:
        check_same_types(tx, stack, checked_plan(tx, blueprint, stack.scope, stack.stack_name, stack.uid))
    change_set = ChangeSet(
        stack=stack.uid, stack_name=stack.stack_name, stack_id=stack.id, change_set_name=change_set_name,
        id=change_set_arn(stack.scope, change_set_name, new_uuid(tx.entropy)), creates_stack=creates,
        blueprint=blueprint, created_at=tx.now, status="CREATE_COMPLETE", description=description or "",
        execution_status=ExecutionStatus.AVAILABLE, on_stack_failure=on_stack_failure,
        includes_nested=bool(include_nested_stacks), client_token=client_token,
        imports_existing=bool(import_existing_resources),
    )  # fmt: skip
    if tx.resources.get(Stack, stack.scope, stack.name) is None:
        run = Run(tx, stack)
        run.enter(StackStatus.REVIEW_IN_PROGRESS, "User Initiated")
        run.save()
    if blueprint.awaits_macros:
        tx.resources.put(stack.scope, pending(change_set))
        await_macros(tx, stack, acting(tx, caller, blueprint, stack.id), change_set_name)
        return {"Id": change_set.id, "StackId": stack.id}
    tx.resources.put(stack.scope, with_changes(Run(tx, dataclasses.replace(stack, blueprint=blueprint)), change_set))
    return {"Id": change_set.id, "StackId": stack.id}


def _stack_for(tx: Transaction, caller: Caller, stack_name: str, change_set_name: str, *, creates: bool) -> Stack:
    """Return the stack of a new change set; type CREATE may create the stack. Errors: ValidationError."""
    stack = find_stack(tx, caller, stack_name, "CreateChangeSet")
    if creates and stack is None:
        name = parse_stack_id(stack_name)[0]
        check_stack_name(name)
        return new_stack(tx, caller, name, Blueprint(template_body=""), StackStatus.REVIEW_IN_PROGRESS)
    if stack is None or stack.status is StackStatus.DELETE_COMPLETE:
        raise validation_error(f"Stack [{stack_name}] does not exist")
    if creates and stack.status is not StackStatus.REVIEW_IN_PROGRESS:
        raise validation_error(
            f"Stack [{stack.stack_name}] already exists and cannot be created again with the changeSet "
            f"[{change_set_name}]."
        )
    if not creates:
        check_updatable(stack)
    return stack


@operation("DescribeChangeSet")
def describe_change_set(
    tx: Transaction, caller: Caller, *,
    change_set_name: str, stack_name: str | None = None, next_token: str | None = None,
    include_property_values: bool | None = None,
) -> Document:  # fmt: skip
    """Describe a change set and its changes; on request with each property's value before and after.

    Errors: ChangeSetNotFoundException; ValidationError (stack).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeChangeSet.html
    """
    change_set = find_change_set(tx, caller, change_set_name, stack_name, "DescribeChangeSet")
    shown, more = page(change_set.changes, _key, next_token)
    template = template_of_blueprint(change_set.blueprint)
    given = change_set.blueprint.parameters
    values = looked_up(tx, caller.scope, template, given)[0]
    parameters = without_empty({"Parameters": shown_parameters(template, given, values) or None})
    return {**change_set.page(shown, with_values=bool(include_property_values)), **parameters, **more}


def _key(change: Change) -> str:
    return change.logical_id


@operation("ListChangeSets")
def list_change_sets(tx: Transaction, caller: Caller, *, stack_name: str, next_token: str | None = None) -> Document:
    """List the change sets of a stack that are not executed yet, sorted by name.

    Errors: ValidationError (no such stack).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListChangeSets.html
    """
    stack = existing_stack(tx, caller, stack_name, "ListChangeSets")
    found = [one for one in tx.resources.list(ChangeSet, stack.scope, prefix=f"{stack.uid}/") if not one.is_over]
    shown, more = page(found, lambda change_set: change_set.change_set_name, next_token)
    return {"Summaries": [change_set.summary() for change_set in shown], **more}


@operation("DeleteChangeSet")
def delete_change_set(
    tx: Transaction, caller: Caller, *, change_set_name: str, stack_name: str | None = None
) -> Document:
    """Delete a change set; the stack does not change.

    Errors: InvalidChangeSetStatusException (it is being executed); ValidationError (no such stack).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DeleteChangeSet.html
    """
    try:
        change_set = find_change_set(tx, caller, change_set_name, stack_name, "DeleteChangeSet")
    except ServiceError as error:
        if error.code == "ChangeSetNotFoundException":
            return {}
        raise
    if change_set.execution_status is ExecutionStatus.EXECUTE_IN_PROGRESS:
        raise _invalid_status(change_set, "deleted", change_set.execution_status)
    tx.resources.delete(ChangeSet, caller.scope, change_set.name)
    return {}


def _invalid_status(change_set: ChangeSet, verb: str, status: str) -> ServiceError:
    return ServiceError(
        "InvalidChangeSetStatusException",
        f"ChangeSet [{change_set.id}] cannot be {verb} in its current status of [{status}]",
    )


@operation("ExecuteChangeSet")
def execute_change_set(
    tx: Transaction, caller: Caller, *,
    change_set_name: str, stack_name: str | None = None, client_request_token: str | None = None,
    disable_rollback: bool | None = None, retain_except_on_create: bool | None = None,
) -> Document:  # fmt: skip
    """Begin to execute a change set. The stack's other change sets are deleted.

    Errors: ChangeSetNotFoundException; InvalidChangeSetStatusException (it cannot be executed, or already was);
    ValidationError (a stack that is busy or cannot be updated).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ExecuteChangeSet.html
    """
    change_set = find_change_set(tx, caller, change_set_name, stack_name, "ExecuteChangeSet")
    if change_set.status != "CREATE_COMPLETE":
        raise _invalid_status(change_set, "executed", change_set.status)
    if change_set.execution_status is not ExecutionStatus.AVAILABLE:
        raise _invalid_status(change_set, "executed", change_set.execution_status)
    stack = tx.resources.get(Stack, caller.scope, change_set.stack_name)
    if stack is None or stack.uid != change_set.stack:
        raise validation_error(f"Stack [{change_set.stack_name}] does not exist")
    if stack.status is not StackStatus.REVIEW_IN_PROGRESS:
        check_updatable(stack)
    principal = acting(tx, caller, change_set.blueprint, stack.id)
    for other in tx.resources.list(ChangeSet, stack.scope, prefix=f"{stack.uid}/"):
        if other.id != change_set.id:
            tx.resources.delete(ChangeSet, stack.scope, other.name)
    tx.resources.put(stack.scope, dataclasses.replace(change_set, execution_status=ExecutionStatus.EXECUTE_IN_PROGRESS))
    run = Run(tx, dataclasses.replace(stack, blueprint=change_set.blueprint, change_set_id=change_set.id))
    keeps_failures = disable_rollback or change_set.blueprint.disables_rollback
    on_failure = "DO_NOTHING" if keeps_failures else change_set.on_stack_failure or "ROLLBACK"
    if stack.status is StackStatus.REVIEW_IN_PROGRESS:
        run.stack = dataclasses.replace(
            run.stack, on_failure=on_failure, client_request_token=client_request_token, updated_at=tx.now,
            retains_except_on_create=bool(retain_except_on_create),
        )  # fmt: skip
        run.begin(StackStatus.CREATE_IN_PROGRESS, principal)
        run.save()
    else:
        begin_update(
            run, stack.blueprint, principal, on_failure=on_failure,
            retains_except_on_create=bool(retain_except_on_create), client_request_token=client_request_token,
            stack_policy=stack.stack_policy,
        )  # fmt: skip
    return {}
