"""An engine in memory and virtual time, made for playing many histories: it can be saved and put back.

It is the engine of `redrive serve`, its services and its workers, without the workers that only keep house. Nothing
here knows of faults.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import zip_longest

from redrive.core.clock import Instant, parse_instant
from redrive.core.documents import Document
from redrive.core.entropy import Entropy, SeededEntropy, new_uuid
from redrive.core.errors import Bug
from redrive.core.log import SilentLog
from redrive.core.scope import Caller, Scope
from redrive.delivery.invocation import Invoker
from redrive.engine.build import bind_registry, build_workers
from redrive.engine.engine import Engine
from redrive.gateway.chain import DEFAULT_REGION, Gateway
from redrive.services.sqs.model import Queue
from redrive.services.sqs.workers_visibility import next_visible
from redrive.store.api import Transaction
from redrive.store.sqlite import SqliteStore
from redrive.wire.models import Models

START = parse_instant("2025-01-01T00:00:00Z")
SCOPE = Scope("000000000000", DEFAULT_REGION)
ROUNDS_MAX = 10_000
"""More rounds of claims than this without a run mean that something is due for ever."""

_PAGE_BYTES = 4_096

_TELLING_TABLES = ("deliveries", "dedup_receives", "dedup_sends", "items", "messages", "timers")
"""The store's tables whose rows decide what happens next. Resources are made before the first history."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A stage as it was at an instant: its store's pages, of which most are shared with other moments."""

    pages: tuple[bytes, ...]
    now: Instant


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whether a queue has a message, seen or unseen, and how many its dead-letter queue has."""

    is_pending: bool
    dead: int


@functools.cache
def models() -> Models:
    """AWS's models, read once: they do not change."""
    return Models()


class StageClock:
    """A clock that stands where it was put."""

    def __init__(self, now: Instant) -> None:
        self._now = now

    def now(self) -> Instant:
        return self._now

    def set(self, instant: Instant) -> None:
        """It is now that time, later or earlier than before."""
        self._now = instant


class Stage:
    """One engine, its clock and its ids. Time moves only when it is told to."""

    def __init__(self, invoker: Invoker, *, seed: int) -> None:
        self.clock = StageClock(START)
        self._pages: tuple[bytes, ...] = ()
        self._seed = seed
        self._entropy = _Reseeded(f"{seed}")
        self._store = SqliteStore(None, clock=self.clock, entropy=self._entropy)
        registry = bind_registry(self._store, models())
        workers = [worker for worker in build_workers(SilentLog()) if not worker.upkeep]
        self.engine = Engine(self._store.run, registry, workers, invoker, SilentLog())
        self.gateway = Gateway(self.engine, models(), account=SCOPE.account, entropy=self._entropy, log=SilentLog())

    @property
    def now(self) -> Instant:
        """The virtual time."""
        return self.clock.now()

    def call(self, service: str, operation: str, **params: object) -> Document:
        """Run one operation as the account itself, without the wire. Errors: ServiceError."""
        return self.engine.call(Caller(SCOPE, new_uuid(self._entropy)), service, operation, params)

    def reseed(self, name: str) -> None:
        """Let the ids that are drawn from now on follow from this name and the stage's seed."""
        self._entropy.reseed(f"{self._seed}/{name}")

    def save(self) -> Saved:
        """All there is, for `load`."""
        content = self._store.save()
        pages = (content[at : at + _PAGE_BYTES] for at in range(0, len(content), _PAGE_BYTES))
        self._pages = tuple(
            known if page == known else page for page, known in zip_longest(pages, self._pages) if page is not None
        )
        return Saved(self._pages, self.now)

    def load(self, saved: Saved) -> None:
        """Be again as it was then. Time may go backwards by this, and by nothing else."""
        self._pages = saved.pages
        self._store.load(b"".join(saved.pages))
        self.clock.set(saved.now)

    def digest(self) -> bytes:
        """A hash of all that decides what happens next."""
        return self._store.digest(_TELLING_TABLES)

    def settle(self) -> None:
        """Do what is due now."""
        for _ in range(ROUNDS_MAX):
            if not self.turn():
                return
        raise Bug("work is due for ever: a worker is due and makes no progress")

    def turn(self) -> bool:
        """One round of claims, and the runs that it gives; whether anything was due."""
        claimed = self.engine.claim(free=1)
        for attempt in claimed.attempts:
            self.engine.settle(attempt, self.engine.perform(attempt))
        return claimed.progressed

    def move_to(self, instant: Instant) -> None:
        """Let time pass in which nobody is given anything to do: what was due meanwhile is done at its end."""
        self.clock.set(max(instant, self.now))

    def next_due(self) -> Instant | None:
        """When something is next due."""
        return self.engine.next_due(free=1)

    def waiting(self, queue_arn: str, dead_letter_arn: str) -> Waiting:
        """What is left in a queue and in its dead-letter queue."""
        return self.engine.run(
            lambda tx: Waiting(
                next_visible(tx, queue_arn) is not None, _message_count(tx, dead_letter_arn.rpartition(":")[2])
            )
        )

    def close(self) -> None:
        """Let go of everything."""
        self._store.close()


def _message_count(tx: Transaction, queue_name: str) -> int:
    queue = tx.resources.get(Queue, SCOPE, queue_name) if queue_name else None
    if queue is None:
        return 0
    counts = tx.messages.counts(queue.id, tx.now)
    return counts.visible + counts.in_flight + counts.delayed


class _Reseeded:
    """Entropy that begins anew from a seed."""

    def __init__(self, seed: str) -> None:
        self._source: Entropy = SeededEntropy(seed)

    def reseed(self, seed: str) -> None:
        self._source = SeededEntropy(seed)

    def hex(self, length: int) -> str:
        return self._source.hex(length)

    def uniform(self, low: float, high: float) -> float:
        return self._source.uniform(low, high)

    def fork(self, name: str) -> Entropy:
        return self._source.fork(name)
