"""Time for commands that wait: a wait moves the clock of a server in virtual time, and what is waited for happens."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import click

from redrive.cli.clients import Place
from redrive.cli.reading_letters import clock_of
from redrive.cli.surface import Surface
from redrive.core.clock import SECOND_MS, Instant

VIRTUAL = "virtual"
MOVES_THE_CLOCK = "The server's time is virtual: while this command waits, it moves the clock."


def time_of(place: Place) -> tuple[Callable[[], Instant], Callable[[float], None]]:
    """The time of a place, and what waits there for so many seconds."""
    if place.endpoint_url is not None:
        server = Surface(place.endpoint_url)
        if server.get_clock()["clock"] == VIRTUAL:
            virtual = VirtualTime(server)
            return virtual.now, virtual.wait
    return clock_of(place), wait


class VirtualTime:
    """The clock of a server in virtual time. It stands still but for waits, and for others who move it."""

    def __init__(self, server: Surface) -> None:
        self._server = server
        self._is_told = False
        self._now: Instant = server.get_clock()["now_ms"]

    def now(self) -> Instant:
        """The time of the server after the last wait."""
        return self._now

    def wait(self, seconds: float) -> None:
        """Let time pass for the server: what comes due in it happens. Errors: UserError."""
        if seconds > 0:
            if not self._is_told:
                # On a terminal a progress bar may stand in this line.
                click.echo(("\r" if sys.stderr.isatty() else "") + MOVES_THE_CLOCK, err=True)
                self._is_told = True
            whole_ms = max(1, round(seconds * SECOND_MS))
            self._now = self._server.advance_clock(advance_s=whole_ms / SECOND_MS)["now_ms"]


def wait(seconds: float) -> None:
    """Wait in real time."""
    if seconds > 0:
        threading.Event().wait(seconds)
