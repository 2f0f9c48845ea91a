"""A token bucket: so many calls a second on average, and a burst of so many at once."""

from __future__ import annotations

from redrive.handler.clock import Clock, Sleep, now_ms, sleep


class TokenBucket:
    """Lets `rate_per_s` pass a second, and up to `burst` at once after a pause. Full at first; for one thread.

    It limits this process: two functions that run at once let twice as much pass.
    """

    def __init__(self, rate_per_s: float, burst: float = 1, *, clock: Clock = now_ms, sleep: Sleep = sleep) -> None:
        if rate_per_s <= 0 or burst < 1:
            raise ValueError(f"{rate_per_s} a second in bursts of {burst} lets nothing pass")
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._clock = clock
        self._sleep = sleep
        self._tokens = burst
        self._filled_at = clock()

    def take(self, tokens: int = 1) -> float:
        """Wait until so many may pass, and answer how many seconds that took."""
        wait_s = self.wait_s(tokens)
        self._tokens -= tokens  # Below zero until the time that was waited for has passed.
        if wait_s > 0:
            self._sleep(wait_s)
        return wait_s

    def wait_s(self, tokens: int = 1) -> float:
        """How long `take` would wait. Errors: ValueError for more than a burst."""
        if tokens > self._burst:
            raise ValueError(f"{tokens} at once never pass a bucket of {self._burst}")
        self._fill()
        return max(0.0, (tokens - self._tokens) / self._rate_per_s)

    def _fill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(0, now - self._filled_at) / 1000 * self._rate_per_s)
        self._filled_at = now
