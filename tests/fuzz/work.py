"""How much work a call is, as a number that is the same on every machine; and an end to calls that never end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

HANG_S = 10
"""CPU time that no case needs a hundredth of: whoever spends it was not going to end."""


class HangError(BaseException):
    """A call went on for ever. No Exception, so that nobody takes it for an answer."""


@contextmanager
def ending(seconds: float = HANG_S) -> Iterator[None]:
    """Has what runs inside raise HangError once it has used so much CPU time.

    Regular expressions ask for signals too, so one that backtracks for ever is ended as a loop is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise HangError(f"still running after {seconds} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python a call runs."""
    count = 0

    def trace(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
