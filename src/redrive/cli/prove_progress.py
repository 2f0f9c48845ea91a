"""While a proof runs: what is told of it, and when it has to stop."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from redrive.core.clock import SECOND_MS, monotonic_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redrive.prove.search.order import Progress

LIVE_EVERY_MS = 100
"""The time between two updates of the progress, on a terminal."""
PROGRESS_EVERY_MS = 10_000
"""The time between two lines of progress, if there is no terminal."""
INTERRUPTED = 130
FIRST_RUN = "the first run, in which nothing goes wrong"
"""What is told before the search begins."""
_SPINNER_COLUMNS = 2
_STOPPING = b"\nredrive: stopping after this history. Ctrl-C again stops at once, without a result.\n"
_STDERR = 2


class Budget:
    """How long the searches of a command may go on. Each has so many seconds, and Ctrl-C ends them all."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self.is_interrupted = False

    def begin(self) -> Callable[[], bool]:
        """Begin the seconds of one search; answers whether this search may go on."""
        until = None if self._seconds is None else monotonic_ms() + self._seconds * SECOND_MS
        return lambda: not self.is_interrupted and (until is None or monotonic_ms() < until)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Inside, Ctrl-C lets the search end with the result that it has. The second Ctrl-C is a KeyboardInterrupt.

        A handler under proof may catch every exception, so the first Ctrl-C raises none.
        """
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupt(self, number: int, frame: object) -> None:
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.is_interrupted = True
        os.write(_STDERR, _STOPPING)  # While a handler runs, sys.stderr is not the terminal.


def progress_told_by(say: Callable[[str], None], every_ms: int) -> Progress:
    """Tell the progress from time to time: on a terminal in a live line, for logs in a line of its own."""
    began_at: float | None = None
    told_at = monotonic_ms()

    def passed(faults: int, histories: int, _: int, trying: str) -> None:
        nonlocal began_at, told_at
        now = monotonic_ms()
        began_at = now if began_at is None else began_at
        if now - told_at >= every_ms:
            told_at = now
            say(_told(faults, histories, now - began_at, trying))

    return passed


def cropped(text: str, columns: int) -> str:
    """A text in one line of a terminal, behind a spinner: a live line that wraps cannot be drawn over."""
    room = columns - _SPINNER_COLUMNS
    return escape(text if len(text) <= room else f"{text[: room - 1]}…")


def print_line(text: str) -> None:
    """A line of progress, where there is no terminal."""
    click.echo(text, err=True)


def _told(faults: int, histories: int, elapsed_ms: float, trying: str) -> str:
    """`2 faults · 1,240 histories · 3,900/s · crash-after dynamodb:PutItem reports …`, with logical ids."""
    from redrive.prove.search.baseline import lasting

    named = "1 fault" if faults == 1 else f"{faults} faults"
    played = "1 history" if histories == 1 else f"{histories:,} histories"
    return f"{named} · {played} · {histories / max(elapsed_ms, 1) * 1_000:,.0f}/s · {lasting(trying)} …"
