"""Gateways of a store that is searched: resources whose cached reads are noted, timers that are read at once, and no
history of deliveries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from redrive.core.clock import Instant
from redrive.core.documents import load_dataclass
from redrive.core.scope import Scope
from redrive.store.api import NO_PARAMS
from redrive.store.database import Database
from redrive.store.parts import RESOURCES, Part
from redrive.store.queries import load_queries
from redrive.store.tables.attempts import AttemptRecord, AttemptTable, NoteRecord, RunRecord
from redrive.store.tables.resources import Load, Resource, ResourceCache, ResourceTable
from redrive.store.tables.runs import Link, Move, RunTable
from redrive.store.tables.timers import TimerTable

R = TypeVar("R", bound=Resource)
_DOCUMENTS_KEPT = 10_000
_EARLIEST_BY_KIND = load_queries("timers")["next_by_kind"]


class ObservedResources(ResourceTable):
    """Resources. `parts` receives the kind of each read, also of those that a cache answers without a statement."""

    __slots__ = ("_parts",)

    def __init__(self, database: Database, parts: set[Part]) -> None:
        super().__init__(database, ResourceCache(), _loading_once())
        self._parts = parts

    def get(self, cls: type[R], scope: Scope, name: str) -> R | None:
        self._parts.add((RESOURCES, cls.KIND))
        return super().get(cls, scope, name)

    def everywhere(self, cls: type[R]) -> Sequence[tuple[Scope, R]]:
        self._parts.add((RESOURCES, cls.KIND))
        return super().everywhere(cls)


def _loading_once() -> Load:
    """Reads each document once: a search comes to few different ones, again and again."""
    known: dict[tuple[type[Resource], str], Resource] = {}

    def load(cls: type[R], text: str, /) -> R:
        found = known.get((cls, text))
        if found is None:
            if len(known) >= _DOCUMENTS_KEPT:
                known.clear()
            found = known[cls, text] = load_dataclass(cls, text)
        return cast("R", found)

    return load


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


class GroupedTimers(TimerTable):
    """Timers that read the earliest of all kinds at once: a claim asks for dozens of kinds, and few have a timer."""

    __slots__ = ("_by_kind", "_known_at")

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._by_kind: dict[str, Instant] = {}
        self._known_at = -1

    def next(self, kind: str) -> Instant | None:
        if self._known_at != self.version:
            self._by_kind = {str(one): int(at) for one, at in self._database.all(_EARLIEST_BY_KIND, NO_PARAMS)}
            self._known_at = self.version
        return self._by_kind.get(kind)
