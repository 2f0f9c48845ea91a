"""Alarms, as they are stored: what a user has configured, and the state that the alarm is in."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope

SOURCE = "cloudwatch"
"""The `Delivery.source` of what alarms tell."""
INITIAL_REASON = "Unchecked: Initial alarm creation"


class AlarmType(enum.Enum):
    """What an alarm looks at: a metric, or other alarms."""

    METRIC = "MetricAlarm"
    COMPOSITE = "CompositeAlarm"


class StateValue(enum.Enum):
    """The states of an alarm."""

    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


ACTIONS = {
    StateValue.OK: "OKActions",
    StateValue.ALARM: "AlarmActions",
    StateValue.INSUFFICIENT_DATA: "InsufficientDataActions",
}
"""The setting that lists the actions of each state."""


class Suppressor(enum.Enum):
    """What keeps a composite alarm from acting."""

    WAIT_PERIOD = "WaitPeriod"
    EXTENSION_PERIOD = "ExtensionPeriod"
    ALARM = "Alarm"


@dataclass(frozen=True, slots=True)
class Suppression:
    """Why a composite alarm does not act now. A period ends at `until`; `is_pending`: actions wait for the end."""

    by: Suppressor
    until: Instant | None = None
    is_pending: bool = False

    @property
    def reason(self) -> str:
        """The reason in AWS's words."""
        return f"Actions suppressed by {self.by.value}"


@dataclass(frozen=True, slots=True)
class AlarmState:
    """The state of an alarm. `reason_data` is a JSON text. `transitioned_at`: when `value` changed last."""

    value: StateValue
    reason: str
    updated_at: Instant
    transitioned_at: Instant
    reason_data: str | None = None


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm. `settings` has the members of PutMetricAlarm or PutCompositeAlarm, except its name and its tags.

    `metric_id` is the id of the metric in events, where the user has given none. The alarm is not evaluated before
    `warm_until`. `muted_in` is the state that actions told last, where a mute rule has kept later ones back.
    """

    KIND: ClassVar[str] = "cloudwatch.alarm"

    name: str
    type: AlarmType
    settings: Document
    state: AlarmState
    configured_at: Instant
    metric_id: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    warm_until: Instant | None = None
    suppression: Suppression | None = None
    muted_in: StateValue | None = None

    def arn(self, scope: Scope) -> str:
        """The alarm's ARN."""
        return alarm_arn(scope, self.name)

    @property
    def is_composite(self) -> bool:
        """Whether the alarm looks at other alarms."""
        return self.type is AlarmType.COMPOSITE

    @property
    def actions(self) -> list[str]:
        """The ARNs of the actions for the state that the alarm is in."""
        return list(self.settings.get(ACTIONS[self.state.value]) or ())

    @property
    def is_enabled(self) -> bool:
        """Whether the alarm acts at all."""
        return bool(self.settings.get("ActionsEnabled", True))


@dataclass(frozen=True, slots=True)
class Dependents:
    """The composite alarms whose rule names an alarm, or whose actions that alarm suppresses. `name` is the alarm's."""

    KIND: ClassVar[str] = "cloudwatch.alarm_dependents"

    name: str
    composites: tuple[str, ...] = ()


def alarm_arn(scope: Scope, name: str) -> str:
    """The ARN of an alarm."""
    return f"arn:aws:cloudwatch:{scope.region}:{scope.account}:alarm:{name}"


def name_in(reference: str, scope: Scope) -> str | None:
    """The name of the alarm that a name or an ARN means; None for an ARN of another account or region."""
    if not reference.startswith("arn:"):
        return reference
    prefix = alarm_arn(scope, "")
    return reference.removeprefix(prefix) if reference.startswith(prefix) else None
