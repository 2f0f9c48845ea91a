"""Wakes callers at commits: long polls, parked until their topic is notified, and the driver.

Lives on the event loop's thread alone.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable


class Waiters:
    """Futures by topic."""

    def __init__(self) -> None:
        self._parked: dict[str, set[asyncio.Future[None]]] = defaultdict(set)

    def park(self, topics: Iterable[str]) -> asyncio.Future[None]:
        """A future that is done once any of the topics is woken."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        names = tuple(topics)
        for topic in names:
            self._parked[topic].add(future)
        future.add_done_callback(lambda done: self._leave(names, done))
        return future

    def wake(self, topics: Iterable[str]) -> None:
        """Wake everyone parked on these topics."""
        for topic in topics:
            for future in tuple(self._parked.get(topic, ())):
                if not future.done():
                    future.set_result(None)

    def wake_all(self) -> None:
        """Wake everyone: whatever they wait for may have happened."""
        self.wake(tuple(self._parked))

    def _leave(self, topics: tuple[str, ...], future: asyncio.Future[None]) -> None:
        for topic in topics:
            parked = self._parked[topic]
            parked.discard(future)
            if not parked:
                del self._parked[topic]


class Paced:
    """Limits how often a function is called: after each call it pauses, then calls once more if asked meanwhile."""

    def __init__(self, function: Callable[[], None], *, pause_s: float) -> None:
        self._function = function
        self._pause_s = pause_s
        self._is_pausing = False
        self._was_asked = False

    def __call__(self) -> None:
        """Ask for a call."""
        self._was_asked = True
        if not self._is_pausing:
            self._go_on()

    def _go_on(self) -> None:
        self._is_pausing = self._was_asked
        if self._was_asked:
            self._was_asked = False
            asyncio.get_running_loop().call_later(self._pause_s, self._go_on)
            self._function()
