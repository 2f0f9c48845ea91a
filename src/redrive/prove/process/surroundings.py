"""What a run sees of its process: time is the stage's, randomness is seeded, the network is not there.

Entered once for a whole search, because the process is the same for all of its runs; `begin` makes it a new one for
the next run.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import time_machine

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.entropy import seeded_process

Sleep = Callable[[float], None]


class NetworkReached(ConnectionError):
    """The user's code wanted to open a connection. No byte of it has left."""


class Surroundings:
    """The process of the runs, between `entered` and its end."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        """The addresses to which a connection was wanted."""
        self._printed = io.StringIO()
        self._reseed: Callable[[str], None] = _nothing
        self._traveller: time_machine.Traveller | None = None

    @contextmanager
    def entered(self, now: Instant, sleep: Sleep) -> Iterator[None]:
        """Take the process over. `sleep` is what `time.sleep` does meanwhile."""
        with contextlib.ExitStack() as stack:
            self._reseed = stack.enter_context(seeded_process())
            stack.enter_context(replaced(socket.socket, "connect", self._refuse))
            stack.enter_context(replaced(socket.socket, "connect_ex", self._refuse))
            stack.enter_context(replaced(socket, "getaddrinfo", self._refuse))
            stack.enter_context(replaced(time, "sleep", sleep))
            travel = time_machine.travel(now / SECOND_MS, tick=False)
            self._traveller = travel.start()
            stack.callback(travel.stop)
            yield

    @property
    def said(self) -> str:
        """What the last run printed, and what was logged to where it prints."""
        return self._printed.getvalue()

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """While inside, what is printed is kept, and goes nowhere."""
        self._printed = io.StringIO()
        with contextlib.redirect_stdout(self._printed), contextlib.redirect_stderr(self._printed):
            yield

    def begin(self, seed: str, now: Instant) -> None:
        """A new process: its randomness and its time begin."""
        self._reseed(seed)
        self.move_to(now)

    def move_to(self, now: Instant) -> None:
        """It is now that time for the user's code."""
        if self._traveller is not None:
            self._traveller.move_to(now / SECOND_MS)

    def _refuse(self, address: object, *_: object, **__: object) -> None:
        """Stands where an address or a host name is asked for. Errors: NetworkReached, always."""
        self.reached.append(str(address))
        raise NetworkReached(f"redrive prove lets no connection out, and this one was to {address}")


@contextmanager
def variables(given: Mapping[str, str]) -> Iterator[None]:
    """While inside, the environment has these variables, and none of AWS's besides."""
    saved = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(given)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(saved)


@contextmanager
def replaced(place: object, name: str, value: object) -> Iterator[None]:
    """While inside, that attribute of a module or class has this value."""
    original = getattr(place, name)
    setattr(place, name, value)
    try:
        yield
    finally:
        setattr(place, name, original)


def _nothing(_: str) -> None:
    """No process has been taken over yet."""
