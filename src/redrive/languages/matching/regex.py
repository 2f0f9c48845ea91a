"""Regular expressions that match in linear time: a text is read once, character by character.

The sets of places that occur while reading are cached as rows (the states of a lazily built DFA), each with the next
row for each character, so that most characters cost one look-up. The cache is bounded; a pattern that needs more rows
costs a step of its program for each character.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.languages.matching.chars import WORD
from redrive.languages.matching.program import Program, compile_program
from redrive.languages.matching.syntax import Look, MalformedPattern, Point, Syntax, Tree, parse_regex
from redrive.languages.matching.trees import (
    ends_at_end,
    is_plain_text,
    length_max,
    required_text,
    reversed_tree,
    uncaptured,
)

PLACES_MAX = 1_000
"""The most places of one pattern's program; a repetition counts once for each time."""

ROWS_KEPT_MAX = 500
FOLLOWERS_KEPT_MAX = 20_000
LOOKS_MAX = 20


class _Found(Exception):
    """A match is certain, whatever follows."""


class _Lost(Exception):
    """No match is possible any more."""


class _Row(dict[str, "_Row"]):
    """A set of places, and the rows that follow it on the characters seen so far."""

    __slots__ = ("places", "reader")

    def __init__(self, reader: _Reader, places: int) -> None:
        super().__init__()
        self.reader = reader
        self.places = places

    def __missing__(self, character: str) -> _Row:
        return self.reader.follow(self, character)


class _Reader:
    """Reads texts by rows; `again` are the places at which a match may begin at every character."""

    def __init__(self, program: Program, *, again: int, ends_early: bool) -> None:
        self._program = program
        self.again = again
        self._ends_early = ends_early
        self._rows: dict[int, _Row] = {}
        self._followers = 0

    def row(self, places: int) -> _Row:
        """The row of these places. Errors: _Found, _Lost."""
        if self._ends_early and places & self._program.accepting:
            raise _Found
        if not places:
            raise _Lost
        row = self._rows.get(places)
        if row is None:
            if len(self._rows) >= ROWS_KEPT_MAX:
                self._forget()
            row = self._rows[places] = _Row(self, places)
        return row

    def follow(self, row: _Row, character: str) -> _Row:
        """The row after a character, cached. Errors: _Found, _Lost."""
        program = self._program
        places = program.closed(program.read(row.places, character) | self.again, program.passable)
        following = self.row(places)
        self._followers += 1
        if self._followers > FOLLOWERS_KEPT_MAX:
            self._forget()
            row.clear()
        row[character] = following
        return following

    def _forget(self) -> None:
        for row in self._rows.values():
            row.clear()  # Rows refer to each other in cycles; emptied rows are freed at once.
        self._rows.clear()
        self._followers = 0


class Regex:
    """A compiled regular expression. `cost` is the most integer operations for each character."""

    def __init__(self, tree: Tree, places_max: int) -> None:
        self._program = program = compile_program(tree, places_max)
        self._looks = _compile_looks(program, places_max)
        self.cost: int = program.cost + sum(look.cost for look in self._looks)
        self._required, self._required_at = required_text(tree)
        self._is_plain_text = is_plain_text(tree)
        self._at_start = program.points.get(Point.START, 0)
        self._at_end = program.points.get(Point.END, 0)
        self._has_conditions = bool(self._looks) or bool(program.points.keys() - {Point.START, Point.END})
        anywhere = program.closed(program.start, program.passable)
        # A pattern anchored at the start cannot begin at later characters.
        self._anywhere = 0 if _only_waits(program, anywhere, self._at_start) else anywhere
        is_cuttable = ends_at_end(tree) and not self._at_start and not self._has_conditions
        self._length_max = length_max(tree) if is_cuttable else None
        self._searching = _Reader(program, again=self._anywhere, ends_early=True)
        self._matching = _Reader(program, again=0, ends_early=False)

    def search(self, text: str) -> bool:
        """Whether a part of the text matches."""
        place = text.find(self._required)
        if place < 0:
            return False
        if self._is_plain_text:
            return True
        if self._has_conditions:
            return any(self._accepted(text, is_search=True))
        # The text that every match contains, and the end of a match, limit where a match can begin.
        begin = 0 if self._required_at is None else max(0, place - self._required_at)
        if self._length_max is not None:
            begin = max(begin, len(text) - self._length_max - 1)
        return self._read(self._searching, text, begin)

    def fullmatch(self, text: str) -> bool:
        """Whether the whole text matches."""
        if self._required not in text:
            return False
        if self._has_conditions:
            return self._accepted(text, is_search=False)[-1]
        return self._read(self._matching, text, 0)

    def _read(self, reader: _Reader, text: str, begin: int) -> bool:
        """Read by rows up to the first place where `$` may hold, then step by step."""
        program = self._program
        # `$` holds at the end, and before a final newline.
        rest = "\n" if self._at_end and text.endswith("\n") else ""
        first = self._anywhere if begin else program.closed(program.start, program.passable | self._at_start)
        try:
            row = reader.row(first)
            for character in text[begin : len(text) - len(rest)]:
                row = row[character]
        except _Found:
            return True
        except _Lost:
            return False
        passable = program.passable | self._at_end | (self._at_start if len(text) == len(rest) else 0)
        places = program.closed(row.places, passable)
        if not rest:
            return bool(places & program.accepting)
        if reader is self._searching and places & program.accepting:
            return True
        passable = program.passable | self._at_end
        return bool(program.closed(program.read(places, rest) | reader.again, passable) & program.accepting)

    def _accepted(self, text: str, *, is_search: bool) -> list[bool]:
        holding = [(look.bit, look.holds(text)) for look in self._looks]
        return _simulate(self._program, text, holding, begins_anywhere=is_search)


