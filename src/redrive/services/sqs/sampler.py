"""Metrics that describe the present state of a queue, measured each minute while the queue has messages."""

from __future__ import annotations

from redrive.core.clock import SECOND_MS
from redrive.core.documents import load_json
from redrive.core.scope import Scope
from redrive.services.sqs.model.metrics import NAMESPACE, metrics_of
from redrive.services.sqs.model.queue import Queue
from redrive.store.api import Transaction
from redrive.store.tables.metrics import Watched


class QueueSampler:
    """Measures the number of messages in a queue, and the age of the oldest."""

    namespace = NAMESPACE

    def sample(self, tx: Transaction, watched: Watched) -> bool:
        """Measure a queue. Returns False for an empty queue, which is not measured again until it is used."""
        scope = Scope(*watched.scope.split("/", 1))
        queue = tx.resources.get(Queue, scope, load_json(watched.dimensions)["QueueName"])
        if queue is None:
            return False
        counts = tx.messages.counts(queue.contents, tx.now)
        oldest_at = tx.messages.oldest_sent_at(queue.contents, tx.now)
        metrics = metrics_of(queue.arn)
        tx.metrics.put(metrics.visible, tx.now, counts.visible)
        tx.metrics.put(metrics.in_flight, tx.now, counts.in_flight)
        tx.metrics.put(metrics.delayed, tx.now, counts.delayed)
        tx.metrics.put(metrics.oldest_age_s, tx.now, 0 if oldest_at is None else (tx.now - oldest_at) // SECOND_MS)
        return oldest_at is not None
