"""Change sets: what a blueprint would change in a stack, and whether the set may still be executed."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.cloudformation.model.requests import without_empty
from redrive.services.cloudformation.model.stack import Blueprint

NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."
NO_UPDATES = "No updates are to be performed."


class ExecutionStatus(enum.StrEnum):
    """Whether a change set can be executed, or was executed."""

    UNAVAILABLE = "UNAVAILABLE"
    AVAILABLE = "AVAILABLE"
    EXECUTE_IN_PROGRESS = "EXECUTE_IN_PROGRESS"
    EXECUTE_COMPLETE = "EXECUTE_COMPLETE"
    EXECUTE_FAILED = "EXECUTE_FAILED"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a property changes. `source` is AWS's word; `entity` is the parameter, resource or attribute.

    `is_known`: whether the new value is known before the change set is executed.
    """

    source: str = "DirectModification"
    entity: str = ""
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """A change of one property or attribute of a resource. `recreation` is Never, Conditionally or Always.

    `before` and `after` are its values as texts; None means no value.
    """

    attribute: str
    name: str = ""
    recreation: str = "Never"
    causes: tuple[Cause, ...] = (Cause(),)
    before: str | None = None
    after: str | None = None

    def documents(self, *, with_values: bool) -> list[Document]:
        """The change in AWS's form: one document for each cause.

        Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ResourceChangeDetail.html
        """
        target: Document = {"Attribute": self.attribute, "RequiresRecreation": self.recreation}
        if self.name:
            target["Name"] = self.name
        if with_values:
            target |= self._values()
        return [
            {
                "Target": target,
                "Evaluation": "Static" if cause.is_known else "Dynamic",
                "ChangeSource": cause.source,
            }
            | ({"CausingEntity": cause.entity} if cause.entity else {})
            for cause in self.causes
        ]

    def _values(self) -> Document:
        place = f"Properties/{self.name}" if self.name else self.attribute
        place = "Properties/Tags" if self.attribute == "Tags" else place
        kind = "Add" if self.before is None else "Remove" if self.after is None else "Modify"
        values: Document = {"Path": f"/{place}", "AttributeChangeType": kind}
        if self.before is not None:
            values["BeforeValue"] = self.before
        if self.after is not None:
            values["AfterValue"] = self.after
        return values


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one resource: Add, Modify, Remove or Import.

    The contexts are the resource's properties before and after the change, as JSON; None where there is no resource.
    """

    action: str
    logical_id: str
    type: str
    physical_id: str = ""
    details: tuple[PropertyChange, ...] = ()
    policy: str = "Delete"
    before_context: str | None = None
    after_context: str | None = None
    change_set_id: str | None = None

    @property
    def replacement(self) -> str:
        """Whether a modified resource is replaced: True, False, or Conditional on a value that is not known yet."""
        needs = {detail.recreation for detail in self.details}
        return "True" if "Always" in needs else "Conditional" if "Conditionally" in needs else "False"

    def document(self, *, with_values: bool) -> Document:
        """The change in AWS's form."""
        change: Document = {
            "Action": self.action,
            "LogicalResourceId": self.logical_id,
            "PhysicalResourceId": self.physical_id,
            "ResourceType": self.type,
            "Scope": sorted({detail.attribute for detail in self.details}),
            "Details": [one for detail in self.details for one in detail.documents(with_values=with_values)],
            "ChangeSetId": self.change_set_id,
        }
        if self.action == "Modify":
            change["Replacement"] = self.replacement
        policy = self._policy_action()
        if policy:
            change["PolicyAction"] = policy
        if with_values:
            change |= {"BeforeContext": self.before_context, "AfterContext": self.after_context}
        return {"Type": "Resource", "ResourceChange": without_empty(change)}

    def _policy_action(self) -> str:
        """What happens to the removed or replaced resource, for example `ReplaceAndDelete`; empty if nothing."""
        fate = "Delete" if self.policy == "Delete" else "Retain"
        if self.action == "Remove":
            return fate
        return f"ReplaceAnd{fate}" if self.action == "Modify" and self.replacement == "True" else ""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A change set of a stack.

    It is computed in the request, so `status` is CREATE_COMPLETE or FAILED from the start. `imports_existing`: named
    resources that exist already are imported.
    """

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
    imports_existing: bool = False

    @property
    def name(self) -> str:
        """The set's name until the execution. Afterwards the name is free, and only the id finds the set."""
        return f"{self.stack}/{self.id.rpartition('/')[2]}" if self.is_over else f"{self.stack}/{self.change_set_name}"

    @property
    def is_over(self) -> bool:
        """Whether the set was executed, successfully or not."""
        return self.execution_status in (ExecutionStatus.EXECUTE_COMPLETE, ExecutionStatus.EXECUTE_FAILED)

    def summary(self) -> Document:
        """The change set as lists show it."""
        return without_empty(
            {
                "StackId": self.stack_id, "StackName": self.stack_name, "ChangeSetId": self.id,
                "ChangeSetName": self.change_set_name, "ExecutionStatus": self.execution_status, "Status": self.status,
                "StatusReason": self.status_reason, "CreationTime": self.created_at, "Description": self.description,
                "IncludeNestedStacks": self.includes_nested,
                "ImportExistingResources": self.imports_existing or None,
            }
        )  # fmt: skip

    def page(self, changes: Sequence[Change], *, with_values: bool) -> Document:
        """The description of the change set, with some of its changes."""
        tags = [{"Key": key, "Value": value} for key, value in self.blueprint.tags.items()]
        always: Document = {
            "Changes": [change.document(with_values=with_values) for change in changes],
            "Capabilities": list(self.blueprint.capabilities), "IncludeNestedStacks": self.includes_nested,
            "NotificationARNs": list(self.blueprint.notification_arns),
            "RollbackConfiguration": self.blueprint.rollback_configuration or {},
        }  # fmt: skip
        sometimes = {
            "OnStackFailure": self.on_stack_failure, "Tags": tags or None,
            "DeploymentConfig": self.blueprint.deployment_config,
        }  # fmt: skip
        return self.summary() | always | without_empty(sometimes)


def change_set_arn(scope: Scope, name: str, uid: str) -> str:
    """Return the id of a change set."""
    return f"arn:aws:cloudformation:{scope.region}:{scope.account}:changeSet/{name}/{uid}"
