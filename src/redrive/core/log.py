"""One event per line: a verb in the past tense and its facts.

`info` says that state changed, `warning` that somebody may have to act, `error` that a promise of ours was broken:
in simulation an `error` line fails the run. Message bodies and secrets are never logged.
"""

from __future__ import annotations

import sys
from typing import Protocol, TextIO

from redrive.core.clock import Clock, format_instant


class Log(Protocol):
    """Where a room says what happened."""

    def info(self, event: str, **facts: object) -> None: ...

    def warning(self, event: str, **facts: object) -> None: ...

    def error(self, event: str, **facts: object) -> None: ...


class SilentLog:
    """Keeps nothing."""

    def info(self, event: str, **facts: object) -> None:
        """Say nothing."""

    def warning(self, event: str, **facts: object) -> None:
        """Say nothing."""

    def error(self, event: str, **facts: object) -> None:
        """Say nothing."""


class LineLog:
    """Writes `time level event key=value …` lines; quiet about `info` unless `verbose`."""

    def __init__(self, clock: Clock, *, stream: TextIO | None = None, verbose: bool = False) -> None:
        self._clock = clock
        self._stream = stream or sys.stderr
        self._verbose = verbose

    def info(self, event: str, **facts: object) -> None:
        if self._verbose:
            self._write("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._write("warning", event, facts)

    def error(self, event: str, **facts: object) -> None:
        self._write("error", event, facts)

    def _write(self, level: str, event: str, facts: dict[str, object]) -> None:
        words = [format_instant(self._clock.now()), level, event, *(f"{key}={value}" for key, value in facts.items())]
        print(" ".join(words), file=self._stream, flush=True)
