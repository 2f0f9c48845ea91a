"""When a queue has messages to receive. Event source mappings use this, so that they poll no empty queue."""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.services.sqs.model.queue import Queue
from redrive.store.api import Transaction


def next_visible(tx: Transaction, queue_arn: str) -> Instant | None:
    """Return when the queue's next message is visible: a past instant if one is visible now, None if there is none.

    None also if the queue does not exist.
    """
    queue = _queue(tx, queue_arn)
    return None if queue is None else next_visible_of(tx, queue)


def next_visible_of(tx: Transaction, queue: Queue) -> Instant | None:
    """Return when the next receive may find a message.

    A message that waits for an earlier one of its group does not count.
    """
    if queue.is_fifo:
        return tx.messages.next_visible_in_order(queue.contents)
    return tx.messages.next_visible(queue.contents, tx.now)


def count_visible(tx: Transaction, queue_arn: str, limit: int) -> int:
    """Count the visible messages of the queue, up to `limit`."""
    queue = _queue(tx, queue_arn)
    return 0 if queue is None else tx.messages.count_visible(queue.contents, tx.now, limit=limit)


def _queue(tx: Transaction, queue_arn: str) -> Queue | None:
    arn = Arn.parse(queue_arn)
    return tx.resources.get(Queue, Scope(arn.account, arn.region), arn.resource)
