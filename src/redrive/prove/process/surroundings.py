"""The process as a run sees it: time is the stage's, randomness is seeded, there is no network.

Entered once for a whole search, because all its runs share the process; `begin` resets the process for the next run.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import time_machine

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.entropy import Randomness, seeded_process
from redrive.prove.guess.variables import is_of_aws

Sleep = Callable[[float], None]


class NetworkReached(ConnectionError):
    """The user's code tried to open a connection. No byte was sent."""


class Surroundings:
    """The process of the runs, while `entered`."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        """The addresses to which the code tried to connect."""
        self._printed = io.StringIO()
        self._randomness: Randomness | None = None
        self._traveller: time_machine.Traveller | None = None
        self._at: Instant | None = None

    @contextmanager
    def entered(self, now: Instant, sleep: Sleep) -> Iterator[None]:
        """Take over the process. `sleep` replaces `time.sleep` meanwhile."""
        with contextlib.ExitStack() as stack:
            self._randomness = stack.enter_context(seeded_process())
            stack.enter_context(replaced(socket.socket, "connect", self._refuse))
            stack.enter_context(replaced(socket.socket, "connect_ex", self._refuse))
            stack.enter_context(replaced(socket.socket, "sendto", self._refuse_datagram))
            for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
                stack.enter_context(replaced(socket, name, self._refuse))
            stack.enter_context(replaced(time, "sleep", sleep))
            travel = time_machine.travel(now / SECOND_MS, tick=False)
            self._traveller, self._at = travel.start(), now
            stack.callback(travel.stop)
            yield

    @property
    def said(self) -> str:
        """The output of the last run, and its log lines to the same streams."""
        return self._printed.getvalue()

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """While entered, output is kept and not printed. Of a traceback in a log, the exception itself is kept."""
        self._printed = io.StringIO()
        with (
            contextlib.redirect_stdout(self._printed),
            contextlib.redirect_stderr(self._printed),
            replaced(logging.Formatter, "formatException", _exception_told),
        ):
            yield

    def begin(self, seed: str, now: Instant) -> None:
        """Reset the process: its randomness and its time begin anew."""
        if self._randomness is not None:
            self._randomness.begin(seed)
        self.move_to(now)

    def kept(self) -> contextlib.AbstractContextManager[None]:
        """While entered, other runs draw what they draw, as in processes of their own."""
        return contextlib.nullcontext() if self._randomness is None else self._randomness.kept()

    def move_to(self, now: Instant) -> None:
        """Set the time that the user's code reads."""
        if self._traveller is not None and now != self._at:
            self._traveller.move_to(now / SECOND_MS)
            self._at = now

    def _refuse_datagram(self, _: bytes, *where: object) -> None:
        """Replaces what sends without a connection; the address comes last. Errors: NetworkReached, always."""
        self._refuse(where[-1])

    def _refuse(self, address: object, *_: object, **__: object) -> None:
        """Replaces the lookup of addresses and host names. Errors: NetworkReached, always."""
        self.reached.append(str(address))
        raise NetworkReached(f"redrive prove lets no connection out, and this one was to {address}")


@contextmanager
def variables(given: Mapping[str, str], missing: Mapping[str, str] | None = None) -> Iterator[None]:
    """While entered, the environment has these variables, those of `missing` that it has not, and no others of AWS."""
    saved = dict(os.environ)
    for name in [name for name in os.environ if is_of_aws(name)]:
        del os.environ[name]
    os.environ.update(given)
    for name, value in (missing or {}).items():
        os.environ.setdefault(name, value)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(saved)


def is_set(name: str) -> bool:
    """Whether the environment has a variable."""
    return name in os.environ


@contextmanager
def replaced(place: object, name: str, value: object) -> Iterator[None]:
    """While entered, that attribute of a module or class has this value."""
    original = getattr(place, name)
    setattr(place, name, value)
    try:
        yield
    finally:
        setattr(place, name, original)


def _exception_told(_: logging.Formatter, about: tuple[type[BaseException], BaseException, object]) -> str:
    """An exception without its traceback, which nobody reads and which costs a fifth of many handlers' time."""
    return "".join(traceback.format_exception_only(about[1])).rstrip()
