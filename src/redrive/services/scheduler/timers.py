"""Store and delete schedules together with their timers."""

from __future__ import annotations

from redrive.core.scope import Scope
from redrive.services.scheduler.model.occurrences import Occurrence
from redrive.services.scheduler.model.schedule import SOURCE, Schedule
from redrive.store.api import Transaction

OCCURRENCE_TIMER = "scheduler.schedule"
GROUP_TIMER = "scheduler.group"


def timer_name(scope: Scope, name: str) -> str:
    """Return the name of a timer: `account/region/name`."""
    return f"{scope}/{name}"


def scope_and_name(timer: str) -> tuple[Scope, str]:
    """Split a timer's name into scope and name; the inverse of `timer_name`."""
    account, region, name = timer.split("/", 2)
    return Scope(account, region), name


def store_schedule(tx: Transaction, scope: Scope, schedule: Schedule, occurrence: Occurrence | None) -> None:
    """Store a schedule. Its timer is due at its next invocation, or now if the schedule is over and must be deleted."""
    tx.resources.put(scope, schedule)
    timer = timer_name(scope, schedule.name)
    if occurrence is not None:
        tx.timers.set(OCCURRENCE_TIMER, timer, occurrence.invoke_at)
        tx.notify("due")
    elif schedule.is_completed:
        tx.timers.set(OCCURRENCE_TIMER, timer, tx.now)
        tx.notify("due")
    else:
        tx.timers.clear(OCCURRENCE_TIMER, timer)


def remove_schedule(tx: Transaction, scope: Scope, schedule: Schedule) -> None:
    """Delete a schedule. Its open deliveries continue."""
    tx.resources.delete(Schedule, scope, schedule.name)
    tx.timers.clear(OCCURRENCE_TIMER, timer_name(scope, schedule.name))


def remove_if_completed(tx: Transaction, scope: Scope, schedule: Schedule, *, open_max: int) -> None:
    """Delete a schedule that is over, if at most `open_max` of its deliveries are still open.

    Until its last delivery has ended, a completed schedule stays visible.
    """
    if schedule.is_completed and tx.deliveries.count_of_source(SOURCE, schedule.arn(scope)) <= open_max:
        remove_schedule(tx, scope, schedule)
