"""Steps of places that are no keys: parts of texts, as `text.split("/")[2]` has them, and members of no list yet."""

from __future__ import annotations

from collections.abc import Callable

PARTS_MAX = 16
"""How many parts a text has at most after one of them was filled."""


class Member(int):
    """A step of a place: a member of a list that stands where a text was."""


MEMBER = Member(0)


class Part(str):
    """A step of a place: the part with a number, of a text that a separator splits."""

    separator: str
    number: int

    __slots__ = ("number", "separator")

    @classmethod
    def of(cls, separator: str, number: int) -> Part:
        """The step of a part."""
        made = cls(f"part {number + 1} by {separator!r}")
        made.separator, made.number = separator, number
        return made

    def fill(self, text: str, fill: Callable[[str], object]) -> str:
        """The text with this part filled; parts that it lacks before this one are made up."""
        parts = text.split(self.separator) if text else []
        parts += [f"part{number + 1}" for number in range(len(parts), min(self.number + 1, PARTS_MAX))]
        if self.number < len(parts):
            parts[self.number] = str(fill(parts[self.number]))
        return self.separator.join(parts)
