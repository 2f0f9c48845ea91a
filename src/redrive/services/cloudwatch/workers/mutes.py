"""The worker of mute rules: at the end of a window, alarms act that were muted, and the next window is awaited."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.cloudwatch.model.mute_rule import MUTE_TIMER, MuteRule
from redrive.services.cloudwatch.muting import schedule_end, unmute
from redrive.services.cloudwatch.timers import scope_and_name
from redrive.store.api import Transaction


class MuteWorker:
    """Ends the windows of mute rules."""

    name = MUTE_TIMER
    timer = MUTE_TIMER
    upkeep = False

    def __init__(self, *, per_claim: int = PRODUCTION.alarms_per_claim) -> None:
        self._per_claim = per_claim

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        """Return when the next window ends."""
        return tx.timers.next(MUTE_TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        """Unmute the alarms of the rules whose windows have ended."""
        for timer, _ in tx.timers.due(MUTE_TIMER, tx.now, self._per_claim):
            scope, name = scope_and_name(timer)
            rule = tx.resources.get(MuteRule, scope, name)
            if rule is None:
                tx.timers.clear(MUTE_TIMER, timer)
                continue
            unmute(tx, scope, rule.alarm_names)
            schedule_end(tx, scope, rule)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        """Never called, because no attempt leaves the store. Errors: Bug."""
        raise Bug("mutes end inside the store: no attempts are made")
