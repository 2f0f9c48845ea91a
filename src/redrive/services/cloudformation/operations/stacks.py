"""The operations on stacks: create, update, delete, cancel, continue, protect."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.acting import acting, pass_role
from redrive.services.cloudformation.deployment.outputs import export_in_use
from redrive.services.cloudformation.deployment.plans import check_same_types, checked_plan
from redrive.services.cloudformation.deployment.preview import has_updates
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.locations import fetch_as
from redrive.services.cloudformation.model.change_sets import NO_UPDATES, ChangeSet
from redrive.services.cloudformation.model.requests import check_stack_name, refuse_given, tags_of
from redrive.services.cloudformation.model.stack import (
    UPDATABLE,
    Blueprint,
    Stack,
    StackEvent,
    StackResource,
    StackStatus,
    parse_stack_id,
    stack_arn,
)
from redrive.services.cloudformation.templates import (
    asked_policy,
    asked_template,
    given_parameters,
    template_of,
    validation_error,
)
from redrive.services.cloudformation.transforms.expansion import expanded
from redrive.services.cloudformation.workers.macros import await_macros
from redrive.store.api import Transaction


def find_stack(tx: Transaction, caller: Caller, name: str, action: str) -> Stack | None:
    """Return the stack with this name or id, if the caller may do `action` on it; only an id finds a deleted stack.

    Errors: AccessDeniedException.
    """
    stack_name, uid = parse_stack_id(name)
    tx.services.authorize(tx, caller, f"cloudformation:{action}", stack_arn(caller.scope, stack_name, uid or "*"))
    stack = tx.resources.get(Stack, caller.scope, stack_name)
    if uid is None or (stack is not None and stack.uid == uid):
        return stack
    return tx.resources.get(Stack, caller.scope, f"{stack_name}/{uid}")


# How the operations that read say that a stack is missing; those that are not here name its id.
_MISSING = {
    "DescribeChangeSet": "Stack [{}] does not exist",
    "DescribeStackEvents": "Stack [{}] does not exist",
    "DescribeStackResource": "Stack '{}' does not exist",
    "ListChangeSets": "Stack [{}] does not exist",
}


def existing_stack(tx: Transaction, caller: Caller, name: str | None, action: str) -> Stack:
    """Return the stack with this name or id. Errors: ValidationError (no such stack); AccessDeniedException."""
    if name is None:
        raise validation_error("1 validation error detected: Value null at 'stackName' failed to satisfy constraint: "
                               "Member must not be null")  # fmt: skip
    stack = find_stack(tx, caller, name, action)
    if stack is None:
        raise validation_error(_MISSING.get(action, "Stack with id {} does not exist").format(name))
    return stack


def stack_to_change(tx: Transaction, caller: Caller, name: str, action: str) -> Stack:
    """Return a stack for a change; a deleted stack is refused. Errors: ValidationError; AccessDeniedException."""
    stack = find_stack(tx, caller, name, action)
    if stack is None or stack.status is StackStatus.DELETE_COMPLETE:
        raise validation_error(f"Stack [{name}] does not exist")
    return stack


def new_stack(tx: Transaction, caller: Caller, name: str, blueprint: Blueprint, status: StackStatus) -> Stack:
    """Return a new stack without resources. Errors: LimitExceededException."""
    if tx.resources.count(Stack, caller.scope) >= limits.STACKS_MAX:
        _forget_long_deleted(tx, caller.scope)
        live = [one for one in tx.resources.list(Stack, caller.scope) if one.status is not StackStatus.DELETE_COMPLETE]
        if len(live) >= limits.STACKS_MAX:
            raise ServiceError("LimitExceededException", f"Limit for stack has been exceeded: {limits.STACKS_MAX}")
    return Stack(
        stack_name=name, uid=new_uuid(tx.entropy), account=caller.account, region=caller.region, host=caller.host,
        status=status, created_at=tx.now, blueprint=blueprint,
    )  # fmt: skip


def _forget_long_deleted(tx: Transaction, scope: Scope) -> None:
    """Delete the rows of stacks whose retention after deletion has ended."""
    for stack in tx.resources.list(Stack, scope):
        if not stack.is_deleted_since(tx.now - limits.DELETED_KEPT_MS):
            continue
        for kind in (StackEvent, StackResource, ChangeSet):
            for part in tx.resources.list(kind, scope, prefix=f"{stack.uid}/"):
                tx.resources.delete(kind, scope, part.name)
        tx.resources.delete(Stack, scope, stack.name)


def on_failure_of(disable_rollback: bool | None, on_failure: str | None) -> str:
    """Return the reaction to a failed creation or update: ROLLBACK, DELETE or DO_NOTHING. Errors: ValidationError."""
    if disable_rollback is not None and on_failure is not None:
        raise validation_error("Either DisableRollback or OnFailure can be specified, not both.")
    return "DO_NOTHING" if disable_rollback else on_failure or "ROLLBACK"


@operation("CreateStack")
def create_stack(
    tx: Transaction, caller: Caller, *,
    stack_name: str, template_body: str | None = None, template_url: str | None = None,
    parameters: Sequence[Document] | None = None, disable_rollback: bool | None = None,
    rollback_configuration: Document | None = None, timeout_in_minutes: int | None = None,
    notification_arns: Sequence[str] | None = None, capabilities: Sequence[str] | None = None,
    resource_types: Sequence[str] | None = None, role_arn: str | None = None, on_failure: str | None = None,
    stack_policy_body: str | None = None, stack_policy_url: str | None = None, tags: Sequence[Document] | None = None,
    client_request_token: str | None = None, enable_termination_protection: bool | None = None,
    retain_except_on_create: bool | None = None, deployment_config: Document | None = None,
    disable_validation: bool | None = None,  # noqa: ARG001 -- nothing is validated before deployment here.
) -> Document:  # fmt: skip
    """Begin to create a stack. A repeated request with the same token returns the stack that the first one created.

    Errors: AlreadyExistsException; InsufficientCapabilitiesException; LimitExceededException; ValidationError (name,
    template, parameters, an unsupported setting).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
    """
    existing = find_stack(tx, caller, stack_name, "CreateStack")
    template_body = asked_template(tx, caller, template_body, template_url)
    check_stack_name(stack_name)
    refuse_given(ResourceTypes=resource_types)
    stack_policy_body = asked_policy(tx, caller, stack_policy_body, stack_policy_url)
    if existing is not None:
        if client_request_token is not None and existing.client_request_token == client_request_token:
            return {"StackId": existing.id, "OperationId": existing.operation}
        raise ServiceError("AlreadyExistsException", f"Stack [{stack_name}] already exists")
    blueprint = Blueprint(
        template_body=template_of(template_body), parameters=given_parameters(parameters, {}),
        tags=tags_of(tags), capabilities=tuple(capabilities or ()), notification_arns=tuple(notification_arns or ()),
        role_arn=role_arn, rollback_configuration=rollback_configuration, deployment_config=deployment_config,
    )  # fmt: skip
    stack = dataclasses.replace(
        new_stack(tx, caller, stack_name, blueprint, StackStatus.CREATE_IN_PROGRESS),
        on_failure=on_failure_of(disable_rollback or blueprint.disables_rollback or None, on_failure),
        timeout_minutes=timeout_in_minutes,
        stack_policy=stack_policy_body, client_request_token=client_request_token,
        is_protected=bool(enable_termination_protection), retains_except_on_create=bool(retain_except_on_create),
    )  # fmt: skip
    pass_role(tx, caller, role_arn, stack.id)
    blueprint = expanded(blueprint, caller.scope, stack_name, stack.uid, fetch=fetch_as(tx, caller))
    if blueprint.is_whole:
        checked_plan(tx, blueprint, caller.scope, stack_name, stack.uid)
    run = Run(tx, dataclasses.replace(stack, blueprint=blueprint))
    principal = acting(tx, caller, blueprint, stack.id)
    run.begin(StackStatus.CREATE_IN_PROGRESS, principal)
    run.save()
    if blueprint.awaits_macros:
        await_macros(tx, run.stack, principal)
    return {"StackId": run.stack.id, "OperationId": run.stack.operation}


@operation("UpdateStack")
def update_stack(
    tx: Transaction, caller: Caller, *,
    stack_name: str, template_body: str | None = None, template_url: str | None = None,
    use_previous_template: bool | None = None, stack_policy_during_update_body: str | None = None,
    stack_policy_during_update_url: str | None = None, parameters: Sequence[Document] | None = None,
    capabilities: Sequence[str] | None = None, resource_types: Sequence[str] | None = None,
    role_arn: str | None = None, rollback_configuration: Document | None = None, stack_policy_body: str | None = None,
    stack_policy_url: str | None = None, notification_arns: Sequence[str] | None = None,
    tags: Sequence[Document] | None = None, disable_rollback: bool | None = None,
    client_request_token: str | None = None, retain_except_on_create: bool | None = None,
    deployment_config: Document | None = None,
    disable_validation: bool | None = None,  # noqa: ARG001 -- nothing is validated before deployment here.
) -> Document:  # fmt: skip
    """Begin to update a stack. Tags, role, notifications and rollback triggers that are not given do not change.

    Errors: ValidationError (no such stack, `No updates are to be performed.`, template, parameters, a stack that is
    busy or cannot be updated, an unsupported setting); InsufficientCapabilitiesException.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_UpdateStack.html
    """
    stack = stack_to_change(tx, caller, stack_name, "UpdateStack")
    template_body = asked_template(tx, caller, template_body, template_url)
    pass_role(tx, caller, role_arn, stack.id)
    refuse_given(
        ResourceTypes=resource_types, StackPolicyDuringUpdateURL=stack_policy_during_update_url,
        StackPolicyDuringUpdateBody=stack_policy_during_update_body,
    )  # fmt: skip
    stack_policy_body = asked_policy(tx, caller, stack_policy_body, stack_policy_url)
    blueprint = changed_blueprint(
        stack, template_body, use_previous=bool(use_previous_template), parameters=parameters,
        capabilities=capabilities, role_arn=role_arn, rollback_configuration=rollback_configuration,
        notification_arns=notification_arns, tags=tags, deployment_config=deployment_config,
    )  # fmt: skip
    blueprint = expanded(blueprint, stack.scope, stack.stack_name, stack.uid, fetch=fetch_as(tx, caller))
    plan = checked_plan(tx, blueprint, stack.scope, stack.stack_name, stack.uid) if blueprint.is_whole else None
    check_updatable(stack)
    if plan is not None:
        check_same_types(tx, stack, plan)
    run = Run(tx, dataclasses.replace(stack, blueprint=blueprint))
    if plan is not None and not has_updates(run):
        raise validation_error(NO_UPDATES)
    principal = acting(tx, caller, blueprint, stack.id)
    begin_update(
        run, stack.blueprint, principal,
        on_failure="DO_NOTHING" if disable_rollback or blueprint.disables_rollback else "ROLLBACK",
        retains_except_on_create=bool(retain_except_on_create), client_request_token=client_request_token,
        stack_policy=stack_policy_body if stack_policy_body is not None else stack.stack_policy,
    )  # fmt: skip
    if blueprint.awaits_macros:
        await_macros(tx, run.stack, principal)
    return {"StackId": stack.id, "OperationId": run.stack.operation}


def changed_blueprint(
    stack: Stack, template_body: str | None, *, use_previous: bool,
    parameters: Sequence[Document] | None, capabilities: Sequence[str] | None, role_arn: str | None,
    rollback_configuration: Document | None, notification_arns: Sequence[str] | None, tags: Sequence[Document] | None,
    deployment_config: Document | None = None,
) -> Blueprint:  # fmt: skip
    """Return the stack's blueprint with the changes of an update request. Errors: ValidationError."""
    old = stack.blueprint
    body = template_of(template_body, use_previous=use_previous, previous=old.template_body)
    return Blueprint(
        template_body=body,
        parameters=given_parameters(parameters, old.parameters),
        tags=old.tags if tags is None else tags_of(tags),
        capabilities=tuple(capabilities or ()),
        notification_arns=old.notification_arns if notification_arns is None else tuple(notification_arns),
        role_arn=role_arn or old.role_arn,
        rollback_configuration=rollback_configuration or old.rollback_configuration,
        deployment_config=deployment_config,
    )


