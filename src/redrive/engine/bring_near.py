"""What a clock that was far ahead has left behind, brought near: once, at the start after it was set right.

No message is hidden for more than twelve hours, and no delivery waits for more than a day, by rules of AWS. What
stands further in the future was put there by a clock that was wrong. Timers of schedules stay: what has fired is not
fired again.
"""

from __future__ import annotations

from redrive.core.clock import DAY_MS, SECOND_MS
from redrive.services.sqs import limits
from redrive.services.sqs.model.queue import Queue
from redrive.store.api import Transaction


def bring_near(tx: Transaction) -> None:
    """Have come due now what is due later than any rule allows; FIFO queues forget such sends in five minutes."""
    hidden_until_max = tx.now + limits.VISIBILITY_TIMEOUT_S_MAX * SECOND_MS
    for _, queue in tx.resources.everywhere(Queue):
        tx.messages.bring_near(queue.contents, tx.now, hidden_until_max=hidden_until_max)
    tx.dedup.bring_near(tx.now + limits.DEDUPLICATION_MS)
    tx.deliveries.bring_near(tx.now, due_at_max=tx.now + DAY_MS)
