"""Operations of redrive's own API on schedules: next occurrences, missed occurrences, manual triggers.

These belong to the service `redrive`, not to AWS. They are here because only this package knows schedules.
"""

from __future__ import annotations

from redrive.core.clock import format_instant
from redrive.core.documents import Document
from redrive.core.scope import Caller, Scope
from redrive.delivery.surface import own_operation, scope_asked
from redrive.services.scheduler import limits
from redrive.services.scheduler.model.schedule import Schedule
from redrive.services.scheduler.promises import trigger
from redrive.services.scheduler.watch import find_schedule, list_overviews, missed_by, next_firings, overview
from redrive.store.api import Transaction


@own_operation("ListSchedules")
def list_schedules(
    tx: Transaction, caller: Caller, *, region: str | None = None, account: str | None = None,
    limit: int = limits.WATCHED_PAGE, after: str = "",
) -> Document:  # fmt: skip
    """List the schedules of a region, each with its next occurrence and warnings about probable mistakes.

    Errors: AccessDeniedException.
    """
    found = list_overviews(tx, scope_asked(caller, account, region), after=after, limit=limit)
    return {"schedules": found, "after": f"{found[-1]['group']}/{found[-1]['name']}" if len(found) == limit else None}


@own_operation("GetOccurrences")
def get_occurrences(
    tx: Transaction, caller: Caller, *, schedule: str, count: int = limits.FIRINGS, region: str | None = None,
    account: str | None = None,
) -> Document:  # fmt: skip
    """Return the next occurrences of a schedule, in its time zone and in UTC.

    Errors: AccessDeniedException; ValidationException: there is no such schedule.
    """
    scope, found = _found(tx, caller, schedule, account, region)
    return {"schedule": overview(scope, found), "next": next_firings(found, count)}


@own_operation("ListMissedOccurrences")
def list_missed_occurrences(
    tx: Transaction, caller: Caller, *, schedule: str | None = None, region: str | None = None,
    account: str | None = None, limit: int = limits.WATCHED_PAGE, after: str = "",
) -> Document:  # fmt: skip
    """List the occurrences that will never fire, of one schedule or of all schedules in a region.

    Errors: AccessDeniedException; ValidationException: there is no such schedule.
    """
    if schedule:
        return {"missed": missed_by(tx, *_found(tx, caller, schedule, account, region)), "after": None}
    scope = scope_asked(caller, account, region)
    schedules = tx.resources.list(Schedule, scope, after=after, limit=limit)
    missed = [row for one in schedules for row in missed_by(tx, scope, one)]
    return {"missed": missed, "after": schedules[-1].name if len(schedules) == limit else None}


@own_operation("TriggerSchedule")
def trigger_schedule(
    tx: Transaction, caller: Caller, *, schedule: str, region: str | None = None, account: str | None = None
) -> Document:  # fmt: skip
    """Fire one occurrence of a schedule now; its regular occurrences do not change.

    Errors: AccessDeniedException; ValidationException: there is no such schedule.
    """
    execution = trigger(tx, *_found(tx, caller, schedule, account, region))
    return {
        "schedule": execution.schedule_arn,
        "execution_id": execution.execution_id,
        "scheduled_time": format_instant(execution.scheduled_at),
        "id": execution.delivery_id,
    }


def _found(
    tx: Transaction, caller: Caller, written: str, account: str | None, region: str | None
) -> tuple[Scope, Schedule]:
    """Return the named schedule. If its ARN is in another account, only that account itself may ask about it."""
    scope, schedule = find_schedule(tx, scope_asked(caller, account, region), written)
    return scope_asked(caller, scope.account, scope.region), schedule
