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
"""The group that every account has in every region, and that cannot be deleted."""

SOURCE = "scheduler"
"""What `Delivery.source` says of an occurrence on its way."""


class ScheduleState(enum.Enum):
    """Whether a schedule fires."""

    ENABLED = "ENABLED"
    DISABLED = "DISABLED"


class GroupState(enum.Enum):
    """Whether a group is there, or going with all its schedules."""

    ACTIVE = "ACTIVE"
    DELETING = "DELETING"


class Completion(enum.Enum):
    """What becomes of a schedule after its last occurrence (ActionAfterCompletion)."""

    NONE = "NONE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user chose for a schedule; an update replaces all of it.

    `start_at` is inclusive, `end_at` exclusive. `window_minutes` is 0 where the flexible window is off. `target` is
    AWS's own document.
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
        """The expression, read. Errors: InvalidExpression."""
        return parse_expression(self.expression)

    @property
    def window_ms(self) -> int:
        """How long after the scheduled instant an invocation may come."""
        return self.window_minutes * MINUTE_MS


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule. `anchor_at` is where a rate without a StartDate counts from.

    `next_at` is the scheduled instant of the next occurrence; None if none is left, or the schedule is disabled.
    Up to `passed_at`, inclusive, all occurrences were fired or left out: no change of the schedule, and no clock that
    is behind the one by which they were, has any of them fired again. Those of the present settings begin after
    `since_at`. `salt` is drawn when the schedule is made, and tells it from others that had its name before.

    The last two are not in documents that are older than they are.
    """

    KIND: ClassVar[str] = "scheduler.schedule"

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
        """Up to here, inclusive, nothing is left to be fired."""
        since_at = self.since_at
        if since_at is None:
            since_at = self.modified_at if self.next_at is None else self.next_at - 1
        return since_at if self.passed_at is None else max(since_at, self.passed_at)

    @property
    def name(self) -> str:
        """Unique in its scope: `group/schedule`, so that a group's schedules share a prefix."""
        return full_name(self.group_name, self.schedule_name)

    def arn(self, scope: Scope) -> str:
        """The schedule's ARN."""
        return schedule_arn(scope, self.group_name, self.schedule_name)

    @property
    def is_completed(self) -> bool:
        """Whether it ended, and goes by itself now: one-time, or with an EndDate; ActionAfterCompletion DELETE.

        Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-delete.html
        """
        settings = self.settings
        if settings.completion is not Completion.DELETE or settings.state is not ScheduleState.ENABLED:
            return False
        return self.next_at is None and (settings.end_at is not None or isinstance(settings.parsed, At))


@dataclass(frozen=True, slots=True)
class ScheduleGroup:
    """A group of schedules, the only thing here that carries tags."""

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
    """The name under which a schedule is stored."""
    return f"{group_name}/{schedule_name}"


def schedule_arn(scope: Scope, group_name: str, schedule_name: str) -> str:
    """The ARN of a schedule."""
    return f"arn:aws:scheduler:{scope.region}:{scope.account}:schedule/{group_name}/{schedule_name}"


def group_arn(scope: Scope, name: str) -> str:
    """The ARN of a schedule group; what the trust policy of an execution role sees as `aws:SourceArn`."""
    return f"arn:aws:scheduler:{scope.region}:{scope.account}:schedule-group/{name}"


def name_of_arn(arn: str) -> str:
    """`group/schedule` of a schedule's ARN, or the name in a group's."""
    return arn.split("/", 1)[1]


def group_of_arn(arn: str) -> str:
    """The name of the group in the ARN of a schedule, or of a group."""
    return arn.split("/", 2)[1]
