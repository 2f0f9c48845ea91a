"""Logging: one event to a line, a verb in the past tense and its facts.

`info`: state changed. `warning`: somebody may have to act. `error`: redrive broke a promise; in a simulation an `error`
line fails the run. Message bodies and secrets are never logged.
"""

from __future__ import annotations

import json
import sys
from typing import Protocol, TextIO

from redrive.core.clock import Clock, format_instant

VALUE_LENGTH_MAX = 4_000


class Log(Protocol):
    """The port for log lines."""

    def info(self, event: str, **facts: object) -> None: ...

    def warning(self, event: str, **facts: object) -> None: ...

    def error(self, event: str, **facts: object) -> None: ...


class SilentLog:
    """Discards all events."""

    def info(self, event: str, **facts: object) -> None:
        """Do nothing."""

    def warning(self, event: str, **facts: object) -> None:
        """Do nothing."""

    def error(self, event: str, **facts: object) -> None:
        """Do nothing."""


class LineLog:
    """Writes lines of the form `time level event key=value …`. Skips `info` unless `verbose`."""

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
        words = [format_instant(self._clock.now()), level, event, *(f"{key}={spelled(facts[key])}" for key in facts)]
        print(" ".join(words), file=self._stream, flush=True)


def spelled(value: object) -> str:
    """Format a fact's value, so that it cannot be read as another key or another line.

    A plain word is written unchanged. Other text is quoted and escaped as in JSON. A long value is cut, and its length
    added.
    """
    text = str(value)
    if len(text) > VALUE_LENGTH_MAX:
        text = f"{text[:VALUE_LENGTH_MAX]}… ({len(text)} characters)"
    is_word = text.isprintable() and not any(character in text for character in ' "=\\')
    return text if is_word and text else json.dumps(text, ensure_ascii=not text.isprintable())
