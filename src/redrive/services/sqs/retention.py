"""What ages in SQS: messages whose retention has passed, and what FIFO queues no longer need to remember.

Receives look past expired messages by themselves, so the sweep only frees room.
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.worker import rest_until
from redrive.services.sqs.model.queue import Queue
from redrive.store.api import Transaction

RETENTION = "sqs.retention"
"""The kind of the timer of the sweep: whoever stores a message says when it is over."""


class MessageSweep:
    """Messages of all queues; and sends and receives that FIFO queues remember."""

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
                arrived(tx, queue.arn, tx.now)  # What the expired ones kept back.
            left -= expired
            if left <= 0:
                return  # The timer stays due, and the next claim goes on.
            first_at = tx.messages.first_expiry(queue.contents)
            over_at += [] if first_at is None else [first_at]
        if tx.dedup.sweep(tx.now, limit=limit) < limit:
            remembered_until = tx.dedup.next()
            over_at += [] if remembered_until is None else [remembered_until]
            rest_until(tx, RETENTION, min(over_at, default=None))
