"""The worker of lifecycle rules: it looks at each bucket that has some, at midnight."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.s3.expiring import go_on
from redrive.services.s3.model.lifecycle import TIMER
from redrive.store.api import Transaction


class LifecycleWorker:
    """Applies the rules of one bucket to a bounded number of versions in each transaction."""

    name = "s3_lifecycle"
    timer = TIMER
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for name, _ in tx.timers.due(TIMER, tx.now, 1):
            tx.be_alone()
            go_on(tx, name)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("lifecycle rules are applied inside the store: no attempts are made")
