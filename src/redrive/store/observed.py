"""Gateways of a store that is searched: resources whose cached reads are noted, and no history of deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.store.database import Database
from redrive.store.tables.attempts import AttemptRecord, AttemptTable, NoteRecord, RunRecord
from redrive.store.tables.resources import Resource, ResourceCache, ResourceTable
from redrive.store.tables.runs import Link, Move, RunTable

R = TypeVar("R", bound=Resource)


class ObservedResources(ResourceTable):
    """Resources. `kinds` receives the kind of each read, also of those that a cache answers without a statement."""

    __slots__ = ("_kinds",)

    def __init__(self, database: Database, kinds: set[str]) -> None:
        super().__init__(database, ResourceCache())
        self._kinds = kinds

    def get(self, cls: type[R], scope: Scope, name: str) -> R | None:
        self._kinds.add(cls.KIND)
        return super().get(cls, scope, name)

    def everywhere(self, cls: type[R]) -> Sequence[tuple[Scope, R]]:
        self._kinds.add(cls.KIND)
        return super().everywhere(cls)


class NoAttempts(AttemptTable):
    """Keeps no record of runs: they say what happened, and decide nothing."""

    __slots__ = ()

    def record(self, run: RunRecord, attempt: AttemptRecord) -> int:
        return 0

    def record_successes(self, ended: Sequence[tuple[RunRecord, AttemptRecord]]) -> None:
        return None

    def record_retry(
        self, delivery_id: str, attempt: int, ended_at: Instant, *, code: str, message: str, next_at: Instant,
        log_stream: str = "",
    ) -> bool:  # fmt: skip
        return True

    def note(self, delivery_id: str, note: NoteRecord) -> None:
        return None


class NoRuns(RunTable):
    """Keeps no record of the messages of batches, and of those that went to another queue."""

    __slots__ = ()

    def link(self, run: int, links: Sequence[Link]) -> None:
        return None

    def move(self, moves: Sequence[Move]) -> None:
        return None
