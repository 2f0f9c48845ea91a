"""The scheduler's workers: one fires due occurrences, one empties groups that are being deleted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.core.limits import Limits
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.scheduler import limits
from redrive.services.scheduler.model.executions import retry_policy
from redrive.services.scheduler.model.occurrences import Occurrence, following, left_out_by, overdue, unfired
from redrive.services.scheduler.model.quota import InvocationQuota
from redrive.services.scheduler.model.schedule import Schedule, ScheduleGroup
from redrive.services.scheduler.promises import promise, record_missed, record_unfired
from redrive.services.scheduler.timers import (
    GROUP_TIMER,
    OCCURRENCE_TIMER,
    remove_if_completed,
    remove_schedule,
    scope_and_name,
    store_schedule,
    timer_name,
)
from redrive.store.api import Transaction


class _TimerWorker:
    """A worker for the timers of one kind. All its work is inside the store."""

    def __init__(self, name: str, timer: str, *, upkeep: bool) -> None:
        self.name = name
        self.upkeep = upkeep
        self.timer = timer

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        """Return when the next timer of this kind is due."""
        return tx.timers.next(self.timer)

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        """Never called, because no attempt leaves the store. Errors: Bug."""
        raise Bug(f"{self.name} attempts nothing outside")


class ScheduleWorker(_TimerWorker):
    """Creates a delivery for each due occurrence, exactly once."""

    def __init__(self, *, per_claim: int = PRODUCTION.occurrences_per_claim) -> None:
        self._per_claim = per_claim
        super().__init__("scheduler", OCCURRENCE_TIMER, upkeep=False)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        """Fire one occurrence of each due schedule; a schedule that is behind is due again at once."""
        admission = _Admission(tx)
        due = tx.timers.due(OCCURRENCE_TIMER, tx.now, self._per_claim)
        admission.prepare(scope_and_name(timer)[0] for timer, _ in due)

        def fire(part: Transaction, timed: tuple[str, Instant]) -> None:
            timer, at = timed
            scope, name = scope_and_name(timer)
            schedule = part.resources.get(Schedule, scope, name)
            if schedule is not None and schedule.next_at is not None:
                moved, upcoming = _fire(part, scope, schedule, Occurrence(schedule.next_at, at), admission)
                store_schedule(part, scope, moved, upcoming)
            else:
                part.timers.clear(OCCURRENCE_TIMER, timer)
                if schedule is not None:
                    remove_if_completed(part, scope, schedule, open_max=0)

        tx.side_by_side(due, fire)
        admission.keep()
        return ()


class GroupDeletionWorker(_TimerWorker):
    """Deletes the schedules of groups that are being deleted, in pieces, and then the groups."""

    def __init__(self) -> None:
        super().__init__("scheduler groups", GROUP_TIMER, upkeep=False)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        """Delete the next schedules of one group; the last claim deletes the group."""
        for timer, _ in tx.timers.due(GROUP_TIMER, tx.now, 1):
            tx.be_alone()  # Between listing the schedules and deleting them, no other node may fire one.
            scope, name = scope_and_name(timer)
            found = tx.resources.list(Schedule, scope, prefix=f"{name}/", limit=limits.DELETIONS_PER_CLAIM_MAX)
            for schedule in found:
                end_schedule(tx, scope, schedule)
            if len(found) < limits.DELETIONS_PER_CLAIM_MAX:
                tx.resources.delete(ScheduleGroup, scope, name)
                tx.timers.clear(GROUP_TIMER, timer)
        return ()


def fire_what_is_due(tx: Transaction, scope: Scope, schedule: Schedule) -> Schedule:
    """Fire the occurrences of a schedule that are due by now, because the schedule is about to change.

    Returns the schedule after that; the caller stores or deletes it.
    """
    if schedule.next_at is None or schedule.next_at > tx.now:
        return schedule
    at = tx.timers.get(OCCURRENCE_TIMER, timer_name(scope, schedule.name))
    due = None if at is None else Occurrence(schedule.next_at, at)
    admission = _Admission(tx)
    while due is not None and due.invoke_at <= tx.now:
        schedule, due = _fire(tx, scope, schedule, due, admission)
    admission.keep()
    return schedule


def end_schedule(tx: Transaction, scope: Scope, schedule: Schedule) -> None:
    """Delete a schedule for a user: occurrences to be invoked by now fire; one that waits in its window is missed."""
    last = fire_what_is_due(tx, scope, schedule)
    record_unfired(tx, scope, last, unfired(last, tx.now), ended="deleted")
    remove_schedule(tx, scope, last)


class _Admission:
    """Applies each account's quota of invocations; there is no bound if quotas are off."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._quotas: dict[Scope, InvocationQuota] = {}

    def of(self, scope: Scope) -> Instant:
        """Return when the account's next invocation may go out."""
        if self._tx.services.limits is Limits.RELAXED:
            return self._tx.now
        self.prepare((scope,))
        self._quotas[scope], at = self._quotas[scope].admit(self._tx.now)
        return at

    def prepare(self, scopes: Iterable[Scope]) -> None:
        """Read the quotas of these accounts."""
        if self._tx.services.limits is not Limits.RELAXED:
            for scope in set(scopes) - self._quotas.keys():
                quota = self._tx.resources.get(InvocationQuota, scope, InvocationQuota.NAME)
                self._quotas[scope] = quota or InvocationQuota()

    def keep(self) -> None:
        """Store the used quotas."""
        for scope, quota in self._quotas.items():
            self._tx.resources.put(scope, quota)


def _fire(
    tx: Transaction, scope: Scope, schedule: Schedule, due: Occurrence, admission: _Admission
) -> tuple[Schedule, Occurrence | None]:
    """Create the delivery of an occurrence. Returns the schedule after it, and the next occurrence."""
    age_ms_max = retry_policy(schedule.settings.target).age_ms_max
    occurrence = overdue(schedule.settings, due, tx.now)
    promise(tx, scope, schedule, occurrence, not_before=admission.of(scope))
    moved, upcoming = following(schedule, scope, occurrence, age_ms_max, tx.now)
    if occurrence != due or tx.now - occurrence.invoke_at > age_ms_max:
        missed = left_out_by(schedule, due, occurrence, moved.next_at, tx.now)
        record_missed(tx, scope, schedule, missed, why="nothing ran when they were due")
    return moved, upcoming
