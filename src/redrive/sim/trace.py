"""The trace of a run: one line for each event, and a hash of all lines."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from redrive.core.clock import Clock, Instant
from redrive.core.errors import Bug

LINES_KEPT = 40
"""How many of the latest lines a failure shows."""

IDLE = "idle"
"""The event of a claim that found nothing. It is part of the trace, but a failure does not show it."""


class Trace:
    """The history of a run. Two runs with the same digest did the same at the same instants."""

    def __init__(self, *, echo: Callable[[str], None] | None = None) -> None:
        """`echo` is called with each line."""
        self.latest: deque[str] = deque(maxlen=LINES_KEPT)
        self.length = 0
        self._echo = echo
        self._hash = hashlib.sha256()

    def write(self, at: Instant, event: str, **facts: object) -> None:
        """Add a line: `time event key=value …`."""
        words = [_time(at), event, *(f"{name}={value}" for name, value in facts.items())]
        line = " ".join(words)
        if event != IDLE:
            self.latest.append(line)
        self.length += 1
        self._hash.update(line.encode() + b"\n")
        if self._echo is not None:
            self._echo(line)

    @property
    def digest(self) -> str:
        """The hash of all lines so far."""
        return self._hash.hexdigest()


class TraceLog:
    """Writes the engine's log into the trace. An error is a broken promise, and ends the run."""

    def __init__(self, clock: Clock, trace: Trace) -> None:
        self._clock = clock
        self._trace = trace

    def info(self, event: str, **facts: object) -> None:
        self._trace.write(self._clock.now(), event, **facts)

    def warning(self, event: str, **facts: object) -> None:
        self._trace.write(self._clock.now(), event, **facts)

    def error(self, event: str, **facts: object) -> None:
        raise Bug(f"the engine logged an error: {event} {facts}")


def _time(at: Instant) -> str:
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"
