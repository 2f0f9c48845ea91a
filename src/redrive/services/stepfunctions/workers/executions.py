"""The worker of executions: goes on with those whose wait, timeout or retry is due, or that had no room before."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.errors import Bug, Conflict, UserError
from redrive.core.log import Log
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.stepfunctions.executions import EXECUTION_TIMER, load
from redrive.services.stepfunctions.limits import EXECUTIONS_PER_CLAIM
from redrive.services.stepfunctions.model.transitions import look_at_clock
from redrive.services.stepfunctions.running import go_on
from redrive.store.api import Transaction

PUT_OFF_MS = 8 * MINUTE_MS
"""How long an execution waits after a defect in redrive. A newer redrive may be able to go on with it."""


class ExecutionWorker:
    """Goes on with executions. What they call outside are deliveries: this worker makes no attempts."""

    name = timer = EXECUTION_TIMER
    upkeep = False

    def __init__(self, log: Log, *, per_claim: int = EXECUTIONS_PER_CLAIM) -> None:
        self._log = log
        self._per_claim = per_claim

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(EXECUTION_TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for arn, _ in tx.timers.due(EXECUTION_TIMER, tx.now, self._per_claim):
            try:
                with tx.savepoint():
                    _work(tx, arn)
            except (Conflict, UserError):
                raise
            except Exception as defect:  # noqa: BLE001 - Our defect: this execution waits, the others go on.
                self._log.error("execution put off", execution=arn, defect=repr(defect))
                tx.timers.set(EXECUTION_TIMER, arn, tx.now + PUT_OFF_MS)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("executions make no attempts")


def _work(tx: Transaction, arn: str) -> None:
    live = load(tx, arn)
    if live is None:
        tx.timers.clear(EXECUTION_TIMER, arn)
        return
    look_at_clock(live.progress)
    go_on(tx, live)
