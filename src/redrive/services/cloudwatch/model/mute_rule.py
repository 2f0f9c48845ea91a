"""Mute rules: the windows of time in which alarms change their states and do not act.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutAlarmMuteRule.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.languages.schedule import InvalidExpression, InvalidTimezone, next_fire, parse_expression
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.metric import validation_error

MUTE_TIMER = "cloudwatch.mute"
"""The kind of the timers that fire when windows end."""

_DURATION = re.compile(r"P(?:(\d{1,4})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,7})S)?)?", re.ASCII)
_CRON = re.compile(r"cron\(([^()]*)\)", re.ASCII)
_AT = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d)\)", re.ASCII)
_FIELDS = 5
_LETTERS = re.compile(r"[0-9A-Za-z*,-]+", re.ASCII)
_WEEKDAY = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class MuteRule:
    """A mute rule. `schedule` has the members of AWS's Schedule; `alarm_names` are the alarms that it mutes."""

    KIND: ClassVar[str] = "cloudwatch.mute_rule"

    name: str
    schedule: Document
    updated_at: Instant
    alarm_names: tuple[str, ...] = ()
    description: str | None = None
    start_at: Instant | None = None
    expires_at: Instant | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def arn(self, scope: Scope) -> str:
        """The rule's ARN."""
        return mute_rule_arn(scope, self.name)

    @property
    def is_once(self) -> bool:
        """Whether the rule has one window."""
        return str(self.schedule["Expression"]).startswith("at(")

    @property
    def duration_ms(self) -> int:
        """The length of each window."""
        return duration_ms(str(self.schedule["Duration"]))

    def window_at(self, now: Instant) -> tuple[Instant, Instant] | None:
        """The window that `now` lies in, its end exclusive; None outside of all windows."""
        if self._is_expired(now):
            return None
        begins = self._next(now - self.duration_ms)
        if begins is None or begins > now:
            return None
        end = begins + self.duration_ms
        while (later := self._next(begins)) is not None and later <= now:
            begins, end = later, later + self.duration_ms
        return begins, end if self.expires_at is None else min(end, self.expires_at)

    def next_end(self, now: Instant) -> Instant | None:
        """When the present window ends, or else the next one; None if there is none any more."""
        window = self.window_at(now)
        if window is not None:
            return window[1]
        begins = self._next(now)
        if begins is None or self._is_expired(begins):
            return None
        end = begins + self.duration_ms
        return end if self.expires_at is None else min(end, self.expires_at)

    def status(self, now: Instant) -> str:
        """SCHEDULED, ACTIVE or EXPIRED."""
        if self.window_at(now) is not None:
            return "ACTIVE"
        return "SCHEDULED" if self.next_end(now) is not None else "EXPIRED"

    def _is_expired(self, now: Instant) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def _next(self, after: Instant) -> Instant | None:
        """The first beginning of a window after an instant."""
        zone = str(self.schedule.get("Timezone") or "UTC")
        floor = after if self.start_at is None else max(after, self.start_at - 1)
        return next_fire(parse_expression(plain_expression(self.schedule)), zone=zone, anchor=0, after=floor)


def mute_rule_arn(scope: Scope, name: str) -> str:
    """The ARN of a mute rule."""
    return f"arn:aws:cloudwatch:{scope.region}:{scope.account}:alarm-mute-rule:{name}"


def check_schedule(schedule: Document) -> None:
    """Refuse a schedule that is not valid. Errors: ValidationError."""
    try:
        expression = parse_expression(plain_expression(schedule))
        next_fire(expression, zone=str(schedule.get("Timezone") or "UTC"), anchor=0, after=0)
    except InvalidExpression as error:
        raise validation_error(
            f"The schedule expression {schedule['Expression']} is invalid: {error.reason}."
        ) from None
    except InvalidTimezone:
        raise validation_error(f"The timezone {schedule.get('Timezone')} is invalid.") from None
    if not limits.MUTE_MS_MIN <= duration_ms(str(schedule["Duration"])) <= limits.MUTE_MS_MAX:
        raise validation_error("The duration of a mute rule must be between 1 minute (PT1M) and 15 days (P15D).")


def duration_ms(text: str) -> int:
    """The length of an ISO 8601 duration of days, hours, minutes and seconds. Errors: ValidationError."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()) or text.endswith("T"):
        raise validation_error(f"The duration {text} is not a valid ISO 8601 duration.")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * DAY_MS + hours * HOUR_MS + minutes * MINUTE_MS + seconds * SECOND_MS


def plain_expression(schedule: Document) -> str:
    """The schedule's expression in the form of EventBridge Scheduler, whose language redrive reads.

    A mute rule has five fields with Sunday as 0 and no `?`; EventBridge has six with Sunday as 1. Errors:
    ValidationError.
    """
    text = str(schedule["Expression"])
    at = _AT.fullmatch(text)
    if at is not None:
        return f"at({at[1]}:00)"
    cron = _CRON.fullmatch(text)
    fields = cron[1].split() if cron is not None else []
    if len(fields) != _FIELDS or not all(map(_LETTERS.fullmatch, fields)):
        raise _invalid(text)
    minute, hour, day, month, weekday = fields
    if weekday == "*":
        weekday = "?"
    elif day == "*":
        day, weekday = "?", _WEEKDAY.sub(lambda number: str(int(number[0]) % 7 + 1), weekday)
    else:
        raise validation_error(
            f"The schedule expression {text} restricts both days of the month and days of the week; "
            "redrive reads one of them."
        )
    return f"cron({minute} {hour} {day} {month} {weekday} *)"


def _invalid(text: str) -> ServiceError:
    return validation_error(
        f"The schedule expression {text} is invalid. It must be cron(Minutes Hours Day-of-month Month Day-of-week) "
        "or at(yyyy-MM-ddThh:mm)."
    )