class _CompiledLook:
    """A lookahead or lookbehind, and the bit of the places that test it."""

    def __init__(self, look: Look, bit: int, places_max: int) -> None:
        self.bit = bit
        self._look = look
        tree = reversed_tree(look.part) if look.is_ahead else look.part
        self._program = compile_program(tree, places_max)
        self._inner = _compile_looks(self._program, places_max)
        self.cost: int = self._program.cost + sum(inner.cost for inner in self._inner)

    def holds(self, text: str) -> list[bool]:
        """For each position in a text, the end included, whether the lookahead or lookbehind holds there."""
        inner = [(look.bit, look.holds(text)) for look in self._inner]
        found = _simulate(self._program, text, inner, begins_anywhere=True, is_backward=self._look.is_ahead)
        return found if self._look.is_wanted else [not one for one in found]


def holding_of(condition: Point | Look, text: str) -> list[bool]:
    """For each position in a text, the end included, whether a condition holds there."""
    if isinstance(condition, Look):
        return _CompiledLook(condition, 0, PLACES_MAX).holds(text)
    return _where(condition, text)


def compile_regex(text: str, syntax: Syntax, *, places_max: int = PLACES_MAX) -> Regex:
    """Compile a regular expression. Errors: MalformedPattern (syntax; too large)."""
    return Regex(uncaptured(parse_regex(text, syntax)), places_max)


def _compile_looks(program: Program, places_max: int) -> Sequence[_CompiledLook]:
    looks = [(point, bit) for point, bit in program.points.items() if isinstance(point, Look)]
    if len(looks) > LOOKS_MAX:
        raise MalformedPattern(f"the pattern looks around more than {LOOKS_MAX} times")
    return tuple(_CompiledLook(look, bit, places_max) for look, bit in looks)


def _only_waits(program: Program, places: int, bits: int) -> bool:
    """Whether none of these places leads on, except through those of `bits`."""
    idle = bits | program.passable
    for source, _ in program.jumps:
        idle |= source
    return bool(bits) and not places & ~idle


def _simulate(
    program: Program, text: str, holding: Sequence[tuple[int, list[bool]]], *, begins_anywhere: bool,
    is_backward: bool = False,
) -> list[bool]:  # fmt: skip
    """For each position in a text, whether a match of the program ends there, read forward or backward."""
    conditions = [*holding, *_conditions(program, text)]
    accepted = [False] * (len(text) + 1)
    places = program.start
    order = range(len(text), -1, -1) if is_backward else range(len(text) + 1)
    for at in order:
        passable = program.passable
        for bit, holds in conditions:
            if holds[at]:
                passable |= bit
        places = program.closed(places, passable)
        accepted[at] = bool(places & program.accepting)
        beside = at - 1 if is_backward else at
        if 0 <= beside < len(text):
            places = program.read(places, text[beside]) | (program.start if begins_anywhere else 0)
    return accepted


def _conditions(program: Program, text: str) -> list[tuple[int, list[bool]]]:
    """For each kind of point in the program, the positions in a text at which it holds."""
    return [(bit, _where(point, text)) for point, bit in program.points.items() if isinstance(point, Point)]


def _where(point: Point, text: str) -> list[bool]:
    end = len(text)
    if point is Point.START:
        return [at == 0 for at in range(end + 1)]
    if point is Point.END:
        return [at == end or (at == end - 1 and text[at] == "\n") for at in range(end + 1)]
    words = [False, *(character in WORD for character in text), False]
    return [(words[at] != words[at + 1]) is (point is Point.BOUNDARY) for at in range(end + 1)]
