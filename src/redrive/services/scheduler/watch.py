"""What redrive's own API reports about schedules: next occurrences, missed occurrences, warnings.

These functions of a transaction are not operations of AWS; `operations/occurrences.py` calls them. They return
documents with our own keys, in snake_case.
"""

from __future__ import annotations

from datetime import UTC, datetime

from redrive.core.arn import Arn
from redrive.core.clock import SECOND_MS, Instant, format_instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.delivery.surface import refusal
from redrive.languages.schedule import find_zone, upcoming
from redrive.services.scheduler import limits
from redrive.services.scheduler.model.executions import misspelt_keywords, right_spelling
from redrive.services.scheduler.model.occurrences import LeftOut, over_unfired, unfired
from redrive.services.scheduler.model.schedule import DEFAULT_GROUP, Schedule, ScheduleState, full_name, name_of_arn
from redrive.store.api import Transaction

_SEE = "See which there are: redrive schedules list"


def find_schedule(tx: Transaction, scope: Scope, written: str) -> tuple[Scope, Schedule]:
    """Return the schedule that a text names: a name in the default group, `group/name`, or an ARN.

    Errors: ValidationException if there is none.
    """
    name = written if "/" in written else full_name(DEFAULT_GROUP, written)
    if written.startswith("arn:"):
        try:
            arn = Arn.parse(written)
            scope, name = Scope(arn.account, arn.region), name_of_arn(written)
        except (ValueError, IndexError) as error:
            raise refusal(f"{written[:200]} is not the ARN of a schedule.", _SEE) from error
    schedule = tx.resources.get(Schedule, scope, name)
    if schedule is None:
        what = f"There is no schedule {name[:200]} in {scope.region[:100]} of account {scope.account[:100]}."
        raise refusal(what, _SEE)
    return scope, schedule


def list_overviews(tx: Transaction, scope: Scope, *, after: str, limit: int) -> list[Document]:
    """List schedules sorted by `group/name`, beginning after a name."""
    found = tx.resources.list(Schedule, scope, after=after, limit=limit)
    return [overview(scope, schedule) for schedule in found]


def overview(scope: Scope, schedule: Schedule) -> Document:
    """A summary of a schedule; `next` is the scheduled time of the next occurrence, None if there is none."""
    settings = schedule.settings
    return {
        "name": schedule.schedule_name,
        "group": schedule.group_name,
        "arn": schedule.arn(scope),
        "state": settings.state.value,
        "expression": settings.expression,
        "zone": settings.timezone,
        "window_minutes": settings.window_minutes,
        "target": settings.target["Arn"],
        "next": None if schedule.next_at is None else firing(schedule.next_at, settings.timezone),
        "warnings": warnings_of(schedule),
    }


def warnings_of(schedule: Schedule) -> list[str]:
    """Return warnings about probable mistakes in a schedule: context attributes that AWS would deliver literally."""
    return [
        f"{keyword} in the input stays literal; it is spelt {right_spelling(keyword)}"
        for keyword in misspelt_keywords(schedule.settings.target.get("Input", ""))
    ]


def firing(instant: Instant, zone: str) -> Document:
    """An instant in the schedule's time zone and in UTC."""
    local = datetime.fromtimestamp(instant // SECOND_MS, UTC).astimezone(find_zone(zone))
    return {"local": local.isoformat(), "utc": format_instant(instant)}


def next_firings(schedule: Schedule, count: int) -> list[Document]:
    """Return the next `count` occurrences, nearest first; fewer if the schedule ends before."""
    first_at, settings = schedule.next_at, schedule.settings
    if first_at is None:
        return []
    later = upcoming(
        settings.parsed, zone=settings.timezone, anchor=schedule.anchor_at, after=first_at, start=settings.start_at,
        end=settings.end_at, count=count - 1,
    )  # fmt: skip
    return [firing(instant, settings.timezone) for instant in (first_at, *later)]


def missed_by(tx: Transaction, scope: Scope, schedule: Schedule) -> list[Document]:
    """List the occurrences that a schedule missed, oldest first: by outages, by changes, or while disabled."""
    missed = [
        _missed_row(schedule, LeftOut(run.first_at, run.left_out_until or run.first_at, run.left_out or 0), why)
        for run, why in tx.attempts.unattempted(schedule.arn(scope))
    ]
    if schedule.settings.state is ScheduleState.DISABLED:
        return missed + _missed_now(schedule, unfired(schedule, tx.now), "the schedule is disabled")
    over = over_unfired(schedule)
    if over is not None and any(row["first"] <= format_instant(over.first_at) <= row["last"] for row in missed):
        over = None
    return missed + _missed_now(schedule, over, "it was over when the schedule was made or changed")


def _missed_now(schedule: Schedule, missed: LeftOut | None, why: str) -> list[Document]:
    """Return missed occurrences that are not recorded yet, because the schedule may still change: one row or none."""
    if missed is None:
        return []
    return [_missed_row(schedule, missed, why)]


def _missed_row(schedule: Schedule, missed: LeftOut, why: str) -> Document:
    return {
        "name": schedule.schedule_name, "group": schedule.group_name, "count": _counted(missed.count),
        "first": format_instant(missed.first_at), "last": format_instant(missed.last_at), "why": why,
    }  # fmt: skip


def _counted(count: int) -> str:
    return f"{count} or more" if count == limits.LEFT_OUT_COUNTED_MAX else str(count)
