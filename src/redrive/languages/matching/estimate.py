"""How many steps a matcher that goes back and forth can need at most for a text.

Such a matcher tries each place where a match may begin, and at each repetition each place where it may end. A
repetition whose characters cannot begin what follows it has one end only. A repetition that is followed by a text ends
where that text stands, which is counted in the text at hand. The product of all these choices bounds the steps. A
repetition of repetitions has no such bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.languages.matching.chars import CharSet
from redrive.languages.matching.syntax import Captured, Chars, Either, Look, Point, Repeated, Sequenced, Tree
from redrive.languages.matching.trees import flat


class _Unbounded(Exception):
    """The steps have no bound that is worth its name."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A bound of steps: `factor` times the choices that depend on the text.

    `beginning` is a text with which every match begins, `endings` are texts before which a repetition ends; `lengths`
    counts the choices that are bounded by the length of the text alone.
    """

    factor: int
    beginning: str
    is_anchored: bool
    endings: tuple[str, ...]
    lengths: int

    def steps(self, text: str) -> int:
        """The most steps of a search in this text."""
        length = len(text) + 1
        if self.is_anchored:
            steps = self.factor * length
        elif self.beginning:
            steps = self.factor * length * text.count(self.beginning) + length
        else:
            steps = self.factor * length * length
        for ending in self.endings:
            steps *= text.count(ending) + 1
        for _ in range(self.lengths):
            steps *= length
        return steps


def estimate(tree: Tree) -> Estimate | None:
    """The bound of a pattern; None if there is none."""
    parts = flat(tree)
    counted = _Counted()
    try:
        counted.add(parts)
    except _Unbounded:
        return None
    beginning = _text_at(parts, 0)
    is_anchored = bool(parts) and parts[0] is Point.START
    return Estimate(counted.factor, beginning, is_anchored, tuple(counted.endings), counted.lengths)


class _Counted:
    """Counts the choices of parts in sequence."""

    def __init__(self) -> None:
        self.factor = 1
        self.endings: list[str] = []
        self.lengths = 0

    def add(self, parts: Sequence[Tree], *, is_whole: bool = True) -> None:
        """Count parts; `is_whole` says that nothing follows them in the pattern."""
        for index, part in enumerate(parts):
            match part:
                case Chars() | Point():
                    pass
                case Repeated(Chars(characters), least, most):
                    if not self._has_one_end(characters, parts, index + 1, is_whole=is_whole):
                        self._add_ends(parts, index + 1, None if most is None else most - least + 1)
                case Repeated(inner, 0, 1):
                    self.factor *= 2
                    self.add(flat(inner), is_whole=False)
                case Either(branches):
                    self.factor *= len(branches)
                    for branch in branches:
                        self.add(flat(branch), is_whole=False)
                case Repeated() | Look() | Sequenced() | Captured():
                    raise _Unbounded

    def _has_one_end(self, characters: CharSet, parts: Sequence[Tree], after: int, *, is_whole: bool) -> bool:
        """Whether a repetition of these characters can end in one place only, or is followed by nothing that fails."""
        if after == len(parts):
            return is_whole
        following = parts[after]
        match following:
            case Chars(first) | Repeated(Chars(first), 1, _):
                return not characters.meets(first)
            case _:
                return False

    def _add_ends(self, parts: Sequence[Tree], after: int, choices: int | None) -> None:
        ending = _text_at(parts, after)
        if choices is not None:
            self.factor *= choices
        elif ending:
            self.endings.append(ending)
        else:
            self.lengths += 1


def _text_at(parts: Sequence[Tree], start: int) -> str:
    """The text that stands at this place of a pattern; empty if other things do."""
    found = ""
    for part in parts[start:]:
        only = part.set.only if isinstance(part, Chars) else None
        if only is None:
            break
        found += only
    return found[:1] if len(set(found)) == 1 else found  # Occurrences of "aaa" overlap; those of "a" are counted.
