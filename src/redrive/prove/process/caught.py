"""Exceptions that the user's code catches itself: why a handler may do nothing although no run of it fails."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_Trace = Callable[[FrameType, str, object], "_Trace | None"]

_CONTROL = (StopIteration, StopAsyncIteration, GeneratorExit)
"""Exceptions that end a loop or a generator, and are no errors."""


class Caught:
    """The exceptions that came through the user's lines, each with the innermost of them."""

    def __init__(self, told_line: Callable[[str, int], str]) -> None:
        """`told_line` is a line for the user, and empty for a line that is not the user's."""
        self._told_line = told_line
        self._places: dict[int, tuple[BaseException, str]] = {}

    @property
    def told(self) -> list[str]:
        """`KeyError: 'id' at app.py:7: order = body["id"]`, in the order in which they were raised."""
        return [f"{type(error).__name__}: {error} at {place}" for error, place in self._places.values()]

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While entered, exceptions of this thread are noted. It is slow: each call of a function is looked at."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, arg: object) -> _Trace | None:
        """Look at the lines of a function of the user's."""
        is_own = bool(self._told_line(frame.f_code.co_filename, frame.f_lineno))
        frame.f_trace_lines = False
        return self._note if is_own else None

    def _note(self, frame: FrameType, event: str, arg: object) -> _Trace:
        """Note an exception at the innermost of the user's lines: outer ones see the same exception later."""
        error = arg[1] if event == "exception" and isinstance(arg, tuple) else None
        if isinstance(error, BaseException) and not isinstance(error, _CONTROL):
            place = self._told_line(frame.f_code.co_filename, frame.f_lineno)
            self._places.setdefault(id(error), (error, place))
        return self._note
