"""The due work of SQS: once an hour, what has passed its retention is forgotten.

Receives look past expired messages by themselves, so the sweep only frees room. It also forgets what FIFO queues no
longer need to remember.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.delivery.errand import Result
from redrive.delivery.watches import arrived
from redrive.delivery.worker import Attempt, FreeSlots
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
    """Forgets messages whose retention has passed."""

    name = timer = RETENTION
    upkeep = True

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(RETENTION)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        room = limits.SWEPT_ROWS_MAX
        for _, queue in tx.resources.everywhere(Queue):
            expire = tx.messages.expire_some_in_order if queue.is_fifo else tx.messages.expire
            expired = expire(queue.contents, tx.now, limit=room)
            if expired and queue.is_fifo:
                arrived(tx, queue.arn, tx.now)  # What the expired ones kept back.
            room -= expired
            if room <= 0:
                return ()  # The timer stays due, and the next claim goes on.
        remembered = tx.dedup.sweep(tx.now, limit=limits.SWEPT_ROWS_MAX)
        if remembered < limits.SWEPT_ROWS_MAX:
            tx.timers.set(RETENTION, _EVERYWHERE, tx.now + limits.SWEEP_INTERVAL_MS)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("the retention sweep makes no attempts")
