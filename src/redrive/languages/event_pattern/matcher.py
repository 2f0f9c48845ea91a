"""Finds the patterns that an event matches."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from redrive.languages.event_pattern.conjunction import satisfies
from redrive.languages.event_pattern.pattern import Pattern


def matches(pattern: Pattern, event: Mapping[str, object]) -> bool:
    """Whether an event matches a pattern, by trying one alternative after another."""
    return any(satisfies(event, alternative) for alternative in pattern.alternatives)


class Matcher:
    """All patterns of a bus, by name. A matcher never changes: with_pattern and without make another one."""

    def __init__(self, patterns: Mapping[str, Pattern]) -> None:
        self._patterns = patterns

    @classmethod
    def of(cls, patterns: Mapping[str, Pattern]) -> Matcher:
        """The matcher of these patterns."""
        return cls(dict(patterns))

    def with_pattern(self, name: str, pattern: Pattern) -> Matcher:
        """The same patterns and this one, which replaces another of its name."""
        return Matcher({**self._patterns, name: pattern})

    def without(self, name: str) -> Matcher:
        """The same patterns without one."""
        return Matcher({other: pattern for other, pattern in self._patterns.items() if other != name})

    def matching(self, event: Mapping[str, object]) -> frozenset[str]:
        """The names of the patterns that an event matches."""
        return frozenset(name for name, pattern in self._patterns.items() if matches(pattern, event))

    def matching_json(self, text: bytes | str) -> frozenset[str]:
        """The names of the patterns that an event matches. Errors: ValueError if the text is no JSON object."""
        event = orjson.loads(text)
        if not isinstance(event, dict):
            raise ValueError("an event is a JSON object")
        return self.matching(event)
