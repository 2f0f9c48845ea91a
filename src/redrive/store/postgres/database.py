"""The database port of the tables, for a step that is a greenlet: a statement with an answer parks the step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import cast

import greenlet

from redrive.store.database import Params, Row
from redrive.store.postgres.pipeline import STATEMENTS_KEPT, Answer, Pipeline, statement_of
from redrive.store.postgres.work import LocalLocks, NeedsToBeAlone, Work
from redrive.store.queries import postgresql_text


class PostgresDatabase:
    """Statements of the step that runs now. All methods are called inside a step."""

    is_shared = True

    __slots__ = ("_answered", "_branched", "_keys", "_locks", "has_changed_definitions", "pipeline")

    def __init__(
        self, answered: Callable[[Work, Answer], None], branched: Callable[[Sequence[Work]], None], locks: LocalLocks
    ) -> None:  # fmt: skip
        """`answered` resumes a step with the answer to its statement. `branched` starts branches of the step."""
        self._answered = answered
        self._branched = branched
        self._locks = locks
        self._keys: set[str] = set()
        self.pipeline: Pipeline | None = None
        self.has_changed_definitions = False
        """Whether this transaction has changed what all nodes remember."""

    @property
    def written(self) -> int:
        return _current().written

    def all(self, sql: str, params: Params) -> list[Row]:
        return cast("list[Row]", self._ask(sql, params).rows)

    def each(self, sql: str, params: Params) -> Iterator[Row]:
        return iter(self._ask(sql, params).rows)

    def one(self, sql: str, params: Params) -> Row | None:
        rows = self._ask(sql, params).rows
        return rows[0] if rows else None

    def run(self, sql: str, params: Params) -> int:
        return self._ask(sql, params).changed

    def insert(self, sql: str, params: Params) -> int | None:
        row = self.one(sql, params)
        return None if row is None else cast(int, row[0])

    def write(self, sql: str, params: Params) -> None:
        _current().written += 1
        self._sending.queue(sql, params)

    def write_one(self, sql: str, params: Params) -> None:
        _current().written += 1
        self._sending.queue(_exactly_one(sql), params)

    def run_many(self, sql: str, rows: Sequence[Row]) -> None:
        _current().written += 1
        queue = self._sending.queue
        for row in rows:
            queue(sql, row)

    def side_by_side(self, branches: Sequence[Callable[[], object]]) -> None:
        work = _current()
        if work.is_alone or len(branches) < 2:
            for branch in branches:
                branch()
            return
        failures: list[BaseException] = []

        def run(branch: Callable[[], object]) -> None:
            try:
                branch()
            except Exception as error:  # noqa: BLE001 - raised below, in the step itself.
                failures.append(error)

        made = [Work(partial(run, branch), is_alone=False, within=work) for branch in branches]
        work.branches_left = len(made)
        self._branched(made)
        work.park()
        work.written += sum(one.written for one in made)
        if failures:
            raise failures[0]

    def reserve(self, *keys: str) -> None:
        work = _current()
        if work.is_alone:
            return
        for key in sorted(keys):
            if key in work.held:
                continue
            if not self._locks.take(key, work):
                work.park()
            self._keys.add(key)

    def announce(self, *keys: str) -> None:
        if not _current().is_alone:
            self._keys.update(keys)

    def holds(self, key: str) -> bool:
        work = _current()
        return work.is_alone or key in work.held or (work.within is not None and key in work.within.held)

    def require(self, key: str) -> None:
        if not self.holds(key):
            raise NeedsToBeAlone

    def be_alone(self) -> None:
        if not _current().is_alone:
            raise NeedsToBeAlone

    def change_definitions(self) -> None:
        self.be_alone()
        self.has_changed_definitions = True

    def queue_locks(self) -> None:
        """Put the reservations before the statements that are queued. Every node takes locks in the same order."""
        if self._keys:
            numbers = sorted({_number(key) for key in self._keys})
            self._keys.clear()
            listed = "{" + ",".join(map(str, numbers)) + "}"
            self._sending.queue_first(_RESERVE, (listed,))

    def begin_transaction(self, pipeline: Pipeline) -> None:
        """Forget the transaction before."""
        self.pipeline = pipeline
        self.has_changed_definitions = False
        self._keys.clear()

    @property
    def _sending(self) -> Pipeline:
        assert self.pipeline is not None, "a step runs inside a transaction"
        return self.pipeline

    def _ask(self, sql: str, params: Params) -> Answer:
        work = _current()
        self._sending.queue(sql, params, lambda answer: self._answered(work, answer))
        answer = cast(Answer, work.park())
        if answer.changed and not statement_of(sql).only_reads:
            work.written += 1
        return answer


_RESERVE = "SELECT pg_advisory_xact_lock(key) FROM unnest(?::bigint[]) AS keys (key)"


@lru_cache(STATEMENTS_KEPT)
def _exactly_one(sql: str) -> str:
    """The statement, which fails if it does not change exactly one row: see `failures.Outdated`."""
    changed = "WITH changed AS (" + postgresql_text(sql) + " RETURNING 1)"
    return changed + " SELECT 1 / (count(*) = 1)::int FROM changed"  # noqa: S608 - the tables' own statements.


def _number(key: str) -> int:
    """The number of a key's advisory lock. Keys that share a number wait for each other, which harms nobody."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big", signed=True)


def _current() -> Work:
    work = greenlet.getcurrent()
    assert isinstance(work, Work), "the database is used inside a step"
    if work.is_over:
        raise greenlet.GreenletExit
    return work