def check_updatable(stack: Stack) -> None:
    """Refuse a stack that cannot be updated in its present status. Errors: ValidationError."""
    if stack.status not in UPDATABLE:
        raise validation_error(f"Stack:{stack.id} is in {stack.status} state and can not be updated.")


def begin_update(
    run: Run, previous: Blueprint, principal: Caller, *, on_failure: str, retains_except_on_create: bool,
    client_request_token: str | None, stack_policy: str | None,
) -> None:  # fmt: skip
    """Start to update the stack to the blueprint of the run, as `principal`."""
    run.stack = dataclasses.replace(
        run.stack, previous=previous, updated_at=run.tx.now, on_failure=on_failure, skipped=(), kept=(),
        retains_except_on_create=retains_except_on_create, client_request_token=client_request_token,
        stack_policy=stack_policy,
    )  # fmt: skip
    run.begin(StackStatus.UPDATE_IN_PROGRESS, principal)
    run.save()


@operation("DeleteStack")
def delete_stack(
    tx: Transaction, caller: Caller, *,
    stack_name: str, retain_resources: Sequence[str] | None = None, role_arn: str | None = None,
    client_request_token: str | None = None, deletion_mode: str | None = None,
    deployment_config: Document | None = None,  # noqa: ARG001 -- a deletion here is the same in every mode.
) -> Document:  # fmt: skip
    """Begin to delete a stack; nothing happens if it does not exist, or if another stack imports its exports.

    Errors: ValidationError (protected or busy stack; RetainResources for a stack that is not DELETE_FAILED).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DeleteStack.html
    """
    stack = find_stack(tx, caller, stack_name, "DeleteStack")
    if stack is None or stack.status in (StackStatus.DELETE_COMPLETE, StackStatus.DELETE_IN_PROGRESS):
        return {}
    pass_role(tx, caller, role_arn, stack.id)
    blueprint = _with_role(stack.blueprint, role_arn)
    if stack.is_protected:
        raise validation_error(f"Stack [{stack.stack_name}] cannot be deleted while TerminationProtection is enabled")
    failed_before = stack.status is StackStatus.DELETE_FAILED
    is_forced = deletion_mode == "FORCE_DELETE_STACK"
    if (retain_resources or is_forced) and not failed_before:
        setting = "RetainResources" if retain_resources else "DeletionMode FORCE_DELETE_STACK"
        raise validation_error(
            f"Stack [{stack.stack_name}] is in {stack.status} state: {setting} is for stacks in DELETE_FAILED state."
        )
    if stack.is_under_way and stack.status is not StackStatus.CREATE_IN_PROGRESS:
        raise validation_error(f"Stack [{stack.id}] cannot be deleted while in status {stack.status}")
    run = Run(tx, stack)
    in_use = export_in_use(tx, stack.scope, stack)
    if in_use is not None:
        run.enter(stack.status, in_use)
    else:
        run.stack = dataclasses.replace(
            stack, kept=tuple(retain_resources or ()), is_forced=is_forced, client_request_token=client_request_token,
            blueprint=blueprint,
        )  # fmt: skip
        run.begin(StackStatus.DELETE_IN_PROGRESS, acting(tx, caller, blueprint, stack.id))
        for change_set in tx.resources.list(ChangeSet, stack.scope, prefix=f"{stack.uid}/"):
            tx.resources.delete(ChangeSet, stack.scope, change_set.name)
    run.save()
    return {}


