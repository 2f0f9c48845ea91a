"""Why an event does not match a pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.languages.event_pattern.matcher import matches
from redrive.languages.event_pattern.pattern import Pattern


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether an event matches, and how near it is: 1.0 if it matches."""

    matches: bool
    nearness: float

    def text(self) -> str:
        """The explanation for people."""
        return "the event matches" if self.matches else "the event does not match"


def explain(pattern: Pattern, event: Mapping[str, object]) -> Explanation:
    """Why an event matches a pattern, or why not."""
    found = matches(pattern, event)
    return Explanation(found, 1.0 if found else 0.0)
