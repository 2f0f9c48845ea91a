"""When a schedule invokes its target: flexible windows, catching up after an outage, changes of the schedule.

`redrive.languages.schedule` computes at which instants an expression is due; this module decides what happens then.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import assert_never

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.scope import Scope
from redrive.languages.schedule import At, Cron, Rate, find_zone, next_fire
from redrive.services.scheduler import limits
from redrive.services.scheduler.model.schedule import Schedule, ScheduleState, Settings


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence: its scheduled instant, and the instant of the first call to the target."""

    scheduled_at: Instant
    invoke_at: Instant


def begin(group_name: str, name: str, settings: Settings, now: Instant, *, salt: str) -> Schedule:
    """Return a schedule that starts now; a rate without a StartDate counts from now."""
    since_at = _since(settings, now, now)
    return Schedule(
        group_name, name, settings, created_at=now, modified_at=now, anchor_at=now,
        next_at=_next_enabled(settings, now, since_at), since_at=since_at, salt=salt,
    )  # fmt: skip


def revise(schedule: Schedule, settings: Settings, now: Instant) -> Schedule:
    """Return the schedule with new settings. The caller has already fired the occurrences to be invoked by now.

    Some due occurrences have not fired: they wait in a flexible window, or the schedule is disabled. They stay due if
    the new settings have exactly the same due occurrences; otherwise they are `given_up`. A rate counts from now if its
    expression or StartDate changed, or if the schedule is enabled; otherwise it keeps its starting point.
    """
    now = max(now, schedule.modified_at)  # The clock of the node that wrote the schedule may be ahead of ours.
    before = schedule.settings
    is_enabled = before.state is ScheduleState.DISABLED and settings.state is ScheduleState.ENABLED
    counts_anew = is_enabled or (settings.expression, settings.start_at) != (before.expression, before.start_at)
    anchor_at = now if counts_anew else schedule.anchor_at
    revised = replace(schedule, settings=settings, modified_at=now, anchor_at=anchor_at)
    covered_to, since_at = schedule.covered_to, _since(settings, anchor_at, now)
    due = _between(before, schedule.anchor_at, covered_to, now, count=limits.LEFT_OUT_COUNTED_MAX)
    stays = bool(due) and due == _between(settings, anchor_at, covered_to, now, count=len(due) + 1)
    if not stays or (is_enabled and due[0] <= since_at):
        revised = replace(revised, since_at=since_at)
        if due:
            # The last due occurrence may be the first one of the new settings.
            begins_with = _next(settings, anchor_at, max(since_at, due[-1] - 1))
            revised = replace(revised, passed_at=due[-1] - 1 if begins_with == due[-1] else due[-1])
    return replace(revised, next_at=_next_enabled(settings, anchor_at, revised.covered_to))


def given_up(schedule: Schedule, revised: Schedule, now: Instant) -> LeftOut | None:
    """Return the occurrences that were due when the schedule changed, and will not fire."""
    first_at = _next(revised.settings, revised.anchor_at, revised.covered_to)
    before = now + 1 if first_at is None or first_at > now else first_at
    return left_out(schedule.settings, schedule.anchor_at, schedule.covered_to, before)


def unfired(schedule: Schedule, now: Instant) -> LeftOut | None:
    """Return the due occurrences that are neither fired nor recorded: in their window, or of a disabled schedule."""
    return left_out(schedule.settings, schedule.anchor_at, schedule.covered_to, now + 1)


def over_unfired(schedule: Schedule) -> LeftOut | None:
    """Return a one-time schedule's occurrence if it had already passed when the schedule was created or changed."""
    settings, expression, since_at = schedule.settings, schedule.settings.parsed, schedule.since_at
    if settings.state is ScheduleState.DISABLED or since_at is None or not isinstance(expression, At):
        return None
    instant = expression.instant(find_zone(settings.timezone))
    is_over = instant <= since_at and instant != schedule.passed_at
    return LeftOut(instant, instant, 1) if is_over else None


def planned(schedule: Schedule, scope: Scope, not_before: Instant) -> Occurrence | None:
    """Return the next occurrence, invoked at its place in the flexible window but not before the instant `not_before`.

    Occurrences of one schedule are invoked in order. Where windows overlap, an occurrence that would overtake its
    predecessor is invoked together with it, which is still inside its own window.
    """
    if schedule.next_at is None:
        return None
    offset_ms = window_offset_ms(schedule.arn(scope), schedule.next_at, schedule.settings.window_ms)
    return Occurrence(schedule.next_at, max(not_before, schedule.next_at + offset_ms))


