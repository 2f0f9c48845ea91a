"""How steps reach the store: through the group commits of processes, whose threads are run one task at a time.

    run ─► submit to the group of a process ─► perhaps other events happen now, and submit too
                                            ─► the group's next task: begin, commit, finish ─► the answer

The threads of production are simulated in one thread: while one step waits for its answer, other events may happen. So
a batch contains steps of several users and workers. Hazards strike between its tasks, and hit all of its steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar, cast

from redrive.core.clock import Clock, Instant
from redrive.core.errors import Conflict
from redrive.core.knobs import Knobs
from redrive.engine.engine import Engine, Runner
from redrive.engine.faults import Commits
from redrive.engine.rounds import Rounds
from redrive.sim.weather import AnswerLost, Hazard, Weather
from redrive.store.api import Step, Transaction
from redrive.store.group import Follow, GroupCommit
from redrive.store.sqlite import Batch, SqliteStore
from redrive.store.tables.deliveries import Delivery, DeliveryTable

T = TypeVar("T")

WAITING_MAX = 8
"""How many events may wait for an answer at once, each inside the wait of the one before."""


Committed = Callable[[object], None]
"""Called with a step's answer at its commit. Commits are ordered; the waiting caller gets the answer later."""


class Submission:
    """A submitted step: its answer, and whether it was committed, whatever its user is told."""

    __slots__ = ("_committed", "_step", "answers", "is_committed")

    def __init__(self, step: Step[object], committed: Committed | None) -> None:
        self._step = step
        self._committed = committed
        self.answers: list[object] = []
        self.is_committed = False

    def __call__(self, tx: Transaction) -> object:
        return self._step(tx)

    def commit(self, result: object) -> None:
        """The step's batch has been committed."""
        self.is_committed = True
        if self._committed is not None:
            self._committed(result)


class UnreliableBatch:
    """A batch in bad weather: its commit may conflict, or all its answers may be lost."""

    def __init__(self, batch: Batch, steps: Sequence[Step[object]], weather: Weather, left: Callable[[], None]) -> None:
        """`left` is called when the batch is concluded."""
        self._batch = batch
        self._steps = steps
        self._weather = weather
        self._left = left
        self.is_committed = False

    @property
    def results(self) -> Sequence[object]:
        """The steps' results so far. Nobody may get them before the commit."""
        return self._batch.results

    def commit(self) -> None:
        """Commit the steps' writes, unless a hazard strikes."""
        if self._weather.strikes(Hazard.CONFLICT):
            self._batch.fail(Conflict("another transaction was there first"))
        self._batch.commit()
        self.is_committed = not self._batch.has_failed
        if self.is_committed:
            for step, result in zip(self._steps, self._batch.results, strict=True):
                if isinstance(step, Submission) and not isinstance(result, BaseException):
                    step.commit(result)

    def conclude(self) -> tuple[list[object], frozenset[str]]:
        """The steps' results, or AnswerLost for all of them."""
        self._left()
        results, topics = self._batch.conclude()
        if self.is_committed and self._weather.strikes(Hazard.ANSWERS_LOST):
            return [AnswerLost() for _ in results], frozenset()
        return results, topics

    def crash(self) -> None:
        """The process ends here: a batch without commit is rolled back."""
        if not self.is_committed:
            self._batch.fail(Conflict("the process is gone"))
        self._batch.conclude()


class UnreliableStore:
    """The store of a process, as its group commit uses it."""

    is_durable = True

    def __init__(self, store: SqliteStore, weather: Weather) -> None:
        self._store = store
        self._weather = weather
        self.batch: UnreliableBatch | None = None

    @property
    def is_locked(self) -> bool:
        """Whether a transaction is open, so that no other can begin."""
        return self.batch is not None and not self.batch.is_committed

    def begin(
        self, steps: Sequence[Step[object]], *, awaits_disk: bool, follow: Follow | None = None
    ) -> UnreliableBatch:  # fmt: skip
        """Run steps in a transaction that stays open. Nothing follows here: claims of nodes share commits anyway."""
        self.batch = UnreliableBatch(self._store.begin(steps), steps, self._weather, self._concluded)
        return self.batch

    def announce(self, topics: frozenset[str]) -> None:
        """Wake the waiters of these topics."""
        self._store.announce(topics)

    def _concluded(self) -> None:
        self.batch = None


class CountedDeliveries:
    """A transaction's deliveries. Counts the deliveries inside the store that the transaction takes."""

    def __init__(self, table: DeliveryTable) -> None:
        self._table = table
        self.taken = 0

    def due(self, place: str, now: Instant, *, limit: int) -> list[Delivery]:
        """As the table's method."""
        found = self._table.due(place, now, limit=limit)
        self.taken += len(found)
        return found

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)


@dataclass(frozen=True, slots=True)
class _Task:
    process: Process
    work: Callable[[], None]


