"""Runs the steps of a server on its event loop: requests on one lane, the engine's own work on another.

While a batch is under way, what arrives waits for the next batch; so the batches grow by themselves under load.
A lane that has lost its connection answers at once that the store is away, and another thread connects anew.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import takewhile
from typing import NamedTuple, TypeVar, cast

import psycopg

from redrive.core.errors import Bug, UserError
from redrive.store.api import Step
from redrive.store.group import Answer
from redrive.store.postgres.failures import ConnectionLost
from redrive.store.postgres.lane import POSTPONED, Batch, Lane
from redrive.store.postgres.socket_events import SocketEvents

T = TypeVar("T")

RECONNECT_PAUSE_S = 0.5
"""How long a node waits between two attempts to reach its database."""


class _Waiting(NamedTuple):
    step: Step[object]
    answer: Answer
    is_alone: bool


class ServedLane:
    """A lane on an event loop. All methods are called on the loop's thread."""

    def __init__(
        self, connect: Callable[[], Lane], announce: Callable[[frozenset[str]], None], *, steps_max: int
    ) -> None:  # fmt: skip
        self._connect = connect
        self._announce = announce
        self._steps_max = steps_max
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()
        self._is_begun = False
        self._closing = threading.Event()
        self._idle: asyncio.Future[None] | None = None
        self._lane: Lane | None = None
        self._connected(connect())

    def submit(self, step: Step[object], answer: Answer) -> None:
        """Run a step with the next batch."""
        self._waiting.append(_Waiting(step, answer, is_alone=False))
        self._begin_soon()

    async def close(self) -> None:
        """Finish what waits, and close the connection."""
        self._closing.set()
        if self._waiting or (self._lane is not None and self._lane.is_busy):
            self._idle = self._loop.create_future()
            await self._idle
        if self._lane is not None:
            self._let_go(self._lane)

    def _connected(self, lane: Lane) -> None:
        self._lane = lane
        self._events = SocketEvents(self._loop, lane.pipeline.socket, self._go_on)

    def _begin_soon(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._is_begun = False
        lane = self._lane
        if lane is None:
            self._refuse_all()
        elif self._waiting and not lane.is_busy:
            is_alone = self._waiting[0].is_alone
            alike = takewhile(lambda one: one.is_alone is is_alone, self._waiting)
            taken = [one for one, _ in zip(alike, range(self._steps_max), strict=False)]
            for _ in taken:
                self._waiting.popleft()
            lane.start(Batch([one.step for one in taken], is_alone, self._concluding(taken)))
            self._look_after(lane)

    def _go_on(self) -> None:
        lane = self._lane
        if lane is not None:
            lane.go_on()
            self._look_after(lane)

    def _concluding(self, taken: Sequence[_Waiting]) -> Callable[[Sequence[object], frozenset[str]], None]:
        def concluded(results: Sequence[object], topics: frozenset[str]) -> None:
            # Answers go out first: a caller that is told to wait must be waiting before its topic is announced.
            for one, result in zip(taken, results, strict=True):
                if result is POSTPONED:
                    self._waiting.appendleft(one._replace(is_alone=True))
                else:
                    one.answer(result)
            self._announce(topics)
            if self._waiting:
                self._begin_soon()
            elif self._idle is not None and not self._idle.done():
                self._idle.set_result(None)

        return concluded

    def _look_after(self, lane: Lane) -> None:
        """Send what the socket had no room for; and replace a lane that has lost its connection."""
        try:
            is_sent = lane.is_lost or lane.pipeline.write()
        except ConnectionLost:
            lane.go_on()
            is_sent = True
        if lane.is_lost:
            self._let_go(lane)
            self._lane = None
            self._refuse_all()
            threading.Thread(target=self._reconnect, name="redrive-reconnect", daemon=True).start()
        else:
            self._events.set_writing(not is_sent)

    def _refuse_all(self) -> None:
        while self._waiting:
            self._waiting.popleft().answer(ConnectionLost("the node is connecting again"))
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def _reconnect(self) -> None:
        while not self._closing.wait(RECONNECT_PAUSE_S):
            try:
                lane = self._connect()
            except (UserError, psycopg.Error):  # The connection may be lost again before it is used.
                continue
            if self._closing.is_set():
                lane.pipeline.close()
            else:
                self._loop.call_soon_threadsafe(self._connected, lane)
            return

    def _let_go(self, lane: Lane) -> None:
        self._events.close()
        lane.pipeline.close()


class LaneCommits:
    """What a server needs of the group commit, on two lanes. Made on the loop's thread."""

    def __init__(
        self, connect: Callable[[], Lane], announce: Callable[[frozenset[str]], None], *, steps_max: int
    ) -> None:  # fmt: skip
        self._loop = asyncio.get_running_loop()
        self._home = threading.get_ident()
        self._requests = ServedLane(connect, announce, steps_max=steps_max)
        self._work = ServedLane(connect, announce, steps_max=steps_max)

    def submit(self, step: Step[object], answer: Answer) -> None:
        """Schedule a request's step. `answer` is called with its result, or its exception. Any thread may call it."""
        self._at_home(lambda: self._requests.submit(step, answer))

    def run(self, step: Step[T]) -> T:
        """Run a step of the engine and wait for it. Errors: those of the step; Bug if called on the loop's thread."""
        if threading.get_ident() == self._home:
            raise Bug("a step is submitted, and not waited for, in the thread that runs the steps")
        future: Future[object] = Future()
        self._at_home(lambda: self._work.submit(step, future.set_result))
        result = future.result()
        if isinstance(result, BaseException):
            raise result
        return cast(T, result)

    run_unsynced = run

    async def close(self) -> None:
        """Finish what waits, and close the connections."""
        await self._requests.close()
        await self._work.close()

    def _at_home(self, work: Callable[[], None]) -> None:
        if threading.get_ident() == self._home:
            work()
        else:
            self._loop.call_soon_threadsafe(work)
