"""A regular expression as an NFA (nondeterministic finite automaton) whose states are the bits of one integer.

A state is called a place in the pattern. Bit i is set while the match may continue at place i. Reading a character
moves all bits at once: those whose set has the character go to the next place, and also stay if the place repeats.
Places that need no character are passed by one addition, whose carry runs along a row of them. Only groups need more:
jumps from one place to others. So a character costs a few operations on integers, whatever the pattern.

Source: Navarro and Raffinot, Flexible Pattern Matching in Strings, chapter 4 (bit-parallel automata).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from redrive.languages.matching.chars import CharSet
from redrive.languages.matching.syntax import (
    Captured,
    Chars,
    Either,
    Look,
    MalformedPattern,
    Point,
    Repeated,
    Sequenced,
    Tree,
)

CHARACTERS_KEPT_MAX = 4_096
"""Size of the cache of places by character."""


@dataclass(frozen=True, slots=True)
class Program:
    """An automaton. Each integer is a set of places.

    At `staying` places a character may repeat; `passable` places need no character; `points` are passed without a
    character if their condition holds. `jumps` lead from a place to others without a character.
    """

    sets: Sequence[tuple[CharSet, int]]
    start: int
    accepting: int
    staying: int
    passable: int
    jumps: Sequence[tuple[int, int]]
    points: Mapping[Point | Look, int]
    size: int
    _taking: dict[str, int] = field(default_factory=dict)

    @property
    def cost(self) -> int:
        """The approximate operations for each character: one for all places together, and one for each jump."""
        return 2 + len(self.jumps)

    def taking(self, character: str) -> int:
        """The places that accept a character."""
        known = self._taking.get(character)
        if known is None:
            if len(self._taking) >= CHARACTERS_KEPT_MAX:
                self._taking.clear()
            known = 0
            for one, places in self.sets:
                if character in one:
                    known |= places
            self._taking[character] = known
        return known

    def read(self, places: int, character: str) -> int:
        """The places after a character, before passing places without a character."""
        moved = places & self.taking(character)
        return (moved << 1) | (moved & self.staying)

    def closed(self, places: int, passable: int) -> int:
        """These places, and all places reachable from them without a character."""
        while True:
            # Adding the places to the rows of passable places flips each bit from there to the end of its row.
            places |= ((places & passable) + passable) ^ passable
            reached = places
            for source, targets in self.jumps:
                if reached & source:
                    reached |= targets
            if reached == places:
                return places
            places = reached


def compile_program(tree: Tree, size_max: int) -> Program:
    """The automaton of a tree. Errors: MalformedPattern if it has more places than `size_max`."""
    branches = tree.branches if isinstance(tree, Either) else (tree,)
    size = sum(1 + _size(branch) for branch in branches)
    if size > size_max:
        raise MalformedPattern(f"the pattern is too large: it has {size} places, and {size_max} are the most")
    builder = _Builder()
    for branch in branches:
        builder.start |= 1 << builder.size
        builder.add(branch)
        builder.accepting |= 1 << builder.place()
    return builder.program()


def _size(tree: Tree) -> int:
    """An upper bound of the places of a tree."""
    match tree:
        case Chars() | Point() | Look():
            return 1
        case Captured(part, _):
            return _size(part)
        case Sequenced(parts):
            return sum(map(_size, parts))
        case Either(branches):
            return sum(2 + _size(branch) for branch in branches)
        case Repeated(part, least, most):
            copies = max(least, 1) if most is None else most
            return copies if isinstance(part, Chars) else (copies + 1) * (_size(part) + 1) + 1


class _Builder:
    """Builds places, each next to the place that follows it."""

    def __init__(self) -> None:
        self.size = 0
        self.start = self.accepting = 0
        self._staying = self._passable = 0
        self._sets: dict[CharSet, int] = {}
        self._jumps: list[tuple[int, int]] = []
        self._points: dict[Point | Look, int] = {}

    def program(self) -> Program:
        """The program from all places."""
        return Program(
            sets=tuple(self._sets.items()), start=self.start, accepting=self.accepting, staying=self._staying,
            passable=self._passable, jumps=tuple(self._jumps), points=self._points, size=self.size,
        )  # fmt: skip

    def place(self) -> int:
        """A new place without successors."""
        self.size += 1
        return self.size - 1

    def add(self, tree: Tree) -> None:
        """Add a tree; a match of the tree leads to the place that comes next."""
        match tree:
            case Chars(characters):
                self._add_chars(characters)
            case Point() | Look():
                self._points[tree] = self._points.get(tree, 0) | 1 << self.place()
            case Captured(part, _):
                self.add(part)
            case Sequenced(parts):
                for part in parts:
                    self.add(part)
            case Either(branches):
                self._add_either(branches)
            case Repeated(Chars(characters), least, most):
                self._repeat_chars(characters, least, most)
            case Repeated(part, least, most):
                self._repeat(part, least, most)

    def _add_chars(self, characters: CharSet) -> int:
        bit = 1 << self.place()
        self._sets[characters] = self._sets.get(characters, 0) | bit
        return bit

    def _repeat_chars(self, characters: CharSet, least: int, most: int | None) -> None:
        """A row of single places: the first are required, the others passable; without a maximum the last repeats."""
        copies = max(least, 1) if most is None else most
        for copy in range(copies):
            bit = self._add_chars(characters)
            if copy >= least:
                self._passable |= bit
            if most is None and copy == copies - 1:
                self._staying |= bit

    def _add_either(self, branches: Sequence[Tree]) -> None:
        fork = self._fork()
        starts, ends = [], []
        for branch in branches:
            starts.append(self.size)
            self.add(branch)
            ends.append(self.place())
        self._jump(fork, starts)
        for end in ends:
            self._jump(end, [self.size])

    def _repeat(self, part: Tree, least: int, most: int | None) -> None:
        for _ in range(least if most is None or most > least else most):
            self.add(part)
        if most is None:
            self._add_loop(part)
            return
        forks = []
        for _ in range(most - least):
            forks.append(self._fork())
            self.add(part)
        for fork in forks:
            self._jump(fork, [self.size])

    def _add_loop(self, part: Tree) -> None:
        """Any number of times: a fork before the part, and a jump back to the fork after it."""
        fork = self._fork()
        self.add(part)
        back = self.place()
        self._jump(back, [fork])
        self._jump(fork, [self.size])

    def _fork(self) -> int:
        """A place that leads to the next place without a character, and has jumps to other places."""
        fork = self.place()
        self._passable |= 1 << fork
        return fork

    def _jump(self, source: int, targets: Iterable[int]) -> None:
        self._jumps.append((1 << source, sum(1 << target for target in targets)))
