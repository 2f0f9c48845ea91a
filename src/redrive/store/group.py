"""Group commit: whatever arrives while one commit is under way shares the next.

One thread runs the steps; each is answered after the commit that holds it. There is no timer: a lone step is
committed at once, and under load the batches grow by themselves.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar, cast

from redrive.store.api import Step
from redrive.store.sqlite import SqliteStore

T = TypeVar("T")

STEPS_PER_COMMIT_MAX = 256

Answer = Callable[[object], None]
"""Called with a step's result, or with the exception that undid it."""


class GroupCommit:
    """A writer thread in front of a store."""

    def __init__(
        self, store: SqliteStore, *, deliver: Callable[[list[tuple[Answer, object]]], None] | None = None
    ) -> None:
        """`deliver` hands a batch of answers over, for a caller that wants them in a thread of its own.

        What was asked for by `run` is answered in the writer's thread all the same: who waits there may be that thread.
        """
        self._store = store
        self._deliver = deliver or _answer_all
        self._waiting: deque[tuple[Step[object], Answer | Future[object]]] = deque()
        self._arrived = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="redrive-commit", daemon=True)
        self._thread.start()

    def submit(self, step: Step[object], answer: Answer) -> None:
        """Have a step run; `answer` is called once it is durable, or has failed."""
        self._enqueue(step, answer)

    def run(self, step: Step[T]) -> T:
        """Run a step through the group and wait for it. Errors: whatever the step raises."""
        future: Future[object] = Future()
        self._enqueue(step, future)
        return cast(T, future.result())

    def close(self) -> None:
        """Finish the steps that are waiting, then stop."""
        with self._arrived:
            self._closing = True
            self._arrived.notify()
        self._thread.join()

    def _enqueue(self, step: Step[object], answer: Answer | Future[object]) -> None:
        with self._arrived:
            if self._closing:
                raise RuntimeError("the store is closing")
            self._waiting.append((step, answer))
            self._arrived.notify()

    def _work(self) -> None:
        while True:
            with self._arrived:
                while not self._waiting and not self._closing:
                    self._arrived.wait()
                if not self._waiting:
                    return
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), STEPS_PER_COMMIT_MAX))]
            results, topics = self._store.commit([step for step, _ in batch])
            # Answers go out first: who is told to wait is then parked before what it waits for is announced.
            answers = [(answer, result) for (_, answer), result in zip(batch, results, strict=True)]
            for answer, result in answers:
                if isinstance(answer, Future):
                    _settle(answer, result)
            self._deliver([(answer, result) for answer, result in answers if not isinstance(answer, Future)])
            self._store.announce(topics)


def _answer_all(answers: list[tuple[Answer, object]]) -> None:
    for answer, result in answers:
        answer(result)


def _settle(future: Future[object], result: object) -> None:
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(result)
