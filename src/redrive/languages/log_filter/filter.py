"""What a filter pattern becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Matches = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Filter:
    """A test of messages. `weight` is what it may cost for each character, in searches for a plain text."""

    matches: Matches
    weight: int

    def __call__(self, message: str) -> bool:
        return self.matches(message)
