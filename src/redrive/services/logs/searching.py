"""Runs a query of Logs Insights: reads events page by page, each page in a transaction, and computes between them."""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from redrive.core.clock import Instant
from redrive.core.documents import dump_json, load_json
from redrive.core.scope import Scope
from redrive.delivery.outside.reading import RunStep
from redrive.languages.insights import (
    LogOrigin,
    MalformedQuery,
    Query,
    QueryRun,
    QueryTooLarge,
    ResultRow,
    SearchedEvent,
    compile_query,
)
from redrive.services.logs import limits
from redrive.services.logs.model.group import LogGroup
from redrive.services.logs.model.query import TIMER, LogQuery, QueryStatus, Scanned, timer_name
from redrive.store.api import Transaction
from redrive.store.tables.log_events import LogRow, Place


class _Ended(Exception):
    """The query was stopped, or another node runs it."""


class _TimedOut(Exception):
    """The query's time is over."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a run found: pages of results, each packed, and how much it has read."""

    status: QueryStatus
    scanned: Scanned
    pages: tuple[bytes, ...] = ()
    count: int = 0
    why: str = ""


def search(run_step: RunStep, scope: Scope, query: LogQuery) -> SearchResult | None:
    """QueryRun a query to its end; None if it is no longer this run's to end."""
    return _Search(run_step, scope, query).whole()


class _Search:
    """One run of a stored query."""

    def __init__(self, run_step: RunStep, scope: Scope, query: LogQuery) -> None:
        self._run_step = run_step
        self._scope = scope
        self._query = query
        self._records = 0
        self._bytes = 0
        self._matched = 0

    def whole(self) -> SearchResult | None:
        query = self._query
        try:
            compiled = compile_query(query.text, now=query.created_at)
            run = compiled.begin(query.limit)
            self._read(compiled, run)
            rows = run.finish()
        except _Ended:
            return None
        except _TimedOut:
            return SearchResult(QueryStatus.TIMEOUT, self._scanned)
        except (MalformedQuery, QueryTooLarge) as error:
            return SearchResult(QueryStatus.FAILED, self._scanned, why=str(error))
        self._matched = run.matched
        return SearchResult(QueryStatus.COMPLETE, self._scanned, tuple(packed_pages(rows)), len(rows))

    @property
    def _scanned(self) -> Scanned:
        return Scanned(self._records, self._bytes, self._matched)

    def _read(self, compiled: Query, run: QueryRun) -> None:
        """Feed all events of the query's time, and of the time that it compares with, newest first."""
        query = self._query
        windows = [(query.start, query.end, False)]
        earlier = compiled.earlier(query.start, query.end)
        if earlier is not None:
            windows.append((*earlier, True))
        for start, end, is_earlier in windows:
            pages = [self._pages(name, max(start, 0), end, is_earlier=is_earlier) for name in query.group_names]
            if len(pages) == 1:
                for page in pages[0]:
                    run.push(page)
                    self._matched = run.matched
            else:
                run.push(heapq.merge(*map(_events, pages), key=_age))

    def _pages(self, name: str, start: Instant, end: Instant, *, is_earlier: bool) -> Iterator[list[SearchedEvent]]:
        """The events of a group, newest first, page by page."""
        origin = LogOrigin(f"{self._scope.account}:{name}", self._scope.region, is_earlier)
        place: Place | None = Place(end + 1, 0)
        while place is not None:
            rows, place = self._run_step(_PageStep(self, name, place, start))
            self._count(rows)
            yield [
                SearchedEvent(at, text, stream, ingested_at, seq, origin, transformed)
                for seq, stream, at, ingested_at, text, transformed in rows
            ]

    def read_page(self, tx: Transaction, name: str, place: Place, start: Instant) -> tuple[list[LogRow], Place | None]:
        """One page, and the place of the next; None after the last. Errors: _Ended."""
        self._renew(tx)
        group = tx.resources.get(LogGroup, self._scope, name)
        if group is None:
            return [], None
        start = max(start, group.kept_since(tx.now))
        rows = tx.log_events.page_until(
            group.id, place, start=start, limit=limits.QUERY_PAGE_EVENTS, characters=limits.QUERY_PAGE_CHARACTERS
        )
        return rows, Place(rows[-1][2], rows[-1][0] - 1) if rows else None

    def _count(self, rows: list[LogRow]) -> None:
        self._records += len(rows)
        self._bytes += sum([len(row[4]) for row in rows])

    def _renew(self, tx: Transaction) -> None:
        """See whether the query still is this run's, and from time to time renew its lease. Errors: _Ended."""
        query = tx.resources.get(LogQuery, self._scope, self._query.id)
        if query is None or query.status is not QueryStatus.RUNNING or query.fence != self._query.fence:
            raise _Ended
        if tx.now - query.renewed_at < limits.QUERY_RENEWED_MS:
            return
        if query.started_at is not None and tx.now - query.started_at > limits.QUERY_MS_MAX:
            raise _TimedOut
        tx.resources.put(self._scope, replace(query, renewed_at=tx.now, scanned=self._scanned))
        tx.timers.set(TIMER, timer_name(self._scope, query.id), tx.now + limits.QUERY_LEASE_MS)


@dataclass(frozen=True, slots=True)
class _PageStep:
    """The step that reads a page."""

    search: _Search
    name: str
    place: Place
    start: Instant

    def __call__(self, tx: Transaction) -> tuple[list[LogRow], Place | None]:
        return self.search.read_page(tx, self.name, self.place, self.start)


def _events(pages: Iterable[list[SearchedEvent]]) -> Iterator[SearchedEvent]:
    for page in pages:
        yield from page


def _age(event: SearchedEvent) -> tuple[int, int]:
    return -event.at, -event.seq


def packed_pages(rows: list[ResultRow]) -> Iterator[bytes]:
    """The rows of a result, packed by pages of as many as one answer shows."""
    for start in range(0, len(rows), limits.QUERY_RESULTS_PAGE):
        yield zlib.compress(dump_json(rows[start : start + limits.QUERY_RESULTS_PAGE]).encode(), 1)


def unpacked(page: bytes) -> list[list[list[str]]]:
    """The rows of a page."""
    found: list[list[list[str]]] = load_json(zlib.decompress(page))
    return found
