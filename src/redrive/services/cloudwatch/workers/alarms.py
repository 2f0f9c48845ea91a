"""The worker of metric alarms: looks at those that are due, and changes the states of those whose points say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Result
from redrive.delivery.upkeep.metrics import INTERVALS_MS
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.cloudwatch.evaluating import Looked, look, state_after
from redrive.services.cloudwatch.model.alarm import Alarm
from redrive.services.cloudwatch.timers import scope_and_name
from redrive.services.cloudwatch.transitions import change_state
from redrive.store.api import Transaction

SETTLING_MS = 5_000
"""How long alarms of a server in real time wait after each full interval: nodes write their counts down meanwhile."""


class AlarmWorker:
    """Evaluates the metric alarms of one kind of timer, many in one transaction.

    An alarm is looked at once at the end of each interval. After an outage it is looked at once, at the present
    instant: nobody would want to be told now what was true hours ago.
    """

    upkeep = False

    def __init__(
        self, timer: str, *, settling_ms: int = 0, per_claim: int = PRODUCTION.alarms_per_claim
    ) -> None:  # fmt: skip
        """`per_claim`: how many alarms one transaction evaluates at most."""
        self.name = timer
        self.timer = timer
        self._interval_ms = INTERVALS_MS[timer]
        self._settling_ms = settling_ms
        self._per_claim = per_claim

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        """Return when the next alarm is due."""
        return tx.timers.next(self.timer)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        """Evaluate the due alarms, and set their timers for the next interval; those without data rest."""
        due = tx.timers.due(self.timer, tx.now, self._per_claim)
        settled_at = tx.now - tx.now % self._interval_ms + self._settling_ms
        if settled_at > tx.now:
            for timer, _ in due:
                tx.timers.set(self.timer, timer, settled_at)
            return ()
        looked: list[tuple[str, Scope, Alarm, Looked]] = []

        def read(part: Transaction, timer: str) -> None:
            scope, name = scope_and_name(timer)
            alarm = part.resources.get(Alarm, scope, name)
            if alarm is None or alarm.is_composite:
                part.timers.clear(self.timer, timer)
            else:
                looked.append((timer, scope, alarm, look(part, scope, alarm, part.now)))

        tx.side_by_side([timer for timer, _ in due], read)
        for timer, scope, alarm, found in looked:
            self._follow(tx, timer, scope, alarm, found)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        """Never called, because no attempt leaves the store. Errors: Bug."""
        raise Bug("alarms are evaluated inside the store: no attempts are made")

    def _follow(self, tx: Transaction, timer: str, scope: Scope, alarm: Alarm, looked: Looked) -> None:
        """Do what follows from a look at an alarm, and say when it is looked at again."""
        if self._is_warming_up(tx, scope, alarm, looked):
            return
        state = state_after(alarm, looked, tx.now)
        if state is not None:
            change_state(tx, scope, replace(alarm, warm_until=None), state)
        elif alarm.warm_until is not None:
            tx.resources.put(scope, replace(alarm, warm_until=None))
        if not looked.can_rest:
            tx.timers.set(self.timer, timer, self._following(tx.now))
        elif looked.next_data_at is not None:
            tx.timers.set(self.timer, timer, self._following(max(tx.now, looked.next_data_at)))
        else:
            tx.timers.clear(self.timer, timer)

    def _is_warming_up(self, tx: Transaction, scope: Scope, alarm: Alarm, looked: Looked) -> bool:
        """Whether an alarm waits for the end of its warm-up. The warm-up ends early with enough data, if it may."""
        if alarm.warm_until is None:
            return False
        waits_fully = alarm.settings["WarmUpConfiguration"].get("OnlyStartEvaluatingAfterWarmUpPeriodEnds", False)
        if tx.now < alarm.warm_until and (waits_fully or not looked.is_full):
            at = alarm.warm_until if waits_fully else min(alarm.warm_until, self._following(tx.now))
            tx.timers.set(self.timer, f"{scope}/{alarm.name}", at)
            return True
        return False

    def _following(self, now: Instant) -> Instant:
        return now - now % self._interval_ms + self._interval_ms + self._settling_ms
