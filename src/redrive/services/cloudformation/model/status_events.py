"""What EventBridge is told of stacks: each status of a stack, and each status of its resources.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/events-detail-reference.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.own_events import OwnEvent
from redrive.services.cloudformation.model.stack import Stack, StackEvent

SOURCE = "aws.cloudformation"
STACK_CHANGE = "CloudFormation Stack Status Change"
RESOURCE_CHANGE = "CloudFormation Resource Status Change"


def status_change(stack: Stack, event: StackEvent) -> OwnEvent:
    """The event for EventBridge that says the same as an event of a stack."""
    status: Document = {"status": event.status, "status-reason": event.reason}
    token = event.client_request_token or ""
    if event.physical_id == stack.id:
        detail: Document = {"stack-id": stack.id, "status-details": status, "client-request-token": token}
        return OwnEvent(SOURCE, STACK_CHANGE, detail, (stack.id,))
    detail = {
        "stack-id": stack.id, "logical-resource-id": event.logical_id, "physical-resource-id": event.physical_id,
        "status-details": status, "resource-type": event.type, "client-request-token": token,
    }  # fmt: skip
    return OwnEvent(SOURCE, RESOURCE_CHANGE, detail, (stack.id,))
