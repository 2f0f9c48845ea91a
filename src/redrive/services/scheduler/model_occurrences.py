"""When a schedule is invoked: windows, catching up after an outage, changes on the way.

The expression says at which instants a schedule is due (`redrive.languages.schedule`); here stands what becomes of
them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import assert_never

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.scope import Scope
from redrive.languages.schedule import At, Cron, Rate, next_fire, upcoming
from redrive.services.scheduler import limits
from redrive.services.scheduler.model import Schedule, ScheduleState, Settings


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence: when it is due by the expression, and when the target is first called."""

    scheduled_at: Instant
    invoke_at: Instant


def begin(schedule: Schedule, now: Instant) -> Schedule:
    """A schedule that starts now: a rate without a StartDate counts from here."""
    return replace(schedule, anchor_at=now, next_at=_first(schedule.settings, now, now))


def revise(schedule: Schedule, settings: Settings, now: Instant) -> Schedule:
    """The schedule with other settings. What does not change when it fires keeps its next occurrence.

    A rate counts from now if its expression, StartDate or state changed; otherwise from where it counted before.
    """
    before = schedule.settings
    revised = replace(schedule, settings=settings, modified_at=now)
    if _recurrence(settings) == _recurrence(before):
        return revised
    if _origin(settings) != _origin(before):
        return begin(revised, now)
    return replace(revised, next_at=_first(settings, schedule.anchor_at, now))


def planned(schedule: Schedule, scope: Scope, not_before: Instant) -> Occurrence | None:
    """The schedule's next occurrence, invoked at its place in the flexible window but not before an instant.

    Occurrences of one schedule are invoked in order; where windows overlap, one that would overtake its predecessor is
    invoked together with it, which is still inside its window.
    """
    if schedule.next_at is None:
        return None
    offset_ms = window_offset_ms(schedule.arn(scope), schedule.next_at, schedule.settings.window_ms)
    return Occurrence(schedule.next_at, max(not_before, schedule.next_at + offset_ms))


def window_offset_ms(arn: str, scheduled_at: Instant, window_ms: int) -> int:
    """How far into the flexible window an invocation falls: always the same for the same occurrence.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-flexible-time-windows.html
    """
    if window_ms == 0:
        return 0
    digest = hashlib.sha256(f"{arn}@{scheduled_at}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % window_ms


def overdue(settings: Settings, due: Occurrence, now: Instant) -> Occurrence:
    """What to invoke of a schedule whose occurrence is due: that one, or the latest of a rate that fell behind.

    A rate that is late by k whole intervals leaves k occurrences out; at and cron leave none out here.
    """
    expression = settings.parsed
    if not isinstance(expression, Rate):
        return due
    skipped = (now - due.invoke_at) // expression.interval_ms
    if settings.end_at is not None:
        skipped = min(skipped, (settings.end_at - 1 - due.scheduled_at) // expression.interval_ms)
    lag_ms = skipped * expression.interval_ms
    return Occurrence(due.scheduled_at + lag_ms, due.invoke_at + lag_ms)


def following(schedule: Schedule, scope: Scope, fired: Occurrence, age_ms_max: int, now: Instant) -> tuple[
    Schedule, Occurrence | None
]:  # fmt: skip
    """The schedule after an occurrence, and the next one; counted from when that one was scheduled, never from now.

    Of the occurrences that an outage held up, those that are older than the schedule's MaximumEventAge are left out.
    """
    stale_ms = max(0, now - fired.invoke_at - age_ms_max)
    after = fired.scheduled_at + max(0, stale_ms - 1)
    moved = replace(schedule, next_at=_next(schedule.settings, schedule.anchor_at, after))
    return moved, planned(moved, scope, fired.invoke_at + stale_ms)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Occurrences that nobody will fire: the first, the last, how many. Counting stops at LEFT_OUT_COUNTED_MAX."""

    first_at: Instant
    last_at: Instant
    count: int


def left_out(settings: Settings, anchor_at: Instant, after: Instant, before: Instant) -> LeftOut | None:
    """The occurrences of a schedule strictly between two instants; None if there are none."""
    first_at = _next(settings, anchor_at, after)
    if first_at is None or first_at >= before:
        return None
    expression = settings.parsed
    if isinstance(expression, Rate):
        more = (min(before, settings.end_at or before) - 1 - first_at) // expression.interval_ms
        return LeftOut(first_at, first_at + more * expression.interval_ms, more + 1)
    found = upcoming(
        expression, zone=settings.timezone, anchor=anchor_at, after=after, start=settings.start_at,
        end=settings.end_at, count=limits.LEFT_OUT_COUNTED_MAX,
    )  # fmt: skip
    inside = [instant for instant in found if instant < before]
    return LeftOut(inside[0], inside[-1], len(inside))


def left_out_by(
    schedule: Schedule, due: Occurrence, fired: Occurrence, upcoming_at: Instant | None, now: Instant
) -> LeftOut | None:
    """What is left out when a late worker fires `fired` where `due` was due, and `upcoming_at` comes next."""
    settings, anchor_at = schedule.settings, schedule.anchor_at
    if fired.scheduled_at > due.scheduled_at:
        return left_out(settings, anchor_at, due.scheduled_at - 1, fired.scheduled_at)
    return left_out(settings, anchor_at, fired.scheduled_at, now if upcoming_at is None else min(upcoming_at, now))


def _first(settings: Settings, anchor_at: Instant, now: Instant) -> Instant | None:
    """The first occurrence of a schedule that was created or changed now; None for a disabled one.

    A rate that counts from now fires now; an at fires late within its minute; a cron fires strictly after now.
    """
    if settings.state is ScheduleState.DISABLED:
        return None
    expression = settings.parsed
    match expression:
        case At():
            after = now - now % MINUTE_MS - 1
        case Rate():
            after = now - 1 if anchor_at == now else now
        case Cron():
            after = now
        case _:
            assert_never(expression)
    return _next(settings, anchor_at, after)


def _next(settings: Settings, anchor_at: Instant, after: Instant) -> Instant | None:
    return next_fire(
        settings.parsed, zone=settings.timezone, anchor=anchor_at, after=after,
        start=settings.start_at, end=settings.end_at,
    )  # fmt: skip


def _recurrence(settings: Settings) -> tuple[object, ...]:
    return (*_origin(settings), settings.timezone, settings.end_at)


def _origin(settings: Settings) -> tuple[object, ...]:
    return (settings.expression, settings.start_at, settings.state)
