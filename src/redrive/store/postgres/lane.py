"""A lane: one connection, on which batches of steps run, each batch in one transaction.

    shared   the steps of a batch run beside each other and beside those of other nodes. They take the store's lock
             together, reserve what they read in order to write it, and find definitions as they remember them
    alone    the steps run one after another, and nobody else's meanwhile: under the store's lock, exclusively

Each step begins shared. A step that changes definitions, or that meets a conflict, runs again alone. There, any code
that is right on SQLite is right.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from greenlet import GreenletExit

from redrive.core.errors import Bug, Conflict
from redrive.store.api import StartAnew, Step, Tables, Transaction, answer_of
from redrive.store.connection import StoreFull
from redrive.store.postgres.database import PostgresDatabase
from redrive.store.postgres.failures import ConnectionLost, InDoubt, Outdated, StatementFailed
from redrive.store.postgres.pipeline import Answer, Pipeline
from redrive.store.postgres.work import LocalLocks, NeedsToBeAlone, Work
from redrive.store.tables.metrics import MetricTable

POSTPONED = object()
"""The result of a step that has done nothing yet, because it has to be alone."""

REPEATS_MAX = 5
"""How often a batch is run again after conflicts, before the conflict is its answer."""

STORE_LOCK = 0x7265647269766500
"""The advisory lock that shared batches take together, and batches that are alone take exclusively."""

_TAKE_SHARED = f"SELECT pg_advisory_xact_lock_shared({STORE_LOCK})"
_TAKE_ALONE = f"SELECT pg_advisory_xact_lock({STORE_LOCK})"
# A batch that relies on old definitions must not commit, and its commit may be sent with its first statement.
_CHECK = "SELECT 1 / (generation = ?)::int FROM store_state"
_READ = "SELECT generation FROM store_state"
_BUMP = "UPDATE store_state SET generation = generation + 1 RETURNING generation"

Concluded = Callable[[Sequence[object], frozenset[str]], None]


@dataclass(slots=True)
class Batch:
    """Steps that share a transaction, and how far they are."""

    steps: Sequence[Step[object]]
    is_alone: bool
    concluded: Concluded
    is_guarded: bool = False
    repeats: int = 0
    results: list[object] = field(default_factory=list)
    topics: set[str] = field(default_factory=set)
    metrics: list[MetricTable] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    unfinished: int = 0
    is_committing: bool = False
    failure: BaseException | None = None

    def begin(self) -> None:
        """Forget an earlier attempt."""
        self.results = [None] * len(self.steps)
        self.topics, self.metrics, self.works = set(), [], []
        self.unfinished, self.is_committing, self.failure = 0, False, None


class MakeTransaction(Protocol):
    """Makes the transaction of one step."""

    def __call__(self, tables: Tables, *, is_guarded: bool) -> Transaction: ...


class Lane:
    """Runs one batch at a time. `start` begins; `go_on` is called when the socket can be read or written."""

    def __init__(self, pipeline: Callable[[Callable[[Exception], None]], Pipeline], transaction: MakeTransaction, *,
                 resources_max: int) -> None:  # fmt: skip
        self._locks = LocalLocks()
        self._database = PostgresDatabase(self._answered, self._branch, self._locks)
        self.tables = Tables(self._database, resources_max=resources_max)
        self.pipeline = pipeline(self._failed)
        self._transaction = transaction
        self._ready: deque[tuple[Work, tuple[Answer, ...]]] = deque()
        self._batch: Batch | None = None
        self._generation: int | None = None
        self._is_lost = False

    @property
    def is_lost(self) -> bool:
        """Whether the connection is lost. Such a lane runs no more batches."""
        return self._is_lost

    @property
    def is_busy(self) -> bool:
        """Whether a batch is under way."""
        return self._batch is not None

    def start(self, batch: Batch) -> None:
        """Begin a batch. It is concluded later, by `go_on`; or now, if the connection is lost."""
        if self._batch is not None:
            raise Bug("a lane runs one batch at a time")
        self._batch = batch
        self._attempt(batch)

    def go_on(self) -> None:
        """Read what has arrived, and let the steps go on that have waited for it."""
        try:
            self.pipeline.read()
            self._turn()
        except ConnectionLost as lost:
            self._lost(lost)

    def _attempt(self, batch: Batch) -> None:
        batch.begin()
        self.tables.forget_hints()
        self._database.begin_transaction(self.pipeline)
        queue = self.pipeline.queue
        queue("BEGIN", ())
        if batch.is_alone or self._generation is None:
            queue(_TAKE_ALONE if batch.is_alone else _TAKE_SHARED, ())
            queue(_READ, (), self._learned)
        else:
            queue(_TAKE_SHARED, ())
            queue(_CHECK, (self._generation,))
            self.pipeline.mark()
            self._start_all(batch)
        try:
            self._turn()
        except ConnectionLost as lost:
            self._lost(lost)

    def _learned(self, answer: Answer) -> None:
        """The generation of the definitions is known, so the steps can begin."""
        assert self._batch is not None
        generation = int(answer.rows[0][0])
        if generation != self._generation:
            self._generation = generation
            self.tables.forget()
        self._start_all(self._batch)

    def _start_all(self, batch: Batch) -> None:
        if batch.is_alone:
            batch.works = [Work(partial(self._run_in_turn, batch), is_alone=True)]
        else:
            batch.works = [
                Work(partial(self._run_beside, batch, place, step), is_alone=False)
                for place, step in enumerate(batch.steps)
            ]
        batch.unfinished = len(batch.works)
        self._ready.extend([(work, ()) for work in batch.works])

    def _run_beside(self, batch: Batch, place: int, step: Step[object]) -> None:
        """Run one step of a shared batch, in a greenlet of its own."""
        tx = self._transaction(self.tables, is_guarded=False)
        try:
            batch.results[place] = step(tx)
        except (Conflict, StoreFull):
            raise
        except NeedsToBeAlone:
            if self._database.written:
                raise
            batch.results[place] = POSTPONED
        except Exception as error:
            if self._database.written:
                raise StartAnew from error
            batch.results[place] = answer_of(error)
        else:
            batch.topics |= tx.topics
            batch.metrics.append(tx.metrics)

    def _run_in_turn(self, batch: Batch) -> None:
        """Run the steps of a batch that is alone."""
        database = self._database
        for place, step in enumerate(batch.steps):
            tx = self._transaction(self.tables, is_guarded=batch.is_guarded)
            if batch.is_guarded:
                database.write("SAVEPOINT step", ())
            written = database.written
            try:
                batch.results[place] = step(tx)
            except (Conflict, StoreFull):
                raise
            except Exception as error:
                if database.written != written:
                    if not batch.is_guarded:
                        raise StartAnew from error
                    database.write("ROLLBACK TO step", ())
                    self.tables.undone()
                batch.results[place] = answer_of(error)
            else:
                batch.topics |= tx.topics
                batch.metrics.append(tx.metrics)
            if batch.is_guarded:
                database.write("RELEASE step", ())

    def _branch(self, branches: Sequence[Work]) -> None:
        assert self._batch is not None
        self._batch.works.extend(branches)
        self._batch.unfinished += len(branches)
        self._ready.extend([(branch, ()) for branch in branches])

    def _answered(self, work: Work, answer: Answer) -> None:
        self._ready.append((work, (answer,)))

    def _failed(self, error: Exception) -> None:
        if self._batch is not None and self._batch.failure is None:
            self._batch.failure = error

    def _turn(self) -> None:
        """Let steps run until all of them wait; then send what they have queued, or commit."""
        batch = self._batch
        if batch is None:
            return
        while self._ready and batch.failure is None:
            work, given = self._ready.popleft()
            self._resume(batch, work, given)
        if batch.failure is not None:
            self._start_over(batch, batch.failure)
            return
        if batch.works and not batch.unfinished and not batch.is_committing:
            self._commit(batch)
        self._database.queue_locks()
        if batch.unfinished and not self.pipeline.has_queued and not self.pipeline.awaits:
            self._start_over(batch, Conflict("steps wait for each other"))
            return
        self.pipeline.flush()

    def _resume(self, batch: Batch, work: Work, given: tuple[Answer, ...]) -> None:
        try:
            work.switch(*given)
        except BaseException as error:  # noqa: BLE001 - `_start_over` says what follows.
            batch.failure = error
            return
        if work.dead:
            batch.unfinished -= 1
            if work.within is not None:
                work.within.branches_left -= 1
                if not work.within.branches_left:
                    self._ready.append((work.within, ()))
            self._ready.extend([(heir, ()) for heir in self._locks.release(work)])

    def _commit(self, batch: Batch) -> None:
        batch.is_committing = True
        if self._database.has_changed_definitions:
            self.pipeline.queue(_BUMP, (), self._bumped)
        self.pipeline.queue("COMMIT", (), lambda _: self._committed(batch))

    def _bumped(self, answer: Answer) -> None:
        self._generation = int(answer.rows[0][0])

    def _committed(self, batch: Batch) -> None:
        for metrics in batch.metrics:
            metrics.forget_flushed()  # First: a step's counts are not part of another step's flush.
        for metrics in batch.metrics:
            metrics.committed()
        self._conclude(batch, batch.results, frozenset(batch.topics))

    def _conclude(self, batch: Batch, results: Sequence[object], topics: frozenset[str] = frozenset()) -> None:
        self._batch = None
        batch.concluded(results, topics)

    def _start_over(self, batch: Batch, failure: BaseException) -> None:
        """Roll back, and run the batch again in the way that its failure asks for, or answer with the failure."""
        self._roll_back(batch)
        self.pipeline.recover()
        self.pipeline.queue("ROLLBACK", ())
        batch.repeats += 1
        match failure:
            case ConnectionLost():
                raise failure
            case Outdated():
                self._generation = None
            case NeedsToBeAlone():
                batch.is_alone = True
            case StartAnew():
                batch.is_guarded = batch.is_alone = True
            case Conflict():
                batch.is_alone = True
            case StatementFailed() if len(batch.steps) > 1:
                self._split(batch)
                return
            case Exception():
                self._give_up(batch, failure)
                return
            case _:
                self._give_up(batch, failure)
                raise failure
        if batch.repeats > REPEATS_MAX:
            self._give_up(batch, failure if isinstance(failure, Conflict) else Conflict(repr(failure)))
            return
        self._attempt(batch)

    def _give_up(self, batch: Batch, failure: BaseException) -> None:
        self.pipeline.flush()
        self._conclude(batch, [failure] * len(batch.steps))

    def _split(self, batch: Batch) -> None:
        """Run the steps in transactions of their own, because one of them has a statement that fails."""
        results: list[object] = []
        topics: set[str] = set()

        def following(answers: Sequence[object], told: frozenset[str]) -> None:
            results.extend(answers)
            topics.update(told)
            if len(results) == len(batch.steps):
                self._conclude(batch, results, frozenset(topics))
                return
            self._batch = one = Batch([batch.steps[len(results)]], True, following)
            self._attempt(one)

        following((), frozenset())

    def _roll_back(self, batch: Batch) -> None:
        self._ready.clear()
        for work in batch.works:
            work.is_over = True
            if not work.dead:
                work.throw(GreenletExit)
        if self._database.has_changed_definitions:
            self._generation = None
        self._locks.clear()
        self.tables.undone()

    def _lost(self, lost: ConnectionLost) -> None:
        batch, self._batch = self._batch, None
        self._is_lost = True
        self._generation = None
        if batch is not None:
            self._roll_back(batch)
            error = InDoubt() if batch.is_committing else lost
            batch.concluded([error] * len(batch.steps), frozenset())
