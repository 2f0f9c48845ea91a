"""A compiled filter pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Matches = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Filter:
    """A test of messages. `weight` bounds its cost for each character, in units of one search for plain text."""

    matches: Matches
    weight: int

    def __call__(self, message: str) -> bool:
        return self.matches(message)
