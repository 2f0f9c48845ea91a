"""A token bucket: limits the average number of calls a second, and the number of calls at once."""

from __future__ import annotations

import threading

from redrive.handler.clock import Clock, Sleep, SleepAsync, now_ms, sleep, sleep_async


class TokenBucket:
    """Admits `rate_per_s` calls a second, and up to `burst` at once after a pause. Full at first; thread-safe.

    It limits this process: two concurrent functions admit twice as much.
    """

    def __init__(
        self,
        rate_per_s: float,
        burst: float = 1,
        *,
        clock: Clock = now_ms,
        sleep: Sleep = sleep,
        sleep_async: SleepAsync = sleep_async,
    ) -> None:
        if rate_per_s <= 0 or burst < 1:
            raise ValueError(f"{rate_per_s} a second in bursts of {burst} lets nothing pass")
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._clock = clock
        self._sleep = sleep
        self._sleep_async = sleep_async
        self._guard = threading.Lock()
        self._tokens = burst
        self._filled_at = clock()

    def take(self, tokens: int = 1) -> float:
        """Wait until this many calls may pass, and return how many seconds that took.

        Errors: ValueError for more than a burst.
        """
        wait_s = self._taken(tokens)
        if wait_s > 0:
            self._sleep(wait_s)
        return wait_s

    async def take_async(self, tokens: int = 1) -> float:
        """As `take`, without blocking other coroutines."""
        wait_s = self._taken(tokens)
        if wait_s > 0:
            await self._sleep_async(wait_s)
        return wait_s

    def wait_s(self, tokens: int = 1) -> float:
        """How long `take` would wait. Errors: ValueError for more than a burst."""
        with self._guard:
            return self._wait_s(tokens)

    def _taken(self, tokens: int) -> float:
        """Take the tokens now, and return how long to wait for them: the next caller waits longer."""
        with self._guard:
            wait_s = self._wait_s(tokens)
            self._tokens -= tokens  # Negative until the waiting time has passed.
            return wait_s

    def _wait_s(self, tokens: int) -> float:
        if tokens > self._burst:
            raise ValueError(f"{tokens} at once never pass a bucket of {self._burst}")
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(0, now - self._filled_at) / 1000 * self._rate_per_s)
        self._filled_at = now
        return max(0.0, (tokens - self._tokens) / self._rate_per_s)
