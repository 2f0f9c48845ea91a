"""The cleanup of expired rows in SQS: old messages, and the deduplication records of FIFO queues.

Receives skip expired messages, so the sweep only frees space.
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.worker import rest_until
from redrive.services.sqs.model.queue import Queue
from redrive.store.api import Transaction

RETENTION = "sqs.retention"
"""The kind of the sweep's timer. An operation that stores a message also sets the timer to the message's expiry."""


class MessageSweep:
    """Deletes expired messages of all queues, and expired records of FIFO sends and receives."""

    timer = RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        left = limit
        over_at: list[Instant] = []
        for _, queue in tx.resources.everywhere(Queue):
            expire = tx.messages.expire_some_in_order if queue.is_fifo else tx.messages.expire
            expired = expire(queue.contents, tx.now, limit=left)
            if expired and queue.is_fifo:
                arrived(tx, queue.arn, tx.now)  # Messages behind the expired ones in their group can now be received.
            left -= expired
            if left <= 0:
                return  # The timer stays due, so the next claim continues.
            first_at = tx.messages.first_expiry(queue.contents)
            over_at += [] if first_at is None else [first_at]
        if tx.dedup.sweep(tx.now, limit=limit) < limit:
            remembered_until = tx.dedup.next()
            over_at += [] if remembered_until is None else [remembered_until]
            rest_until(tx, RETENTION, min(over_at, default=None))
