"""The worker of Logs Insights: runs queries outside of any transaction, under a lease.

A query's timer is the end of its lease, which the run moves on while it reads. If its node is gone, the query begins
again; nothing of a run is stored before its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from redrive.core.clock import Instant
from redrive.core.log import Log
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.reading import Reading, ReadingResult
from redrive.delivery.upkeep.worker import will_age
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.logs import limits
from redrive.services.logs.model.query import TIMER, LogQuery, QueryStatus, blob_name, scope_and_id
from redrive.services.logs.query_retention import QUERY_RETENTION
from redrive.services.logs.searching import SearchResult, search
from redrive.store.api import Transaction


class QueryWorker:
    """Runs queries that were started."""

    name = TIMER
    timer = None
    upkeep = False

    def __init__(self, log: Log) -> None:
        self._log = log

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(TIMER) if self._room(free) > 0 else None

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        attempts: list[Attempt] = []
        for timer, _ in tx.timers.due(TIMER, tx.now, self._room(free)):
            scope, query_id = scope_and_id(timer)
            query = tx.resources.get(LogQuery, scope, query_id)
            if query is None or query.status.has_ended:
                tx.timers.clear(TIMER, timer)
                continue
            running = replace(
                query, status=QueryStatus.RUNNING, fence=query.fence + 1, started_at=query.started_at or tx.now,
                renewed_at=tx.now,
            )  # fmt: skip
            tx.resources.put(scope, running)
            tx.timers.set(TIMER, timer, tx.now + limits.QUERY_LEASE_MS)
            work = partial(search, scope=scope, query=running)
            attempts.append(Attempt(self.name, timer, running.fence, Reading(work)))
        return attempts

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        found = result.found if isinstance(result, ReadingResult) else None
        scope, query_id = scope_and_id(attempt.key)
        query = tx.resources.get(LogQuery, scope, query_id)
        is_current = query is not None and query.fence == attempt.fence and query.status is QueryStatus.RUNNING
        if query is None or not is_current or not isinstance(found, SearchResult):
            return  # A run that was stopped, or that another one has replaced, or whose answer was lost.
        for number, page in enumerate(found.pages):
            tx.blobs.put(blob_name(query.id, number), page)
        ended = replace(
            query, status=found.status, ended_at=tx.now, scanned=found.scanned, result_count=found.count
        )  # fmt: skip
        tx.resources.put(scope, ended)
        tx.timers.clear(TIMER, attempt.key)
        will_age(tx, QUERY_RETENTION, query.created_at + limits.QUERY_KEPT_MS)
        if found.why:
            self._log.warning("query failed", query_id=query.id, error=found.why)

    def _room(self, free: FreeSlots) -> int:
        """How many queries can begin now. Those that run hold slots as calls do that are no functions."""
        return min(free.room_of(""), limits.QUERIES_AT_ONCE)
