"""What happens by itself: occurrences come due, deleted groups empty, client tokens are forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.invocation import InvocationResult
from redrive.delivery.worker import Attempt
from redrive.services.scheduler import limits
from redrive.services.scheduler.api_tokens import TOKEN_TIMER, ClientToken
from redrive.services.scheduler.model import SOURCE, Schedule, ScheduleGroup
from redrive.services.scheduler.model_executions import Execution, execution_id, retry_policy
from redrive.services.scheduler.model_occurrences import Occurrence, following, overdue
from redrive.services.scheduler.workers_timers import (
    GROUP_TIMER,
    OCCURRENCE_TIMER,
    remove_if_completed,
    remove_schedule,
    scope_and_name,
    store_schedule,
)
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import INSIDE, Delivery


class _TimerWorker:
    """A worker whose due work is the timers of one kind, and who does all of it inside the store."""

    def __init__(self, name: str, timer: str, *, upkeep: bool) -> None:
        self.name = name
        self.upkeep = upkeep
        self._timer = timer

    def next_due(self, tx: Transaction, *, free: int) -> Instant | None:
        """When the next timer of this kind comes due."""
        return tx.timers.next(self._timer)

    def settle(self, tx: Transaction, attempt: Attempt, result: InvocationResult) -> None:
        """Never called: nothing is attempted outside. Errors: Bug."""
        raise Bug(f"{self.name} attempts nothing outside")


class ScheduleWorker(_TimerWorker):
    """Turns occurrences that have come due into deliveries, each exactly once."""

    def __init__(self) -> None:
        super().__init__("scheduler", OCCURRENCE_TIMER, upkeep=False)

    def claim(self, tx: Transaction, *, free: int) -> Sequence[Attempt]:
        """Promise one occurrence of each schedule that is due; one that fell behind is due again at once."""
        for timer, at in tx.timers.due(OCCURRENCE_TIMER, tx.now, limits.OCCURRENCES_PER_CLAIM_MAX):
            scope, name = scope_and_name(timer)
            schedule = tx.resources.get(Schedule, scope, name)
            if schedule is not None and schedule.next_at is not None:
                _fire(tx, scope, schedule, Occurrence(schedule.next_at, at))
            else:
                tx.timers.clear(OCCURRENCE_TIMER, timer)
                if schedule is not None:
                    remove_if_completed(tx, scope, schedule, open_max=0)
        return ()


class GroupDeletionWorker(_TimerWorker):
    """Empties groups that are being deleted, some schedules at a time, and then removes them."""

    def __init__(self) -> None:
        super().__init__("scheduler groups", GROUP_TIMER, upkeep=False)

    def claim(self, tx: Transaction, *, free: int) -> Sequence[Attempt]:
        """Remove the next schedules of one group; the group goes with the last of them."""
        for timer, _ in tx.timers.due(GROUP_TIMER, tx.now, 1):
            scope, name = scope_and_name(timer)
            found = tx.resources.list(Schedule, scope, prefix=f"{name}/", limit=limits.DELETIONS_PER_CLAIM_MAX)
            for schedule in found:
                remove_schedule(tx, scope, schedule)
            if len(found) < limits.DELETIONS_PER_CLAIM_MAX:
                tx.resources.delete(ScheduleGroup, scope, name)
                tx.timers.clear(GROUP_TIMER, timer)
        return ()


class ClientTokenWorker(_TimerWorker):
    """Forgets client tokens a day after their request."""

    def __init__(self) -> None:
        super().__init__("scheduler client tokens", TOKEN_TIMER, upkeep=True)

    def claim(self, tx: Transaction, *, free: int) -> Sequence[Attempt]:
        """Forget the tokens that have expired."""
        for timer, _ in tx.timers.due(TOKEN_TIMER, tx.now, limits.TOKENS_PER_CLAIM_MAX):
            scope, name = scope_and_name(timer)
            tx.resources.delete(ClientToken, scope, name)
            tx.timers.clear(TOKEN_TIMER, timer)
        return ()


def _fire(tx: Transaction, scope: Scope, schedule: Schedule, due: Occurrence) -> None:
    """Promise an occurrence and look for the next one."""
    target = schedule.settings.target
    policy = retry_policy(target)
    occurrence = overdue(schedule.settings, due, tx.now)
    arn, scheduled_at = schedule.arn(scope), occurrence.scheduled_at
    execution = Execution(arn, scope, execution_id(arn, scheduled_at, schedule.created_at), scheduled_at, target)
    tx.deliveries.put(
        Delivery(
            id=execution.delivery_id, scope=scope, source=SOURCE, source_arn=arn, target_arn=target["Arn"],
            document=execution.document, policy=policy, place=INSIDE,
            due_at=occurrence.invoke_at, first_at=occurrence.invoke_at,
        )
    )  # fmt: skip
    moved, upcoming = following(schedule, scope, occurrence, policy.age_ms_max, tx.now)
    store_schedule(tx, scope, moved, upcoming)
    tx.notify("due")
