"""Finds which of many texts a value begins with.

The texts stand in order. Of those that a value begins with, all others are beginnings of the longest; so each text
knows the next shorter one that it begins with, and one search finds them all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping


class Affixes:
    """Texts, each with the set of ids that wait for a value that begins with it. A set is the bits of an integer."""

    def __init__(self, ids: Mapping[str, Iterable[int]]) -> None:
        self._texts = sorted(ids)
        self._ids = [tuple(ids[text]) for text in self._texts]
        self._shorter = self._find_shorter()
        self._bits: dict[int, int] = {}

    def bits(self, value: str) -> int:
        """The ids of all texts that a value begins with."""
        at = bisect_right(self._texts, value) - 1
        while at >= 0 and not value.startswith(self._texts[at]):
            at = self._shorter[at]
        return self._bits_at(at) if at >= 0 else 0

    def _bits_at(self, at: int) -> int:
        """The ids of a text and of all that it begins with."""
        known = self._bits.get(at)
        if known is None:
            known = 0
            place = at
            while place >= 0:
                for number in self._ids[place]:
                    known |= 1 << number
                place = self._shorter[place]
            self._bits[at] = known
        return known

    def _find_shorter(self) -> list[int]:
        """For each text the longest other one that it begins with, by position; -1 if there is none."""
        shorter: list[int] = []
        for at, text in enumerate(self._texts):
            place = at - 1
            while place >= 0 and not text.startswith(self._texts[place]):
                place = shorter[place]
            shorter.append(place)
        return shorter