class MakeEngine(Protocol):
    """Creates an engine that runs its steps with the given runner."""

    def __call__(self, run: Runner, *, commits: Commits | None = None) -> Engine:
        """With `commits`, the engine remembers while no faults exist, as a server's engine does."""
        ...


class Process:
    """The process on a machine between two restarts: a store with its own caches, a group commit, an engine."""

    def __init__(
        self, serving: Serving, store: SqliteStore, engine: MakeEngine, clock: Clock, *, knobs: Knobs
    ) -> None:  # fmt: skip
        self.is_dead = False
        self.waiting = 0
        self.store = store
        self.unreliable = UnreliableStore(store, serving.weather)
        post = partial(serving.post, self)
        self.group = GroupCommit(self.unreliable, post=post, post_commit=post, steps_max=knobs.steps_per_commit)
        self._engine = engine
        self._serving = serving
        self.engine = engine(partial(serving.run, self), commits=store)
        self.rounds = Rounds(engine(self._run_claim), clock)
        self.claimed: Callable[[object, int], None] = lambda _taken, _inside: None
        """Called when a claim is committed, with its result and the number of inside deliveries that it took."""

    def _run_claim(self, step: Step[T]) -> T:
        """Run a step of a claim, and count the deliveries inside the store that it takes."""
        deliveries: list[CountedDeliveries] = []

        def counted(tx: Transaction) -> T:
            deliveries[:] = [CountedDeliveries(tx.deliveries)]
            tx.deliveries = cast(DeliveryTable, deliveries[0])
            return step(tx)

        return self._serving.run(self, counted, committed=lambda taken: self.claimed(taken, deliveries[0].taken))

    def engine_with(self, run: Runner) -> Engine:
        """The same engine with another runner."""
        return self._engine(run)

    def end(self) -> None:
        """End the process: transactions without commit are rolled back, and no answers are given."""
        self.is_dead = True
        if self.unreliable.batch is not None:
            self.unreliable.batch.crash()
        self.store.close()


class Serving:
    """Runs the steps of users and workers in processes."""

    def __init__(self, weather: Weather, *, go_on: Callable[[], bool], crash: Callable[[Process], None]) -> None:
        """`go_on` lets the next event happen now, if possible. `crash` ends a process and starts a new one."""
        self.weather = weather
        self.undone: list[Step[object]] = []
        self._go_on = go_on
        self._crash = crash
        self._tasks: deque[_Task] = deque()
        self._waiting = 0

    def post(self, process: Process, work: Callable[[], None]) -> None:
        """Schedule a task of a process."""
        self._tasks.append(_Task(process, work))

    def run(self, process: Process, step: Step[T], *, committed: Committed | None = None) -> T:
        """Run a step in a process and wait for its answer. `committed` gets it at the commit, even if it is then lost.

        Errors: those of the step; Conflict (it did not happen), AnswerLost (it happened).
        """
        submission = Submission(step, committed)
        process.group.submit(submission, submission.answers.append)
        if self.undone and self.weather.strikes(Hazard.UNDONE):
            process.group.submit(self.undone[self.weather.dice.between(0, len(self.undone) - 1)], _forget)
        self._waiting += 1
        process.waiting += 1
        try:
            while not submission.answers and not process.is_dead:
                self._turn()
        finally:
            self._waiting -= 1
            process.waiting -= 1
        if process.is_dead or (submission.answers and self._is_lost(submission.answers[0])):
            raise AnswerLost if submission.is_committed else Conflict("the process is gone")
        (result,) = submission.answers
        if isinstance(result, BaseException):
            raise result
        return cast(T, result)

    def finish_tasks(self) -> None:
        """Run all tasks of all processes."""
        while self._tasks:
            self._do_next()

    def unlock(self) -> None:
        """Finish the open transaction, if there is one, so that another can begin."""
        while any(task.process.unreliable.is_locked for task in self._tasks):
            self._do_next()

    def forget(self, process: Process) -> None:
        """Drop the tasks of a process that has ended."""
        self._tasks = deque(task for task in self._tasks if task.process is not process)

    def _turn(self) -> None:
        """Let another event happen now, or run the next task."""
        if self._waiting < WAITING_MAX and self.weather.crowds() and self._go_on():
            return
        self._do_next()

    def _do_next(self) -> None:
        """Run the next task; a task of an open transaction comes first, because no other transaction can begin."""
        task = next((one for one in self._tasks if one.process.unreliable.is_locked), self._tasks[0])
        if self.weather.strikes(Hazard.CRASH_IN_COMMIT):
            self._crash(task.process)
            return
        self._tasks.remove(task)
        task.work()

    def _is_lost(self, result: object) -> bool:
        return not isinstance(result, BaseException) and self.weather.strikes(Hazard.ANSWER_LOST)


def _forget(result: object) -> None:
    """Nobody waits for this answer."""
