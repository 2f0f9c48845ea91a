"""Schedules and schedule groups, as they are stored."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.languages.schedule import At, Expression, parse_expression

DEFAULT_GROUP = "default"
"""The group that each account has in each region; nobody can delete it."""

SOURCE = "scheduler"
"""The `Delivery.source` of an occurrence's delivery."""


class ScheduleState(enum.Enum):
    """Whether a schedule fires."""

    ENABLED = "ENABLED"
    DISABLED = "DISABLED"


class GroupState(enum.Enum):
    """Whether a group is active, or is being deleted with all its schedules."""

    ACTIVE = "ACTIVE"
    DELETING = "DELETING"


class Completion(enum.Enum):
    """What happens to a schedule after its last occurrence (ActionAfterCompletion)."""

    NONE = "NONE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that a user chose for a schedule; an update replaces all of them.

    `start_at` is inclusive, `end_at` exclusive. `window_minutes` is 0 if the flexible window is off. `target` is AWS's
    own document.
    """

    expression: str
    target: Document
    timezone: str = "UTC"
    start_at: Instant | None = None
    end_at: Instant | None = None
    description: str | None = None
    state: ScheduleState = ScheduleState.ENABLED
    window_minutes: int = 0
    completion: Completion = Completion.NONE
    kms_key_arn: str | None = None

    @property
    def parsed(self) -> Expression:
        """The parsed expression. Errors: InvalidExpression."""
        return parse_expression(self.expression)

    @property
    def window_ms(self) -> int:
        """How many milliseconds after the scheduled instant an invocation may come."""
        return self.window_minutes * MINUTE_MS


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule. A rate without a StartDate counts from `anchor_at`.

    `next_at` is the scheduled instant of the next occurrence; None if there is none, or the schedule is disabled. All
    occurrences up to and including `passed_at` were fired or left out. They never fire again, neither after a change of
    the schedule nor if a node's clock is behind. The occurrences of the present settings begin after `since_at`. `salt`
    is drawn when the schedule is created; it distinguishes the schedule from earlier ones of the same name.

    Documents written by older releases lack the last two fields.
    """

    KIND: ClassVar[str] = "scheduler.schedule"
    IS_STATE: ClassVar[bool] = True

    group_name: str
    schedule_name: str
    settings: Settings
    created_at: Instant
    modified_at: Instant
    anchor_at: Instant
    next_at: Instant | None = None
    passed_at: Instant | None = None
    since_at: Instant | None = None
    salt: str = ""

    @property
    def covered_to(self) -> Instant:
        """The instant up to which, inclusive, no occurrence is left to fire."""
        since_at = self.since_at
        if since_at is None:
            since_at = self.modified_at if self.next_at is None else self.next_at - 1
        return since_at if self.passed_at is None else max(since_at, self.passed_at)

    @property
    def name(self) -> str:
        """`group/schedule`, unique in its scope. The names of a group's schedules share a prefix."""
        return full_name(self.group_name, self.schedule_name)

    def arn(self, scope: Scope) -> str:
        """The schedule's ARN."""
        return schedule_arn(scope, self.group_name, self.schedule_name)

    @property
    def is_completed(self) -> bool:
        """Whether the schedule has ended and must be deleted: one-time or with EndDate, ActionAfterCompletion DELETE.

        Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-delete.html
        """
        settings = self.settings
        if settings.completion is not Completion.DELETE or settings.state is not ScheduleState.ENABLED:
            return False
        return self.next_at is None and (settings.end_at is not None or isinstance(settings.parsed, At))


@dataclass(frozen=True, slots=True)
class ScheduleGroup:
    """A group of schedules. In EventBridge Scheduler only groups have tags."""

    KIND: ClassVar[str] = "scheduler.group"

    name: str
    created_at: Instant
    modified_at: Instant
    state: GroupState = GroupState.ACTIVE
    tags: Mapping[str, str] = field(default_factory=dict)

    def arn(self, scope: Scope) -> str:
        """The group's ARN."""
        return group_arn(scope, self.name)


def full_name(group_name: str, schedule_name: str) -> str:
    """Return the name under which a schedule is stored."""
    return f"{group_name}/{schedule_name}"


def schedule_arn(scope: Scope, group_name: str, schedule_name: str) -> str:
    """The ARN of a schedule."""
    return f"arn:aws:scheduler:{scope.region}:{scope.account}:schedule/{group_name}/{schedule_name}"


def group_arn(scope: Scope, name: str) -> str:
    """Return the ARN of a schedule group. Trust policies of execution roles see it as `aws:SourceArn`."""
    return f"arn:aws:scheduler:{scope.region}:{scope.account}:schedule-group/{name}"


def name_of_arn(arn: str) -> str:
    """Return `group/schedule` from a schedule's ARN, or the group's name from a group's ARN."""
    return arn.split("/", 1)[1]


def group_of_arn(arn: str) -> str:
    """Return the group's name from the ARN of a schedule or of a group."""
    return arn.split("/", 2)[1]
