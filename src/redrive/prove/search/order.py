"""The order of a search: the histories with the fewest faults first, whoever plays them; and what it has come to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from redrive.prove.judge.judge import Rule, Violation
from redrive.prove.play.faults import (
    History,
)
from redrive.prove.search.stems import Stem

Key = tuple[object, ...]
"""What stands for a moment: two with the same key continue alike."""


@dataclass(frozen=True, slots=True)
class Found:
    """A history that breaks a rule."""

    history: History
    violation: Violation


@dataclass(frozen=True, slots=True)
class Visit:
    """A moment that was come to: whether further faults were to be tried there, and whether it was known."""

    key: Key
    may_fail: bool
    was_known: bool


@dataclass(slots=True)
class Played:
    """What a history has come to. `stems` are the histories with one fault more."""

    runs: int = 0
    merged: int = 0
    found: Found | None = None
    stems: list[Stem] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)


class Waiting(Protocol):
    """A history that waits to be played."""

    @property
    def faults(self) -> int: ...

    @property
    def trying(self) -> str:
        """The last fault, for the user."""
        ...


W = TypeVar("W", bound=Waiting)


@dataclass(slots=True)
class Searched:
    """The statistics of a search: histories played, how many met a known moment, and runs of the handler."""

    histories: int = 0
    merged: int = 0
    runs: int = 0
    found: Found | None = None
    complete_faults: int = -1
    """The number of faults up to which all histories were played; -1 is none."""
    is_finished: bool = False

    def add(self, runs: int, merged: int) -> None:
        """Count a history that was played."""
        self.runs += runs
        self.merged += merged

    def with_more(self, other: Searched) -> Searched:
        """Both searches as one, as of two draws of a handler's randomness."""
        sums = (self.histories + other.histories, self.merged + other.merged, self.runs + other.runs)
        is_finished = self.is_finished and other.is_finished
        return Searched(*sums, other.found, min(self.complete_faults, other.complete_faults), is_finished)


Progress = Callable[[int, int, int, str], None]
"""Receives the current number of faults, the number of histories so far, the number that wait, and what is tried."""


def is_visited(visited: Mapping[Key, bool], key: Key, *, may_fail: bool) -> bool:
    """Whether a moment was continued from, with as many faults left."""
    known = visited.get(key)
    return known is not None and (known or not may_fail)


def searched_by(
    play: Callable[[W], tuple[Played, Sequence[W]]], first: W, progress: Progress, may_go_on: Callable[[], bool], *,
    faults_max: int,
) -> Searched:  # fmt: skip
    """Play histories, those with the fewest faults first, until a rule is broken or nothing is left to play."""
    searched, waiting = Searched(), deque([first])
    suspected: Found | None = None
    while waiting and searched.found is None and may_go_on():
        stem = waiting.popleft()
        searched.complete_faults = stem.faults - 1
        if suspected is not None and stem.faults > sum(leg.faults for leg in suspected.history):
            break
        searched.histories += 1
        progress(stem.faults, searched.histories, len(waiting), stem.trying)
        played, more = play(stem)
        searched.add(played.runs, played.merged)
        waiting.extend(more)
        found = played.found
        if found is not None and found.violation.rule is Rule.UNSTUCK:
            suspected = suspected or found  # Lost or repeated work with as few faults is the better counterexample.
        else:
            searched.found = found
    searched.is_finished = not waiting
    if searched.is_finished:
        searched.complete_faults = faults_max
    elif searched.found is None and searched.histories:  # The next history may be the first with one fault more.
        searched.complete_faults = max(searched.complete_faults, waiting[0].faults - 1)
    searched.found = searched.found or suspected
    return searched
