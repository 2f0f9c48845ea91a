"""The worker of composite alarms: evaluates those of which a child has changed, and ends periods of suppression."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.cloudwatch.composing import compose, depth_of
from redrive.services.cloudwatch.model.alarm import Alarm
from redrive.services.cloudwatch.timers import scope_and_name
from redrive.services.cloudwatch.transitions import COMPOSITE_TIMER
from redrive.store.api import Transaction


class CompositeWorker:
    """Evaluates composite alarms, the lowest first: no alarm sees a child that is still to be evaluated now."""

    name = COMPOSITE_TIMER
    timer = COMPOSITE_TIMER
    upkeep = False

    def __init__(self, *, per_claim: int = PRODUCTION.alarms_per_claim) -> None:
        self._per_claim = per_claim

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        """Return when the next composite alarm is due."""
        return tx.timers.next(COMPOSITE_TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        """Evaluate the due alarms, level by level, until none is due."""
        for _ in range(self._per_claim):
            due = tx.timers.due(COMPOSITE_TIMER, tx.now, self._per_claim)
            if not due:
                break
            self._compose_lowest(tx, [timer for timer, _ in due])
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        """Never called, because no attempt leaves the store. Errors: Bug."""
        raise Bug("alarms are evaluated inside the store: no attempts are made")

    def _compose_lowest(self, tx: Transaction, timers: Sequence[str]) -> None:
        levels: dict[int, list[str]] = {}
        for timer in timers:
            scope, name = scope_and_name(timer)
            alarm = tx.resources.get(Alarm, scope, name)
            if alarm is None or not alarm.is_composite:
                tx.timers.clear(COMPOSITE_TIMER, timer)
            else:
                levels.setdefault(depth_of(tx, scope, alarm), []).append(timer)
        for timer in levels[min(levels)] if levels else ():
            scope, name = scope_and_name(timer)
            alarm = tx.resources.get(Alarm, scope, name)
            assert alarm is not None, f"{name} was just read"
            compose(tx, scope, alarm)
