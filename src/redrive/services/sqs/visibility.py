"""When a queue has something to give: for who feeds functions from queues and must not ask in vain."""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.services.sqs.model.queue import Queue
from redrive.store.api import Transaction


def next_visible(tx: Transaction, queue_arn: str) -> Instant | None:
    """When the queue's next message is visible, in the past if one is now; None if it has none, or does not exist."""
    queue = _queue(tx, queue_arn)
    return None if queue is None else next_visible_of(tx, queue)


def next_visible_of(tx: Transaction, queue: Queue) -> Instant | None:
    """When a receive of the queue may next find something; a message that waits for its group is not counted."""
    if queue.is_fifo:
        return tx.messages.next_visible_in_order(queue.contents)
    return tx.messages.next_visible(queue.contents, tx.now)


def count_visible(tx: Transaction, queue_arn: str, limit: int) -> int:
    """How many messages of the queue are visible, counting no further than `limit`."""
    queue = _queue(tx, queue_arn)
    return 0 if queue is None else tx.messages.count_visible(queue.contents, tx.now, limit=limit)


def _queue(tx: Transaction, queue_arn: str) -> Queue | None:
    arn = Arn.parse(queue_arn)
    return tx.resources.get(Queue, Scope(arn.account, arn.region), arn.resource)
