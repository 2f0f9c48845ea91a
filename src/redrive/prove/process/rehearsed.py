"""A handler whose runs show what their guesses lack: its values know where they come from, and exceptions are seen.

An exception that the handler catches itself is seen, too: a handler that logs its KeyError has done nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from redrive.invoke.runtime.handlers import Handler
from redrive.prove.guess.causes import mends_of
from redrive.prove.guess.hints import VARIABLE
from redrive.prove.guess.mends import Mend, Raised
from redrive.prove.guess.watched import EVENT, At, Observations, WatchedText
from redrive.prove.process.subject import Modules, Place, Subject
from redrive.prove.process.surroundings import replaced

_MAPPINGS = ("os.py", "<frozen os>", "_collections_abc.py", "<frozen _collections_abc>")
RAISED_MAX = 200
"""How many exceptions of a run are looked at."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An exception in the user's code: as text, its line, and the changes that would avoid it."""

    told: str
    line: str
    mends: tuple[Mend, ...]


class RehearsedSubject:
    """A handler that is watched. `raised` are the exceptions of its last run, in their order."""

    def __init__(self, subject: Subject, sources: Mapping[str, At]) -> None:
        self._subject = subject
        self._sources = sources
        self.watch = Observations(self._line_of)
        self.raised: list[Seen] = []
        self.missing_variables: dict[str, str] = {}
        """Variables that were asked for and are not set, with the line that asks for each."""
        self._known: set[int] = set()
        self._kept: list[BaseException] = []

    @property
    def name(self) -> str:
        """The name of the handler."""
        return self._subject.name

    @property
    def takes_list(self) -> bool:
        """Whether a pipe feeds it."""
        return bool(getattr(self._subject, "takes_list", False))

    @property
    def file(self) -> Path | None:
        """The file of its code."""
        return self._subject.file

    @property
    def places(self) -> Sequence[Path]:
        """The folders of its code."""
        return self._subject.places

    @contextmanager
    def environment(self, modules: Modules | None = None) -> Iterator[Handler]:
        """The handler in an environment of its own, watched."""
        try:
            with self._watched_variables(), self._subject.environment(modules) as handler:
                yield self._watched(handler)
        except Exception as error:
            self._note_traceback(error)
            raise

    def place(self) -> Place | None:
        """The innermost line of the user's code on the stack."""
        return self._subject.place()

    def told_line(self, file: str, line: int) -> str:
        """A line of a traceback, if it is in the user's code."""
        return self._subject.told_line(file, line)

    def _watched(self, handler: Handler) -> Handler:
        def run(event: object, context: object) -> object:
            with self.watch.decoding(), self._traced():
                try:
                    at = At(EVENT, ("Records",) if isinstance(event, list) else ())
                    return handler(self.watch.wrap(event, at), context)
                except Exception as error:
                    self._note_traceback(error)
                    raise

        return run

    @contextmanager
    def _watched_variables(self) -> Iterator[None]:
        """While entered, the values of guessed variables know their places, and those that are not set are noted."""
        encode, decode = os.environ.encodekey, os.environ.decodevalue

        asked = [""]

        def encode_watched(name: Any) -> Any:
            asked[0] = str(name)
            key = encode(name)
            is_set = key in os.environ._data  # type: ignore[attr-defined] # noqa: SLF001 - to ask it would end here.
            line = "" if is_set else self._line_of(_asking(), False)
            if line:
                self.missing_variables.setdefault(asked[0], line)
            return key

        def decode_watched(value: Any) -> Any:
            text = decode(value)
            at = At(f"{VARIABLE}{asked[0]}")
            return WatchedText.of(text, self.watch, at) if text in self._sources else text

        with replaced(os.environ, "encodekey", encode_watched), replaced(os.environ, "decodevalue", decode_watched):
            yield

    def _owns(self, file: str) -> bool:
        return bool(self._subject.told_line(file, 1))

    def _line_of(self, frame: FrameType | None, with_callers: bool) -> str:
        while frame is not None:
            if self._owns(frame.f_code.co_filename):
                return self._place(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back if with_callers else None
        return ""

    def _place(self, file: str, line: int) -> str:
        """`app.py:12`."""
        return ":".join(self._subject.told_line(file, line).split(":")[:2])

    @contextmanager
    def _traced(self) -> Iterator[None]:
        """While entered, exceptions in the user's code are noted where they are raised."""

        def enter(frame: FrameType, _: str, __: object) -> Callable[..., Any] | None:
            if not self._owns(frame.f_code.co_filename):
                return None
            frame.f_trace_lines = False
            return follow

        def follow(frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
            if event == "exception" and isinstance(arg[1], Exception) and not isinstance(arg[1], StopIteration):
                self._note(arg[1], frame, frame.f_lasti, frame.f_lineno, arg[2])
            return follow

        before = sys.gettrace()
        sys.settrace(enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _note_traceback(self, error: BaseException) -> None:
        """Note an exception that no trace has seen: of a module's import, or of another thread."""
        found: TracebackType | None = None
        trace = error.__traceback__
        while trace is not None:
            if self._owns(trace.tb_frame.f_code.co_filename):
                found = trace
            trace = trace.tb_next
        if found is not None:
            self._note(error, found.tb_frame, found.tb_lasti, found.tb_lineno, found)

    def _note(
        self, error: BaseException, frame: FrameType, instruction: int, line: int, trace: TracebackType
    ) -> None:  # fmt: skip
        if id(error) in self._known or len(self.raised) >= RAISED_MAX:
            return
        self._known.add(id(error))
        self._kept.append(error)  # So that no other exception gets its id.
        raised = Raised(error, frame, instruction, line)
        missing = _missing_variable(error, trace)
        mends = [Mend(At(f"{VARIABLE}{missing}"))] if missing else mends_of(raised, self.watch, self._sources)
        told = f"{type(error).__name__}: {error}"
        self.raised.append(Seen(told, self._place(frame.f_code.co_filename, line), tuple(mends)))


def _asking() -> FrameType | None:
    """The frame that asks for a variable: the first one outside of the standard library's mappings."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - who asks is told to the user.
    while frame is not None and frame.f_code.co_filename.endswith(_MAPPINGS):
        frame = frame.f_back
    return frame


def _missing_variable(error: BaseException, trace: TracebackType) -> str:
    """The name of the environment variable that an exception misses; empty if it misses none."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    is_environment = trace.tb_frame.f_code.co_filename.endswith(("os.py", "<frozen os>"))
    return str(error.args[0]) if is_environment and isinstance(error, KeyError) and error.args else ""