def window_offset_ms(arn: str, scheduled_at: Instant, window_ms: int) -> int:
    """Return how far into the flexible window an invocation falls; the same occurrence always gets the same offset.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-flexible-time-windows.html
    """
    if window_ms == 0:
        return 0
    digest = hashlib.sha256(f"{arn}@{scheduled_at}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % window_ms


def overdue(settings: Settings, due: Occurrence, now: Instant) -> Occurrence:
    """Return which occurrence to invoke: the due one, or the latest one if a rate is behind.

    A rate that is late by k whole intervals leaves out k occurrences; this function leaves out none for at and cron.
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
    """Return the schedule after an occurrence, and the next occurrence.

    The next occurrence counts from the scheduled time of the last, never from now. After an outage, delayed occurrences
    older than the schedule's MaximumEventAge are left out.
    """
    # A one-time schedule has no other occurrences to leave out.
    is_one_time = isinstance(schedule.settings.parsed, At)
    stale_ms = 0 if is_one_time else max(0, now - fired.invoke_at - age_ms_max)
    after = fired.scheduled_at + max(0, stale_ms - 1)
    moved = replace(schedule, next_at=_next(schedule.settings, schedule.anchor_at, after), passed_at=after)
    return moved, planned(moved, scope, fired.invoke_at + stale_ms)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Occurrences that will not fire: the first, the last, and their number, counted up to LEFT_OUT_COUNTED_MAX."""

    first_at: Instant
    last_at: Instant
    count: int


def left_out(settings: Settings, anchor_at: Instant, after: Instant, before: Instant) -> LeftOut | None:
    """Return the occurrences of a schedule strictly between two instants; None if there are none."""
    first_at = _next(settings, anchor_at, after)
    if first_at is None or first_at >= before:
        return None
    expression = settings.parsed
    if isinstance(expression, Rate):
        more = (min(before, settings.end_at or before) - 1 - first_at) // expression.interval_ms
        return LeftOut(first_at, first_at + more * expression.interval_ms, more + 1)
    found = _between(settings, anchor_at, after, before - 1, count=limits.LEFT_OUT_COUNTED_MAX)
    return LeftOut(found[0], found[-1], len(found))


def left_out_by(
    schedule: Schedule, due: Occurrence, fired: Occurrence, upcoming_at: Instant | None, now: Instant
) -> LeftOut | None:
    """Return the occurrences left out if a late worker fires `fired` when `due` was due, and `upcoming_at` is next."""
    settings, anchor_at = schedule.settings, schedule.anchor_at
    if fired.scheduled_at > due.scheduled_at:
        return left_out(settings, anchor_at, due.scheduled_at - 1, fired.scheduled_at)
    return left_out(settings, anchor_at, fired.scheduled_at, now if upcoming_at is None else min(upcoming_at, now))


def _since(settings: Settings, anchor_at: Instant, now: Instant) -> Instant:
    """Return the instant after which a schedule has occurrences, if it is created or changed now.

    A rate that counts from now fires now; an at fires late within its minute; a cron fires strictly after now.
    """
    expression = settings.parsed
    match expression:
        case At():
            return now - now % MINUTE_MS - 1
        case Rate():
            return now - 1 if anchor_at == now else now
        case Cron():
            return now
        case _:
            assert_never(expression)


def _next_enabled(settings: Settings, anchor_at: Instant, after: Instant) -> Instant | None:
    return None if settings.state is ScheduleState.DISABLED else _next(settings, anchor_at, after)


def _next(settings: Settings, anchor_at: Instant, after: Instant) -> Instant | None:
    return next_fire(
        settings.parsed, zone=settings.timezone, anchor=anchor_at, after=after,
        start=settings.start_at, end=settings.end_at,
    )  # fmt: skip


def _between(settings: Settings, anchor_at: Instant, after: Instant, until: Instant, *, count: int) -> list[Instant]:
    """Return the first `count` occurrences after one instant, up to and including another."""
    found: list[Instant] = []
    instant = _next(settings, anchor_at, after)
    while instant is not None and instant <= until and len(found) < count:
        found.append(instant)
        instant = _next(settings, anchor_at, instant)
    return found
