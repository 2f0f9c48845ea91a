"""Clocks that disagree: each node's machine has a clock that is wrong, drifts, and is set forwards and backwards.

The store's timestamps come from the node that runs the transaction. Checkers use the one true clock.
"""

from __future__ import annotations

from redrive.core.clock import MINUTE_MS, Clock, Instant, SystemClock

DRIFT_MAX = 0.001
"""How much a machine's clock gains or loses at most, as a share of the passing time: 3.6 s in an hour."""


class Machine:
    """A machine's clock: true time plus an offset that drifts, but never exceeds the skew.

    A process on the machine reads it through the server's clock class, which is created again after each restart.
    """

    def __init__(self, true: Clock) -> None:
        """The clock is right until `set`."""
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
        """The time that a process on the machine reads."""
        return self._clock.now()

    def set(self, off_ms: int, *, drift: float = 0.0, skew_ms: int) -> None:
        """Set the clock wrong, by `off_ms`. The offset then drifts; it never exceeds `skew_ms`."""
        self._off_ms = off_ms
        self._drift = drift
        self._skew_ms = skew_ms
        self._set_at = self._true.now()

    def set_right(self) -> None:
        """Set the clock to the true time, and stop the drift."""
        self._skew_ms = 0

    def restart(self) -> None:
        """Start a new process. It knows the time that the process before it last recorded, at most a minute ago."""
        self._clock = SystemClock(self._read)
        self._clock.resume(self._seen_at)

    def _read(self) -> Instant:
        now = self._true.now()
        off_ms = self._off_ms + round(self._drift * (now - self._set_at))
        read = now + max(-self._skew_ms, min(self._skew_ms, off_ms))
        if read >= self._seen_at + MINUTE_MS:
            self._seen_at = read  # A server records it once a minute, too.
        return read
