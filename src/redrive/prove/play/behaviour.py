"""What runs have done, by what they had observed: a run that observes the same does the same.

So a run whose observations are known is played without its code: its calls are made as before, with their faults, as
long as their answers are known, and its end is the known one. When an answer is new, the code runs from its beginning,
is given the answers that were met so far, and goes on by itself. Some of the runs that are known to their end run even
so, at first each sixteenth: a handler that does anything else then is not the same from run to run, and from then on
all runs have their code.

It holds for handlers whose modules are imported anew, or are as they were after an earlier run; and as long as a run
makes calls of boto3, requests over HTTP and pauses alone: see `Course.stop`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast

from redrive.core.clock import Instant
from redrive.invoke.runtime.handlers import Answer
from redrive.prove.play.environments import Idle
from redrive.prove.process.subject import Place
from redrive.prove.stage.tape import Strayed

T = TypeVar("T")

_TRIED_FIRST = 512
_TRIED_EACH, _TRIED_EACH_LATER = 16, 64
"""Of the first runs that are known to their end, so many are tried; and of those after them."""


class Observing(Protocol):
    """A run: what it has observed, and whether all of that can be compared."""

    met: list[tuple[Instant, str]]
    is_told_all: bool


class Time(Protocol):
    """The time that the code reads."""

    @property
    def now(self) -> Instant: ...

    def set(self, instant: Instant) -> None: ...


@dataclass(frozen=True, slots=True)
class End:
    """The end of a run: its answer, and what it has printed."""

    answer: Answer
    said: str
    idle: Idle | None = None
    """Its environment, if that remembers anything of it."""

    @property
    def told(self) -> tuple[Answer, str]:
        """What an equal run comes to: the same answer, and the same memory."""
        return self.answer, "" if self.idle is None else self.idle.told


@dataclass(frozen=True, slots=True)
class _Deed:
    """A call or a pause of a run: what it asks, the line of the code, and how to make it."""

    asked: object
    place: Place | None
    perform: Callable[[Place | None], Callable[[], object]]


@dataclass(slots=True)
class _Known:
    """What a run does after some observations: its next deed, or its end; neither if it was not seen so far."""

    deed: _Deed | None = None
    end: End | None = None
    then: dict[Hashable, _Known] = field(default_factory=dict)
    """By what the run observes at the deed."""


class Behaviour:
    """What the runs of a performance have done, by their beginnings."""

    def __init__(self) -> None:
        self.is_the_same = True
        """Whether equal observations have led to the same each time."""
        self._known: dict[Hashable, _Known] = {}
        self._ends = 0

    def course(self, beginning: Hashable, run: Observing, time: Time) -> Course:
        """The course of a run that begins so: with its event, its time, and everything else that it can know then."""
        known = self._known.get(beginning)
        if known is None:
            known = self._known[beginning] = _Known()
        return Course(self, known, run, time)

    def is_tried(self) -> bool:
        """Whether the code runs where the whole course is known."""
        self._ends += 1
        return self._ends % (_TRIED_EACH if self._ends <= _TRIED_FIRST else _TRIED_EACH_LATER) == 0

    def stray(self) -> Strayed:
        """Note that equal observations have led to something else."""
        self.is_the_same = False
        return Strayed()


class Course:
    """The course of one run: first without its code, as far as it is known, and then with its code."""

    def __init__(self, behaviour: Behaviour, beginning: _Known, run: Observing, time: Time) -> None:
        self._behaviour = behaviour
        self._here: _Known | None = beginning
        self._run = run
        self._time = time
        self._began_at = time.now
        self.made = 0
        """How many calls the code has made, pauses apart."""
        self._met: deque[tuple[object, Callable[[], object], Instant]] = deque()

    @property
    def began_at(self) -> Instant:
        """When the run began, and its code begins, whatever time it is after the calls that were made without it."""
        return self._began_at

    def follow(self) -> End | None:
        """Make the calls that are known to come; returns the end of the run, if it is known.

        Errors: as faults raise that end the run or the leg.
        """
        while self._here is not None and self._here.deed is not None:
            deed, before = self._here.deed, len(self._run.met)
            self._met.append((deed.asked, deed.perform(deed.place), self._time.now))
            self._observe(before)
        return None if self._here is None or self._here.end is None else self._here.end

    def make(
        self, asked: object, place: Callable[[], Place | None], perform: Callable[[Place | None], Callable[[], T]]
    ) -> Callable[[], T]:
        """Make a call of the code: as it was met, or by `perform`; returns what gives the answer.

        Errors: Strayed if the code makes another call than was known; as `perform`.
        """
        self.made += not isinstance(asked, int | float)
        if self._met:
            known, give, at = self._met.popleft()
            self._time.set(at)
            if known != asked:
                raise self._behaviour.stray()
            return cast("Callable[[], T]", give)
        here, before = self._here, len(self._run.met)
        if here is None:
            return perform(place())
        if here.end is not None:  # It is tried, and does not end as it is known to.
            raise self._behaviour.stray()
        here.deed = _Deed(asked, place(), perform)
        try:
            give = perform(here.deed.place)
        except Exception:  # Only the code knows what it makes of that.
            here.deed = None
            self.stop()
            raise
        self._observe(before)
        return give

    def ended(self, end: End) -> None:
        """The code has come to its end. Errors: Strayed if the end is another one than was known."""
        if self._here is None:
            return
        if self._met or self._here.deed is not None or (self._here.end or end).told != end.told:
            raise self._behaviour.stray()
        self._here.end = end

    def stop(self) -> None:
        """From here on, more than its observations decides what the run does."""
        self._here = None

    def _observe(self, before: int) -> None:
        if self._here is None:
            return
        met = self._run.met[-1] if len(self._run.met) > before else None
        if not self._run.is_told_all:
            self._here = None
            return
        then = self._here.then
        here = then.get((self._time.now, met))
        if here is None:
            here = then[self._time.now, met] = _Known()
        self._here = here
