"""A compiled filter pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Matches = Callable[[str], bool]
Extract = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Filter:
    """A test of messages. `weight` bounds its cost for each character, in units of one search for plain text.

    `extracted` gives what the pattern names in a message: `$name` of fields between spaces, `$.name` of JSON.
    `references` are the names of fields between spaces; None for a pattern over JSON, whose values all have a name.
    """

    matches: Matches
    weight: int
    extracted: Extract = lambda _: {}
    references: frozenset[str] | None = frozenset()

    def __call__(self, message: str) -> bool:
        return self.matches(message)
