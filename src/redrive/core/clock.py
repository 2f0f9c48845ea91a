"""Time, as an argument. The only module that reads a clock.

An `Instant` is an integer: milliseconds since the Unix epoch, UTC.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

Instant = int

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

INSTANTS_KEPT = 1_024
"""The size of the cache of formatted instants. Work that is due at the same instant formats it many times."""

AHEAD_MS_MAX = DAY_MS
"""How far a clock may be ahead of the machine's after a restart. A larger difference comes from a wrong clock."""


class Clock(Protocol):
    """The source of a node's time."""

    @property
    def is_virtual(self) -> bool:
        """Whether the clock stands still until it is moved. On such a clock, no operation takes time."""
        ...

    def now(self) -> Instant:
        """Milliseconds since the epoch, UTC. Never runs backwards on one clock."""
        ...


def machine_ms() -> Instant:
    """The machine's clock."""
    return time.time_ns() // 1_000_000


class SystemClock:
    """The machine's clock, made monotonic.

    When the machine's clock is set back, this clock runs at half speed until the machine's has caught up. It never
    stands still, so all due work comes.
    """

    is_virtual = False

    def __init__(self, machine: Callable[[], Instant] = machine_ms) -> None:
        """`machine` reads the machine's clock. The simulator has its own machines."""
        self._machine = machine
        self._read = 0
        self._ahead_ms = 0.0

    def resume(self, seen_at: Instant) -> int:
        """Continue from the latest instant that an earlier process saw. Returns how far the machine is behind it.

        Call it before the first reading. If the machine's clock is behind by more than `AHEAD_MS_MAX`, it was wrong
        earlier, and its present time is used.
        """
        behind_ms = max(0, seen_at - self._machine())
        if behind_ms <= AHEAD_MS_MAX:
            self._read = max(self._read, seen_at)
        return behind_ms

    def now(self) -> Instant:
        read = self._machine()
        if read < self._read:
            self._ahead_ms += self._read - read
        elif self._ahead_ms:
            self._ahead_ms = max(0.0, self._ahead_ms - (read - self._read) / 2)
        self._read = read
        return read + math.ceil(self._ahead_ms)


class VirtualClock:
    """A clock that stands still until it is moved. The same moves give the same times."""

    is_virtual = True

    def __init__(self, start: Instant) -> None:
        self._now = start

    def now(self) -> Instant:
        return self._now

    def move_to(self, instant: Instant) -> None:
        """Jump forward to an instant. Errors: ValueError if it lies in the past."""
        if instant < self._now:
            raise ValueError(
                f"a clock does not run backwards: {format_instant(instant)} is before {format_instant(self._now)}"
            )
        self._now = instant


def monotonic_ms() -> float:
    """Milliseconds of a monotonic clock. Only for measuring durations on this machine."""
    return time.perf_counter_ns() / 1_000_000


@functools.lru_cache(maxsize=INSTANTS_KEPT)
def format_instant(instant: Instant) -> str:
    """Format as AWS usually does: UTC, whole seconds, `2025-10-07T15:33:16Z`."""
    return datetime.fromtimestamp(instant // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_instant(text: str) -> Instant:
    """Parse an ISO 8601 time. Without an offset it is UTC. Errors: ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