def _with_role(blueprint: Blueprint, role_arn: str | None) -> Blueprint:
    return dataclasses.replace(blueprint, role_arn=role_arn or blueprint.role_arn)


@operation("CancelUpdateStack")
def cancel_update_stack(
    tx: Transaction, caller: Caller, *, stack_name: str, client_request_token: str | None = None
) -> Document:
    """Roll back an update that is under way.

    Errors: ValidationError (no such stack, or no update under way).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CancelUpdateStack.html
    """
    stack = stack_to_change(tx, caller, stack_name, "CancelUpdateStack")
    if stack.status is not StackStatus.UPDATE_IN_PROGRESS:
        raise validation_error("CancelUpdateStack cannot be called from current stack status")
    run = Run(tx, dataclasses.replace(stack, client_request_token=client_request_token))
    run.resume(StackStatus.UPDATE_ROLLBACK_IN_PROGRESS, "User Initiated")
    run.save()
    return {}


@operation("ContinueUpdateRollback")
def continue_update_rollback(
    tx: Transaction, caller: Caller, *,
    stack_name: str, role_arn: str | None = None, resources_to_skip: Sequence[str] | None = None,
    client_request_token: str | None = None, force_rollback: bool | None = None,
) -> Document:  # fmt: skip
    """Try again to roll back an update; skipped resources stay as the update left them.

    Errors: ValidationError (no such stack; its rollback has not failed; a resource to skip that has not failed).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ContinueUpdateRollback.html
    """
    stack = stack_to_change(tx, caller, stack_name, "ContinueUpdateRollback")
    pass_role(tx, caller, role_arn, stack.id)
    refuse_given(ForceRollback=force_rollback)
    if stack.status is not StackStatus.UPDATE_ROLLBACK_FAILED:
        raise validation_error(
            f"Stack:{stack.id} is in {stack.status} state and can not continue update rollback."
        )  # fmt: skip
    run = Run(tx, dataclasses.replace(stack, skipped=tuple(resources_to_skip or ())))
    failed: Mapping[str, StackResource] = {one.logical_id: one for one in run.resources() if one.before is not None}
    unknown = [name for name in resources_to_skip or () if name not in failed]
    if unknown:
        raise validation_error(f"ResourcesToSkip [{', '.join(unknown)}] are not in UPDATE_FAILED state.")
    blueprint = _with_role(stack.blueprint, role_arn)
    run.stack = dataclasses.replace(
        run.stack, client_request_token=client_request_token, blueprint=blueprint,
        acting=acting(tx, caller, blueprint, stack.id),
    )  # fmt: skip
    run.resume(StackStatus.UPDATE_ROLLBACK_IN_PROGRESS, "User Initiated")
    run.save()
    return {}


