"""Stacks, their resources and their events: stored form and names. No transaction, no clock."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Caller, Scope

STACK_TYPE = "AWS::CloudFormation::Stack"


class StackStatus(enum.StrEnum):
    """The status of a stack.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
    """

    REVIEW_IN_PROGRESS = "REVIEW_IN_PROGRESS"
    CREATE_IN_PROGRESS = "CREATE_IN_PROGRESS"
    CREATE_FAILED = "CREATE_FAILED"
    CREATE_COMPLETE = "CREATE_COMPLETE"
    ROLLBACK_IN_PROGRESS = "ROLLBACK_IN_PROGRESS"
    ROLLBACK_FAILED = "ROLLBACK_FAILED"
    ROLLBACK_COMPLETE = "ROLLBACK_COMPLETE"
    DELETE_IN_PROGRESS = "DELETE_IN_PROGRESS"
    DELETE_FAILED = "DELETE_FAILED"
    DELETE_COMPLETE = "DELETE_COMPLETE"
    UPDATE_IN_PROGRESS = "UPDATE_IN_PROGRESS"
    UPDATE_COMPLETE_CLEANUP_IN_PROGRESS = "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"
    UPDATE_COMPLETE = "UPDATE_COMPLETE"
    UPDATE_FAILED = "UPDATE_FAILED"
    UPDATE_ROLLBACK_IN_PROGRESS = "UPDATE_ROLLBACK_IN_PROGRESS"
    UPDATE_ROLLBACK_FAILED = "UPDATE_ROLLBACK_FAILED"
    UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS = "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS"
    UPDATE_ROLLBACK_COMPLETE = "UPDATE_ROLLBACK_COMPLETE"


UPDATABLE = frozenset(
    {
        StackStatus.CREATE_COMPLETE,
        StackStatus.CREATE_FAILED,
        StackStatus.UPDATE_COMPLETE,
        StackStatus.UPDATE_FAILED,
        StackStatus.UPDATE_ROLLBACK_COMPLETE,
    }
)
"""The statuses from which a stack can be updated."""


class ResourceStatus(enum.StrEnum):
    """The status of a resource of a stack."""

    CREATE_IN_PROGRESS = "CREATE_IN_PROGRESS"
    CREATE_FAILED = "CREATE_FAILED"
    CREATE_COMPLETE = "CREATE_COMPLETE"
    UPDATE_IN_PROGRESS = "UPDATE_IN_PROGRESS"
    UPDATE_FAILED = "UPDATE_FAILED"
    UPDATE_COMPLETE = "UPDATE_COMPLETE"
    DELETE_IN_PROGRESS = "DELETE_IN_PROGRESS"
    DELETE_FAILED = "DELETE_FAILED"
    DELETE_COMPLETE = "DELETE_COMPLETE"
    DELETE_SKIPPED = "DELETE_SKIPPED"
    IMPORT_IN_PROGRESS = "IMPORT_IN_PROGRESS"
    IMPORT_FAILED = "IMPORT_FAILED"
    IMPORT_COMPLETE = "IMPORT_COMPLETE"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """Everything from which a stack is created. `parameters` are the given ones, without the template's defaults.

    `processed` is the template after the transforms carried out so far; None if it has no transforms.
    `transform_failure` says why a transform failed. `awaits_macros`: functions of macros still have to answer.
    `imported` are the logical ids of resources that exist already and are imported by their names.
    """

    template_body: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    notification_arns: tuple[str, ...] = ()
    role_arn: str | None = None
    rollback_configuration: Document | None = None
    deployment_config: Document | None = None
    processed: str | None = None
    transform_failure: str = ""
    awaits_macros: bool = False
    imported: tuple[str, ...] = ()

    @property
    def disables_rollback(self) -> bool:
        """Whether the deployment's configuration says that failed resources are left as they are."""
        return bool((self.deployment_config or {}).get("DisableRollback"))

    @property
    def body(self) -> str:
        """The template that is deployed."""
        return self.template_body if self.processed is None else self.processed

    @property
    def is_whole(self) -> bool:
        """Whether all transforms have been carried out."""
        return not self.transform_failure and not self.awaits_macros


