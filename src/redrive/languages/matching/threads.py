"""Follows all paths through a pattern at once, and keeps for each what its groups have captured.

A path is a thread: a place in the program, and the beginnings and ends of the groups so far. Threads stand in the order
in which a matcher that goes back would try them; of two threads at the same place the later is dropped, so there are
never more threads than places.

Source: Pike's algorithm, as in https://swtch.com/~rsc/regexp/regexp2.html
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.languages.matching.chars import CharSet
from redrive.languages.matching.regex import holding_of
from redrive.languages.matching.syntax import Captured, Chars, Either, Look, Point, Repeated, Sequenced, Tree
from redrive.languages.matching.trees import captured_names

_Saved = tuple[int | None, ...]


class _Kind(enum.Enum):
    READ = 0
    FORK = 1
    SAVE = 2
    HOLD = 3
    MATCH = 4


@dataclass(slots=True)
class _Place:
    """One step of the program: read a character, go two ways, keep a position, ask a condition, or match."""

    kind: _Kind
    set: CharSet | None = None
    first: int = 0
    second: int | None = None
    slot: int = 0
    condition: Point | Look | None = None


class Threads:
    """The program of a pattern."""

    def __init__(self, tree: Tree) -> None:
        self._names = captured_names(tree)
        self._places: list[_Place] = []
        self._add(tree)
        self._places.append(_Place(_Kind.MATCH))
        self._conditions = {place.condition for place in self._places if place.condition is not None}

    def groups(self, text: str) -> tuple[str | None, ...] | None:
        """What the groups capture in the leftmost match; None without a match."""
        holding = {condition: holding_of(condition, text) for condition in self._conditions}
        threads: list[tuple[int, _Saved]] = []
        found: _Saved | None = None
        blank: _Saved = (None,) * (2 * len(self._names))
        for at in range(len(text) + 1):
            entered: dict[int, _Saved] = {}
            ended = False
            for place, saved in threads:
                if self._enter(entered, place, saved, at, holding):
                    found, ended = entered[len(self._places) - 1], True
                    break  # What comes later would have been tried later.
            if found is None and not ended and self._enter(entered, 0, blank, at, holding):
                found = entered[len(self._places) - 1]
            if at == len(text) or (found is not None and not entered):
                break
            threads = self._read(entered, text[at])
            if not threads and found is not None:
                break
        return None if found is None else self._captured(text, found)

    def _read(self, entered: dict[int, _Saved], character: str) -> list[tuple[int, _Saved]]:
        """The threads after a character, in their order."""
        threads = []
        for index, saved in entered.items():
            place = self._places[index]
            if place.kind is _Kind.READ and place.set is not None and character in place.set:
                threads.append((index + 1, saved))
        return threads

    def _enter(
        self, entered: dict[int, _Saved], start: int, saved: _Saved, at: int,
        holding: dict[Point | Look, list[bool]],
    ) -> bool:  # fmt: skip
        """Enter a place and all that is reached from it without a character; True if the match was reached."""
        waiting = [(start, saved)]
        while waiting:
            index, saved = waiting.pop()
            if index in entered:
                continue
            entered[index] = saved
            place = self._places[index]
            match place.kind:
                case _Kind.MATCH:
                    return True
                case _Kind.FORK:
                    if place.second is not None:
                        waiting.append((place.second, saved))
                    waiting.append((place.first, saved))
                case _Kind.SAVE:
                    waiting.append((index + 1, (*saved[: place.slot], at, *saved[place.slot + 1 :])))
                case _Kind.HOLD:
                    if place.condition is not None and holding[place.condition][at]:
                        waiting.append((index + 1, saved))
                case _Kind.READ:
                    pass
        return False

    def _captured(self, text: str, saved: _Saved) -> tuple[str | None, ...]:
        pairs = zip(saved[::2], saved[1::2], strict=True)
        return tuple(None if start is None or end is None else text[start:end] for start, end in pairs)

    def _add(self, tree: Tree) -> None:
        match tree:
            case Chars(characters):
                self._places.append(_Place(_Kind.READ, set=characters))
            case Point() | Look():
                self._places.append(_Place(_Kind.HOLD, condition=tree))
            case Sequenced(parts):
                for part in parts:
                    self._add(part)
            case Captured(part, name):
                slot = 2 * self._names.index(name)
                self._places.append(_Place(_Kind.SAVE, slot=slot))
                self._add(part)
                self._places.append(_Place(_Kind.SAVE, slot=slot + 1))
            case Either(branches):
                self._add_either(branches)
            case Repeated(part, least, most, is_lazy):
                self._repeat(part, least, most, is_lazy=is_lazy)

    def _add_either(self, branches: Sequence[Tree]) -> None:
        ends = []
        for branch in branches[:-1]:
            fork = self._fork()
            fork.first = len(self._places)
            self._add(branch)
            ends.append(self._fork())
            fork.second = len(self._places)
        self._add(branches[-1])
        for end in ends:
            end.first = len(self._places)

    def _repeat(self, part: Tree, least: int, most: int | None, *, is_lazy: bool) -> None:
        for _ in range(least):
            self._add(part)
        if most is None:
            begin = len(self._places)
            fork = self._fork()
            self._add(part)
            self._fork().first = begin
            self._set(fork, begin + 1, len(self._places), is_lazy=is_lazy)
            return
        forks = []
        for _ in range(most - least):
            forks.append((self._fork(), len(self._places)))
            self._add(part)
        for fork, begin in forks:
            self._set(fork, begin, len(self._places), is_lazy=is_lazy)

    def _set(self, fork: _Place, again: int, on: int, *, is_lazy: bool) -> None:
        fork.first, fork.second = (on, again) if is_lazy else (again, on)

    def _fork(self) -> _Place:
        place = _Place(_Kind.FORK)
        self._places.append(place)
        return place
