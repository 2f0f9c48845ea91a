"""How fast letters are sent: a rate that doubles while nothing goes wrong, and halves when something does.

5/s, and after 5 s without a refusal 10/s, 20/s … up to the maximum; a throttled request: half of the rate
"""

from __future__ import annotations

from redrive.core.clock import SECOND_MS, Instant

STEP_MS = 5 * SECOND_MS
"""For how long nothing goes wrong before the rate doubles."""

RATE_MIN = 0.1


class Pace:
    """Says when the next letters may be sent. Without a rate: now."""

    def __init__(self, rate: float | None, rate_max: float | None, now: Instant) -> None:
        """Letters per second, at first and at most; without a maximum the first rate stays."""
        self.rate = rate
        self._rate_max = rate if rate_max is None else rate_max
        self._next_at = float(now)
        self._well_since = now

    @property
    def most(self) -> int | None:
        """How many letters go together, so that a second has no fewer; None without a rate."""
        return None if self.rate is None else max(1, int(self.rate))

    def wait_ms(self, now: Instant) -> float:
        """How long to wait before the next letters."""
        return 0.0 if self.rate is None else max(0.0, self._next_at - now)

    def sent(self, letters: int, now: Instant) -> None:
        """Count letters that were sent, and raise the rate after a time in which nothing went wrong."""
        if self.rate is None or self._rate_max is None:
            return
        self._next_at = max(self._next_at, now) + letters / self.rate * SECOND_MS
        if now - self._well_since >= STEP_MS:
            self.rate = min(self._rate_max, self.rate * 2)
            self._well_since = now

    def went_wrong(self, now: Instant) -> None:
        """Halve the rate."""
        self._well_since = now
        if self.rate is not None:
            self.rate = max(RATE_MIN, self.rate / 2)
