"""Clocks that disagree: each node has a machine whose clock is off, drifts, and is set forwards and backwards.

What the store stamps is the time of whichever node runs the transaction. Checkers go by the one true clock.
"""

from __future__ import annotations

from redrive.core.clock import MINUTE_MS, Clock, Instant, SystemClock

DRIFT_MAX = 0.001
"""How much a machine's clock gains or loses at most, as a share of the time that passes: 3.6 s in an hour."""


class Machine:
    """A machine's clock: true time, off by an offset that drifts, never by more than the skew that it is given.

    A process on it reads it through the clock that the server uses, anew after each start.
    """

    def __init__(self, true: Clock) -> None:
        """As right as can be, until it is set."""
        self._true = true
        self._skew_ms = 0
        self._off_ms = 0
        self._drift = 0.0
        self._set_at = true.now()
        self._seen_at = 0
        self._clock = SystemClock(self._read)

    @property
    def is_virtual(self) -> bool:
        return self._true.is_virtual

    def now(self) -> Instant:
        """The time as a process on the machine reads it."""
        return self._clock.now()

    def set(self, off_ms: int, *, drift: float = 0.0, skew_ms: int) -> None:
        """Set it wrong: off by so much now, by more or less later, by no more than the skew ever."""
        self._off_ms = off_ms
        self._drift = drift
        self._skew_ms = skew_ms
        self._set_at = self._true.now()

    def set_right(self) -> None:
        """Set it to the true time, which it keeps from now on."""
        self._skew_ms = 0

    def restart(self) -> None:
        """A new process, which knows how far time had come a minute ago at the most for the one before it."""
        self._clock = SystemClock(self._read)
        self._clock.resume(self._seen_at)

    def _read(self) -> Instant:
        now = self._true.now()
        off_ms = self._off_ms + round(self._drift * (now - self._set_at))
        read = now + max(-self._skew_ms, min(self._skew_ms, off_ms))
        if read >= self._seen_at + MINUTE_MS:
            self._seen_at = read  # As a server writes it down, once a minute.
        return read
