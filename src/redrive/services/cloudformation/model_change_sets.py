"""Change sets: what a blueprint would change about a stack, and whether it may still be executed."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.cloudformation.model import Blueprint
from redrive.services.cloudformation.model_requests import without_empty

NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."
NO_UPDATES = "No updates are to be performed."


class ExecutionStatus(enum.StrEnum):
    """Whether a change set can be executed, or was."""

    UNAVAILABLE = "UNAVAILABLE"
    AVAILABLE = "AVAILABLE"
    EXECUTE_IN_PROGRESS = "EXECUTE_IN_PROGRESS"
    EXECUTE_COMPLETE = "EXECUTE_COMPLETE"
    EXECUTE_FAILED = "EXECUTE_FAILED"


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """One thing about a resource that changes. `recreation` is Never, Conditionally or Always."""

    attribute: str
    name: str = ""
    recreation: str = "Never"
    is_known: bool = True

    def document(self) -> Document:
        """As answers show it."""
        target: Document = {"Attribute": self.attribute, "RequiresRecreation": self.recreation}
        if self.name:
            target["Name"] = self.name
        return {
            "Target": target,
            "Evaluation": "Static" if self.is_known else "Dynamic",
            "ChangeSource": "DirectModification" if self.is_known else "ResourceAttribute",
        }


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one resource: Add, Modify or Remove."""

    action: str
    logical_id: str
    type: str
    physical_id: str = ""
    details: tuple[PropertyChange, ...] = ()
    policy: str = "Delete"

    @property
    def replacement(self) -> str:
        """Whether a modified resource is made anew: True, False, or Conditional on a value nobody knows yet."""
        needs = {detail.recreation for detail in self.details}
        return "True" if "Always" in needs else "Conditional" if "Conditionally" in needs else "False"

    def document(self) -> Document:
        """As answers show it."""
        change: Document = {
            "Action": self.action,
            "LogicalResourceId": self.logical_id,
            "PhysicalResourceId": self.physical_id,
            "ResourceType": self.type,
        }
        if self.action == "Modify":
            change |= {
                "Replacement": self.replacement,
                "Scope": sorted({detail.attribute for detail in self.details}),
                "Details": [detail.document() for detail in self.details],
            }
        if self.action == "Remove":
            change["PolicyAction"] = "Delete" if self.policy == "Delete" else "Retain"
        return {"Type": "Resource", "ResourceChange": without_empty(change)}


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A change set of a stack. `status` is CREATE_COMPLETE or FAILED: it is computed when it is asked for."""

    KIND: ClassVar[str] = "cloudformation.change_set"

    stack: str
    stack_name: str
    stack_id: str
    change_set_name: str
    id: str
    creates_stack: bool
    blueprint: Blueprint
    created_at: Instant
    status: str
    execution_status: ExecutionStatus
    changes: tuple[Change, ...] = ()
    status_reason: str = ""
    description: str = ""
    on_stack_failure: str | None = None
    includes_nested: bool = False
    client_token: str | None = None

    @property
    def name(self) -> str:
        return f"{self.stack}/{self.change_set_name}"

    def summary(self) -> Document:
        """As lists show it."""
        return without_empty(
            {
                "StackId": self.stack_id, "StackName": self.stack_name, "ChangeSetId": self.id,
                "ChangeSetName": self.change_set_name, "ExecutionStatus": self.execution_status, "Status": self.status,
                "StatusReason": self.status_reason, "CreationTime": self.created_at, "Description": self.description,
                "IncludeNestedStacks": self.includes_nested,
            }
        )  # fmt: skip

    def page(self, changes: Sequence[Change]) -> Document:
        """As it is described, with some of its changes."""
        return self.summary() | without_empty(
            {
                "Changes": [change.document() for change in changes], "OnStackFailure": self.on_stack_failure,
                "Capabilities": list(self.blueprint.capabilities),
                "NotificationARNs": list(self.blueprint.notification_arns),
                "RollbackConfiguration": self.blueprint.rollback_configuration,
                "Tags": [{"Key": key, "Value": value} for key, value in self.blueprint.tags.items()],
            }
        )  # fmt: skip


def change_set_arn(scope: Scope, name: str, uid: str) -> str:
    """The id of a change set."""
    return f"arn:aws:cloudformation:{scope.region}:{scope.account}:changeSet/{name}/{uid}"
