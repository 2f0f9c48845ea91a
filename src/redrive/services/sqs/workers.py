"""The due work of SQS: once an hour, what has passed its retention is forgotten.

Receives look past expired messages by themselves, so the sweep only frees room. It also forgets old attempts, and
what FIFO queues no longer need to remember.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.delivery.errand import Result
from redrive.delivery.watches import arrived
from redrive.delivery.worker import Attempt
from redrive.services.sqs import limits
from redrive.services.sqs.model import Queue
from redrive.store.api import Transaction

RETENTION = "sqs.retention"
"""The kind of the sweep's timer, and the name of its worker."""

_EVERYWHERE = "everywhere"


def begin_retention(tx: Transaction) -> None:
    """Have the sweep run from now on, if it does not yet: the first queue of a store begins it."""
    if tx.timers.get(RETENTION, _EVERYWHERE) is None:
        tx.timers.set(RETENTION, _EVERYWHERE, tx.now + limits.SWEEP_INTERVAL_MS)
        tx.notify("due")


class RetentionWorker:
    """Forgets messages whose retention has passed, and attempts older than 14 days."""

    name = timer = RETENTION
    upkeep = True

    def next_due(self, tx: Transaction, *, free: int) -> Instant | None:
        return tx.timers.next(RETENTION)

    def claim(self, tx: Transaction, *, free: int) -> Sequence[Attempt]:
        for _, queue in tx.resources.everywhere(Queue):
            if queue.is_fifo:
                if tx.messages.expire_in_order(queue.id, tx.now):
                    arrived(tx, queue.arn, tx.now)
            else:
                tx.messages.expire(queue.id, tx.now)
        tx.dedup.sweep(tx.now)
        tx.attempts.sweep(tx.now - limits.ATTEMPTS_KEPT_MS)
        tx.timers.set(RETENTION, _EVERYWHERE, tx.now + limits.SWEEP_INTERVAL_MS)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("the retention sweep makes no attempts")