@dataclass(frozen=True, slots=True)
class StackOutput:
    """An output with its value; `export_name` is None if the output is not exported."""

    key: str
    value: str
    description: str = ""
    export_name: str | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack. `operation` names the operation under way; `previous` is the blueprint to return to if it fails.

    `acting` is who makes what the operation makes; None is the account itself. `imports` are the exports it uses,
    `failed` the resources at which the running operation failed, `failure` its
    reason, `kept` those that its deletion leaves alone, `skipped`
    those that its rollback leaves alone, `reverting` those that it is taking back. `deleted_at` is when its resources
    were gone, be it because its creation was rolled back.
    """

    KIND: ClassVar[str] = "cloudformation.stack"

    stack_name: str
    uid: str
    account: str
    region: str
    host: str
    status: StackStatus
    created_at: Instant
    blueprint: Blueprint
    operation: str = ""
    acting: Caller | None = None
    status_reason: str = ""
    updated_at: Instant | None = None
    deleted_at: Instant | None = None
    previous: Blueprint | None = None
    on_failure: str = "ROLLBACK"
    retains_except_on_create: bool = False
    timeout_minutes: int | None = None
    is_protected: bool = False
    is_forced: bool = False
    stack_policy: str | None = None
    client_request_token: str | None = None
    change_set_id: str | None = None
    outputs: tuple[StackOutput, ...] = ()
    imports: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    parent_id: str | None = None
    root_id: str | None = None
    failure: str = ""
    reverting: tuple[str, ...] = ()
    events: int = 0
    last_event_at: Instant = 0

    @property
    def name(self) -> str:
        """The stack's name; of a deleted stack, a name that only its id finds."""
        return f"{self.stack_name}/{self.uid}" if self.status is StackStatus.DELETE_COMPLETE else self.stack_name

    @property
    def scope(self) -> Scope:
        return Scope(self.account, self.region)

    @property
    def is_under_way(self) -> bool:
        """Whether the worker is processing the stack. A stack in review waits until its change set is executed."""
        return self.status.endswith("_IN_PROGRESS") and self.status is not StackStatus.REVIEW_IN_PROGRESS

    def is_deleted_since(self, instant: Instant) -> bool:
        """Whether the stack itself was gone at an instant: one whose creation was rolled back has an end as well."""
        is_gone = self.status is StackStatus.DELETE_COMPLETE
        return is_gone and self.deleted_at is not None and self.deleted_at <= instant

    @property
    def topic(self) -> str:
        """The topic that is notified when the stack reaches a final status."""
        return f"stack:{self.uid}"

    @property
    def id(self) -> str:
        """The stack's ARN."""
        return stack_arn(self.scope, self.stack_name, self.uid)


RETAINED = frozenset({"Retain", "RetainExceptOnCreate"})
"""The policies that keep a resource which its stack no longer has."""


@dataclass(frozen=True, slots=True)
class Made:
    """A resource as last created or changed: its id and its properties."""

    type: str
    physical_id: str
    properties: Document
    attributes: Document
    depends_on: tuple[str, ...] = ()
    deletion_policy: str = "Delete"
    update_replace_policy: str = "Delete"
    metadata: str | None = None


@dataclass(frozen=True, slots=True)
class StackResource:
    """One resource of a stack.

    `made` is None if nothing exists. `before` is the state before the present update changed the resource. `operation`
    is the last operation that processed it. `leftover` numbers the leftovers of replacements; 0 is the resource itself.
    `is_imported`: it existed before the stack had it.
    """

    KIND: ClassVar[str] = "cloudformation.resource"

    stack: str
    logical_id: str
    type: str
    status: ResourceStatus
    updated_at: Instant
    operation: str
    status_reason: str = ""
    made: Made | None = None
    before: Made | None = None
    is_new: bool = False
    is_imported: bool = False
    leftover: int = 0

    @property
    def name(self) -> str:
        return f"{self.stack}/{self.logical_id}" + (f"~{self.leftover}" if self.leftover else "")

    @property
    def physical_id(self) -> str:
        return self.made.physical_id if self.made is not None else ""


@dataclass(frozen=True, slots=True)
class StackEvent:
    """An event of a stack or of one of its resources. `number` counts the stack's events from 1."""

    KIND: ClassVar[str] = "cloudformation.event"

    stack: str
    number: int
    event_id: str
    logical_id: str
    physical_id: str
    type: str
    status: str
    at: Instant
    operation: str
    reason: str = ""
    properties: str | None = None
    client_request_token: str | None = None

    @property
    def name(self) -> str:
        return f"{self.stack}/{self.number:09}"


def stack_arn(scope: Scope, stack_name: str, uid: str) -> str:
    """Return the id of a stack."""
    return f"arn:aws:cloudformation:{scope.region}:{scope.account}:stack/{stack_name}/{uid}"


def parse_stack_id(text: str) -> tuple[str, str | None]:
    """Return (name, uid) from a stack's name or ARN; a plain name has no uid."""
    if not text.startswith("arn:"):
        return text, None
    _, _, rest = text.partition(":stack/")
    name, _, uid = rest.partition("/")
    return name, uid
