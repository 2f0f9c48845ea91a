"""Repairs what a clock that was far ahead left behind. Runs once, at the first start after the clock was corrected.

By AWS's rules, no message is hidden for more than twelve hours, and no delivery waits for more than a day. Rows that
are further in the future come from a wrong clock. Timers of schedules stay, because an occurrence never fires twice.
"""

from __future__ import annotations

from redrive.core.clock import DAY_MS, SECOND_MS
from redrive.services.sqs import limits
from redrive.services.sqs.model.queue import Queue
from redrive.store.api import Transaction


def bring_near(tx: Transaction) -> None:
    """Make due now what is due later than AWS's rules allow. FIFO queues forget such sends within five minutes."""
    hidden_until_max = tx.now + limits.VISIBILITY_TIMEOUT_S_MAX * SECOND_MS
    for _, queue in tx.resources.everywhere(Queue):
        tx.messages.bring_near(queue.contents, tx.now, hidden_until_max=hidden_until_max)
    tx.dedup.bring_near(tx.now + limits.DEDUPLICATION_MS)
    tx.deliveries.bring_near(tx.now, due_at_max=tx.now + DAY_MS)
