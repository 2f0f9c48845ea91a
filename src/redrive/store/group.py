"""Group commit: whatever arrives while one commit is under way shares the next.

    submit ─► waiting ─► begin: run the steps ─► commit: reach the disk ─► finish: answer, then announce
              ▲          home                    the commit's own thread   home                  │
              └──────────────────────── what arrived meanwhile is the next batch ────────────────┘

Home is one thread: an event loop's, or this module's own. On an event loop all Python runs in that one thread, and only
the wait for the disk is elsewhere: two threads that both compute would take turns at the interpreter's lock thousands
of times a second. There is no timer: a lone step is committed at once, and under load the batches grow by themselves.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar, cast

from redrive.store.api import Step
from redrive.store.sqlite import Batch, SqliteStore

T = TypeVar("T")

STEPS_PER_COMMIT_MAX = 256

Answer = Callable[[object], None]
"""Called at home with a step's result, or with the exception that undid it."""

Post = Callable[[Callable[[], None]], object]
"""Has a function run at home soon. Callable from any thread."""


class GroupCommit:
    """Runs steps in a store, many to a commit."""

    def __init__(self, store: SqliteStore, *, post: Post | None = None) -> None:
        """`post` is an event loop's `call_soon_threadsafe`, to make that loop's thread the home."""
        self._store = store
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._post = post or self._work.put
        self._guard = threading.Lock()
        self._waiting: deque[tuple[Step[object], Answer]] = deque()
        self._is_busy = False
        self._closing = False
        self._batch: Batch | None = None
        self._answers: Sequence[Answer] = ()
        self._thread = threading.Thread(target=self._run_work, name="redrive-commit", daemon=True)
        self._thread.start()

    def submit(self, step: Step[object], answer: Answer) -> None:
        """Have a step run; `answer` is called once it is durable, or has failed. Callable from any thread."""
        with self._guard:
            if self._closing:
                raise RuntimeError("the store is closing")
            self._waiting.append((step, answer))
            if self._is_busy:
                return
            self._is_busy = True
        self._post(self._begin)

    def run(self, step: Step[T]) -> T:
        """Run a step through the group and wait for it; never at home. Errors: whatever the step raises."""
        future: Future[T] = Future()
        self.submit(step, lambda result: _settle(future, result))
        return future.result()

    def close(self) -> None:
        """Finish the steps that are waiting, then stop. On an event loop, call it at home."""
        with self._guard:
            self._closing = True
        self._work.put(None)
        self._thread.join()
        # From here on there is no other thread, so what is left is done in this one.
        while (batch := self._batch or self._take()) is not None:
            batch.commit()
            self._answer(batch)

    def _begin(self) -> None:
        batch = self._take()
        if batch is None:
            return
        if self._store.is_durable:
            self._work.put(self._commit)
        else:
            batch.commit()
            self._finish()

    def _take(self) -> Batch | None:
        """Run what waits, as one batch; None if nothing waits."""
        with self._guard:
            taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), STEPS_PER_COMMIT_MAX))]
            self._is_busy = bool(taken)
        if taken:
            self._answers = [answer for _, answer in taken]
            self._batch = self._store.begin([step for step, _ in taken])
        return self._batch

    def _commit(self) -> None:
        assert self._batch is not None
        self._batch.commit()
        self._post(self._finish)

    def _finish(self) -> None:
        if self._batch is None:  # The group was closed meanwhile, which finished the batch.
            return
        try:
            self._answer(self._batch)
        finally:
            with self._guard:
                self._is_busy = bool(self._waiting)
            if self._is_busy:
                self._post(self._begin)

    def _answer(self, batch: Batch) -> None:
        results, topics = batch.conclude()
        self._batch = None
        # Answers go out first: who is told to wait is then parked before what it waits for is announced.
        for answer, result in zip(self._answers, results, strict=True):
            answer(result)
        self._store.announce(topics)

    def _run_work(self) -> None:
        for work in iter(self._work.get, None):
            work()


def _settle(future: Future[T], result: object) -> None:
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(cast(T, result))
