"""Group commit: all steps that arrive during one commit share the next.

    submit ─► waiting ─► begin: run the steps ─► commit: reach the disk ─► finish: answer, then announce
              ▲          home                    the commit's own thread   home                  │
              └──────────────────────── what arrived meanwhile is the next batch ────────────────┘

A `Follower` may add one step to a batch, after it has seen what the batch's steps have notified.

Home is one thread: an event loop's, this module's own, or the simulator's. With an event loop, all Python code runs in
that one thread, and only the wait for the disk is in another. Two threads that both compute would contend for the
interpreter lock thousands of times a second. There is no timer: a single step is committed at once, and under load the
batches grow by themselves.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Protocol, TypeVar, cast

from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.store.api import Step

T = TypeVar("T")

Answer = Callable[[object], None]
"""Called at home with a step's result, or with the exception that rolled it back."""

Post = Callable[[Callable[[], None]], object]
"""Schedules a function to run at home soon. Any thread may call it."""


class OpenBatch(Protocol):
    """Steps that have run in a transaction that is still open."""

    def commit(self) -> None:
        """Commit the writes of the steps. Any thread may call it."""
        ...

    def conclude(self) -> tuple[list[object], frozenset[str]]:
        """The steps' results, or the exceptions that rolled them back; and the topics to announce."""
        ...


Follow = Callable[[AbstractSet[str]], Step[object] | None]
"""Called at home after the steps of a batch, with what they have notified: the batch's last step, or None."""


class Follower(Protocol):
    """Work that joins the commit of the steps which have made it due."""

    def follow(self, topics: AbstractSet[str]) -> Step[object] | None:
        """A step for this commit, or None. Called at home, and once more if the batch has to run again."""
        ...

    def followed(self, result: object) -> None:
        """Take the step's result after the commit, or the exception that rolled it back. Called at home."""
        ...


class BatchStore(Protocol):
    """The store, as the group commit uses it."""

    @property
    def is_durable(self) -> bool:
        """Whether a commit waits for a disk."""
        ...

    def begin(self, steps: Sequence[Step[object]], *, awaits_disk: bool, follow: Follow | None = None) -> OpenBatch:
        """Run steps in this order in a transaction that stays open. `awaits_disk`: its commit waits for the disk.

        If the steps have notified something, the step that `follow` gives is the last one.
        """
        ...

    def announce(self, topics: frozenset[str]) -> None:
        """Wake the waiters of these topics."""
        ...


class GroupCommit:
    """Runs steps in a store, with many steps to a commit."""

    def __init__(
        self, store: BatchStore, *, post: Post | None = None, post_commit: Post | None = None,
        steps_max: int = PRODUCTION.steps_per_commit,
    ) -> None:  # fmt: skip
        """`post` is an event loop's `call_soon_threadsafe`: the loop's thread, which must call this, becomes home.

        `post_commit` runs the commits, in place of a thread of the group's own. At most `steps_max` steps share one
        commit.
        """
        self._store = store
        self._steps_max = steps_max
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._post = post or self._work.put
        self._post_commit = post_commit or self._work.put
        self._guard = threading.Lock()
        self._waiting: deque[tuple[Step[object], Answer, bool]] = deque()
        self._is_busy = False
        self._closing = False
        self._batch: OpenBatch | None = None
        self._answers: Sequence[Answer] = ()
        self._follower: Follower | None = None
        self._is_followed = False
        self._thread: threading.Thread | None = None
        if post is None or post_commit is None:
            self._thread = threading.Thread(target=self._run_work, name="redrive-commit", daemon=True)
            self._thread.start()
        self._home = threading.get_ident() if post is not None or self._thread is None else self._thread.ident

    def submit(self, step: Step[object], answer: Answer, *, awaits_disk: bool = True) -> None:
        """Schedule a step. `answer` is called when the step is durable or has failed. Any thread may call it.

        Without `awaits_disk`, the step is committed when it is answered, and durable after the next step that awaits
        the disk.
        """
        with self._guard:
            if self._closing:
                raise RuntimeError("the store is closing")
            self._waiting.append((step, answer, awaits_disk))
            if self._is_busy:
                return
            self._is_busy = True
        self._post(self._begin)

    def accompany(self, follower: Follower) -> None:
        """Ask this follower in each batch from now on. Call it at home."""
        self._follower = follower

    def run(self, step: Step[T]) -> T:
        """Run a step through the group and wait for it.

        Errors: those of the step; Bug if called at home, which would be a deadlock.
        """
        return self._run(step, awaits_disk=True)

    def run_unsynced(self, step: Step[T]) -> T:
        """As `run`, but a power cut may lose the step until a later step that awaits the disk is answered.

        Only for work whose result nobody gets before such a step.
        """
        return self._run(step, awaits_disk=False)

    def _run(self, step: Step[T], *, awaits_disk: bool) -> T:
        if threading.get_ident() == self._home:
            raise Bug("a step is submitted, and not waited for, in the thread that runs the steps")
        future: Future[T] = Future()
        self.submit(step, lambda result: _settle(future, result), awaits_disk=awaits_disk)
        return future.result()

    def close(self) -> None:
        """Finish the waiting steps, then stop. With an event loop, call it at home."""
        with self._guard:
            self._closing = True
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()
        # No other thread is left, so this thread finishes the rest.
        while (batch := self._batch or self._take()) is not None:
            batch.commit()
            self._answer(batch)

    def _begin(self) -> None:
        batch = self._take()
        if batch is None:
            return
        if self._store.is_durable:
            self._post_commit(self._commit)
        else:
            batch.commit()
            self._finish()

    def _take(self) -> OpenBatch | None:
        """Run the waiting steps as one batch; None if nothing waits."""
        with self._guard:
            taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._steps_max))]
            self._is_busy = bool(taken)
        if taken:
            self._answers = [answer for _, answer, _ in taken]
            awaits_disk = True in [awaits for _, _, awaits in taken]
            self._is_followed = False
            self._batch = self._store.begin(
                [step for step, _, _ in taken], awaits_disk=awaits_disk, follow=self._follow if self._follower else None
            )
        return self._batch

    def _follow(self, topics: AbstractSet[str]) -> Step[object] | None:
        assert self._follower is not None
        step = self._follower.follow(topics)
        self._is_followed = step is not None
        return step

    def _commit(self) -> None:
        assert self._batch is not None
        self._batch.commit()
        self._post(self._finish)

    def _finish(self) -> None:
        if self._batch is None:  # `close` ran in the meantime and finished the batch.
            return
        try:
            self._answer(self._batch)
        finally:
            with self._guard:
                self._is_busy = bool(self._waiting)
            if self._is_busy:
                self._post(self._begin)

    def _answer(self, batch: OpenBatch) -> None:
        results, topics = batch.conclude()
        self._batch = None
        # Answers go out first: a caller that is told to wait must be waiting before its topic is announced.
        for answer, result in zip(self._answers, results, strict=not self._is_followed):
            answer(result)
        if self._is_followed:
            assert self._follower is not None
            self._follower.followed(results[-1])
        self._store.announce(topics)

    def _run_work(self) -> None:
        for work in iter(self._work.get, None):
            work()


def _settle(future: Future[T], result: object) -> None:
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(cast(T, result))
