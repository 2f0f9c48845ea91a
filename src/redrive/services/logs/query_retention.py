"""The cleanup of queries, and of what they have found, after a week."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.delivery.upkeep.worker import rest_until
from redrive.services.logs import limits
from redrive.services.logs.model.query import LogQuery, blob_name
from redrive.store.api import Transaction

QUERY_RETENTION = "logs.query_retention"
"""The kind of the sweep's timer. A query's end sets it."""


class QuerySweep:
    """Deletes queries that have ended, a week after they were started."""

    timer = QUERY_RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(QUERY_RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        left = limit
        over_at: list[Instant] = []
        for scope, query in tx.resources.everywhere(LogQuery):
            if not query.status.has_ended:
                continue
            if query.created_at + limits.QUERY_KEPT_MS > tx.now:
                over_at.append(query.created_at + limits.QUERY_KEPT_MS)
                continue
            if left <= 0:
                return  # The timer stays due, so the next claim continues.
            forget_query(tx, scope, query)
            left -= 1
        rest_until(tx, QUERY_RETENTION, min(over_at, default=None))


def forget_query(tx: Transaction, scope: Scope, query: LogQuery) -> None:
    """Delete a query and its results."""
    for page in range(-(-query.result_count // limits.QUERY_RESULTS_PAGE)):
        tx.blobs.delete(blob_name(query.id, page))
    tx.resources.delete(LogQuery, scope, query.id)