@operation("UpdateTerminationProtection")
def update_termination_protection(
    tx: Transaction, caller: Caller, *, enable_termination_protection: bool, stack_name: str
) -> Document:
    """Turn a stack's protection from deletion on or off.

    Errors: ValidationError (no such stack).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_UpdateTerminationProtection.html
    """
    stack = stack_to_change(tx, caller, stack_name, "UpdateTerminationProtection")
    tx.resources.put(stack.scope, dataclasses.replace(stack, is_protected=enable_termination_protection))
    return {"StackId": stack.id}


@operation("SetStackPolicy")
def set_stack_policy(
    tx: Transaction, caller: Caller, *,
    stack_name: str, stack_policy_body: str | None = None, stack_policy_url: str | None = None,
) -> Document:  # fmt: skip
    """Store a policy with a stack. GetStackPolicy returns it; updates ignore it.

    Errors: ValidationError (no such stack; no policy, or none that can be read).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_SetStackPolicy.html
    """
    stack = stack_to_change(tx, caller, stack_name, "SetStackPolicy")
    policy = asked_policy(tx, caller, stack_policy_body, stack_policy_url)
    if policy is None:
        raise validation_error("You must specify either StackPolicyBody or StackPolicyURL.")
    tx.resources.put(stack.scope, dataclasses.replace(stack, stack_policy=policy))
    return {}


@operation("GetStackPolicy")
def get_stack_policy(tx: Transaction, caller: Caller, *, stack_name: str) -> Document:
    """Return the stored policy of a stack.

    Errors: ValidationError (no such stack).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_GetStackPolicy.html
    """
    stack = stack_to_change(tx, caller, stack_name, "GetStackPolicy")
    return {"StackPolicyBody": stack.stack_policy}
