"""The operations that describe stacks, their resources and their events."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import Wait, operation
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.lookups import looked_up
from redrive.services.cloudformation.model.requests import page, without_empty
from redrive.services.cloudformation.model.stack import (
    Stack,
    StackEvent,
    StackOutput,
    StackResource,
    StackStatus,
    stack_arn,
)
from redrive.services.cloudformation.operations.stacks import existing_stack
from redrive.services.cloudformation.templates import shown_parameters, template_of_blueprint, validation_error
from redrive.store.api import Transaction


@operation("DescribeStacks")
def describe_stacks(
    tx: Transaction, caller: Caller, *, stack_name: str | None = None, next_token: str | None = None
) -> Document | Wait:
    """Describe one stack, or all that are not deleted, newest first. A stack's id also finds a deleted stack.

    If an operation is under way, the answer waits up to ten seconds for the final status. Clients poll every 5 or 30
    seconds, so without this wait they would learn of a stack that took milliseconds only at the second poll.

    Errors: ValidationError (no such stack).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
    """
    if stack_name is not None:
        stack = existing_stack(tx, caller, stack_name, "DescribeStacks")
        description = {"Stacks": [_described(tx, stack)]}
        if stack.is_under_way:
            return Wait(description, (stack.topic,), tx.now + limits.DESCRIPTION_HELD_MS, is_under_way=True)
        return description
    tx.services.authorize(tx, caller, "cloudformation:DescribeStacks", stack_arn(caller.scope, "*", "*"))
    live = [one for one in _newest_first(tx, caller) if one.status is not StackStatus.DELETE_COMPLETE]
    shown, more = page(live, lambda stack: stack.uid, next_token)
    return {"Stacks": [_described(tx, stack) for stack in shown], **more}


@operation("ListStacks")
def list_stacks(
    tx: Transaction, caller: Caller, *, next_token: str | None = None, stack_status_filter: Sequence[str] | None = None
) -> Document:
    """List summaries of the stacks with these statuses, newest first; deleted stacks are listed for 90 days.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListStacks.html
    """
    tx.services.authorize(tx, caller, "cloudformation:ListStacks", stack_arn(caller.scope, "*", "*"))
    found = [
        stack
        for stack in _newest_first(tx, caller)
        if (not stack_status_filter or stack.status in stack_status_filter)
        and not stack.is_deleted_since(tx.now - limits.DELETED_KEPT_MS)
    ]
    shown, more = page(found, lambda stack: stack.uid, next_token)
    return {"StackSummaries": [_summary(stack) for stack in shown], **more}


def _newest_first(tx: Transaction, caller: Caller) -> list[Stack]:
    return sorted(tx.resources.list(Stack, caller.scope), key=lambda stack: (-stack.created_at, stack.uid))


def _summary(stack: Stack) -> Document:
    return without_empty(
        {
            "StackId": stack.id, "StackName": stack.stack_name, "CreationTime": stack.created_at,
            "LastUpdatedTime": stack.updated_at, "DeletionTime": stack.deleted_at, "StackStatus": stack.status,
            "StackStatusReason": stack.status_reason, "TemplateDescription": _description(stack),
            "DriftInformation": {"StackDriftStatus": "NOT_CHECKED"},
        }
    )  # fmt: skip


def _description(stack: Stack) -> str:
    return template_of_blueprint(stack.blueprint).description if stack.blueprint.template_body else ""


def _described(tx: Transaction, stack: Stack) -> Document:
    blueprint = stack.blueprint
    template = template_of_blueprint(blueprint) if blueprint.template_body else None
    values = looked_up(tx, stack.scope, template, blueprint.parameters)[0] if template else {}
    summary = _summary(stack)
    summary.pop("TemplateDescription", None)
    is_gone = stack.status is StackStatus.DELETE_COMPLETE
    outputs = [] if is_gone else [_output(output) for output in stack.outputs]
    always = {
        "RollbackConfiguration": blueprint.rollback_configuration or {},
        "DisableRollback": stack.on_failure == "DO_NOTHING", "NotificationARNs": list(blueprint.notification_arns),
        "Tags": [{"Key": key, "Value": value} for key, value in blueprint.tags.items()],
    }  # fmt: skip
    sometimes = {
        "Description": _description(stack), "ChangeSetId": None if stack.deleted_at else stack.change_set_id,
        "Parameters": (shown_parameters(template, blueprint.parameters, values) if template else None) or None,
        "DeploymentConfig": blueprint.deployment_config, "TimeoutInMinutes": stack.timeout_minutes,
        "Capabilities": list(blueprint.capabilities) or None, "Outputs": outputs or None,
        "RoleARN": blueprint.role_arn, "ParentId": stack.parent_id,
        "RootId": stack.root_id, "EnableTerminationProtection": None if is_gone else stack.is_protected,
    }  # fmt: skip
    return summary | always | without_empty(sometimes)


def _output(output: StackOutput) -> Document:
    return {"OutputKey": output.key, "OutputValue": output.value} | without_empty(
        {"Description": output.description, "ExportName": output.export_name}
    )


@operation("DescribeStackEvents")
def describe_stack_events(
    tx: Transaction, caller: Caller, *, stack_name: str, next_token: str | None = None
) -> Document:
    """List the events of a stack and its resources, newest first.

    Errors: ValidationError (no such stack).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackEvents.html
    """
    stack = existing_stack(tx, caller, stack_name, "DescribeStackEvents")
    events = tx.resources.list(StackEvent, stack.scope, prefix=f"{stack.uid}/")[::-1]
    shown, more = page(events, lambda event: str(event.number), next_token)
    return {"StackEvents": [_event(stack, event) for event in shown], **more}


def _event(stack: Stack, event: StackEvent) -> Document:
    return without_empty(
        {
            "StackId": stack.id, "EventId": event.event_id, "StackName": stack.stack_name,
            "OperationId": event.operation, "LogicalResourceId": event.logical_id,
            "PhysicalResourceId": event.physical_id, "ResourceType": event.type, "Timestamp": event.at,
            "ResourceStatus": event.status, "ResourceStatusReason": event.reason,
            "ResourceProperties": event.properties, "ClientRequestToken": event.client_request_token,
        }
    )  # fmt: skip


@operation("DescribeStackResource")
def describe_stack_resource(tx: Transaction, caller: Caller, *, stack_name: str, logical_resource_id: str) -> Document:
    """Describe one resource of a stack, with its metadata.

    Errors: ValidationError (no such stack or resource).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResource.html
    """
    stack = existing_stack(tx, caller, stack_name, "DescribeStackResource")
    resource = tx.resources.get(StackResource, stack.scope, f"{stack.uid}/{logical_resource_id}")
    if resource is None:
        raise validation_error(f"Resource {logical_resource_id} does not exist for stack {stack.stack_name}")
    metadata = resource.made.metadata if resource.made is not None else None
    detail = _resource(stack, resource) | {"LastUpdatedTimestamp": resource.updated_at, "Metadata": metadata}
    detail.pop("Timestamp")
    return {"StackResourceDetail": without_empty(detail)}


@operation("DescribeStackResources")
def describe_stack_resources(
    tx: Transaction, caller: Caller, *,
    stack_name: str | None = None, logical_resource_id: str | None = None, physical_resource_id: str | None = None,
) -> Document:  # fmt: skip
    """Describe the resources of a stack, which the caller names directly or by the physical id of a resource.

    Errors: ValidationError (no such stack; both names or neither).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html
    """
    if (stack_name is None) == (physical_resource_id is None):
        raise validation_error("You must specify either StackName or PhysicalResourceId, but not both.")
    if physical_resource_id is not None:
        stack_name = _stack_of(tx, caller, physical_resource_id)
    stack = existing_stack(tx, caller, stack_name, "DescribeStackResources")
    found = [one for one in _resources(tx, stack) if logical_resource_id in (None, one.logical_id)]
    return {"StackResources": [_resource(stack, one) for one in found]}


def _stack_of(tx: Transaction, caller: Caller, physical_id: str) -> str:
    """Return the id of the stack whose resource has this physical id. Errors: ValidationError."""
    uids = {one.stack for one in tx.resources.list(StackResource, caller.scope) if one.physical_id == physical_id}
    for stack in tx.resources.list(Stack, caller.scope):
        if stack.uid in uids:
            return stack.id
    raise validation_error(f"Stack for {physical_id} does not exist")


@operation("ListStackResources")
def list_stack_resources(
    tx: Transaction, caller: Caller, *, stack_name: str, next_token: str | None = None
) -> Document:
    """List summaries of a stack's resources; for a deleted stack, of its former resources.

    Errors: ValidationError (no such stack).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListStackResources.html
    """
    stack = existing_stack(tx, caller, stack_name, "ListStackResources")
    shown, more = page(_resources(tx, stack), lambda resource: resource.logical_id, next_token)
    left_out = ("StackId", "StackName", "Timestamp")
    return {
        "StackResourceSummaries": [
            {key: value for key, value in _resource(stack, one).items() if key not in left_out}
            | {"LastUpdatedTimestamp": one.updated_at}
            for one in shown
        ],
        **more,
    }


def _resources(tx: Transaction, stack: Stack) -> list[StackResource]:
    found = tx.resources.list(StackResource, stack.scope, prefix=f"{stack.uid}/")
    return [one for one in found if not one.leftover]


def _resource(stack: Stack, resource: StackResource) -> Document:
    return without_empty(
        {
            "StackName": stack.stack_name, "StackId": stack.id, "LogicalResourceId": resource.logical_id,
            "PhysicalResourceId": resource.physical_id, "ResourceType": resource.type,
            "Timestamp": resource.updated_at, "ResourceStatus": resource.status,
            "ResourceStatusReason": resource.status_reason,
            "DriftInformation": {"StackResourceDriftStatus": "NOT_CHECKED"},
        }
    )  # fmt: skip
