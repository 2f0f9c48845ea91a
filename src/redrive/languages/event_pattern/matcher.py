"""Finds the patterns of a bus that an event matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from redrive.languages.event_pattern.automaton import Automaton
from redrive.languages.event_pattern.conjunction import satisfies
from redrive.languages.event_pattern.pattern import Pattern
from redrive.languages.event_pattern.states import State

LAYER_SIZES = (32, 512)
"""How many patterns the newest layers have at most. The oldest layer has all others."""


def matches(pattern: Pattern, event: Mapping[str, object]) -> bool:
    """Whether an event matches a pattern, by trying one alternative after another."""
    return any(satisfies(event, alternative) for alternative in pattern.alternatives)


@dataclass(frozen=True, slots=True)
class _Layer:
    """Patterns with their automaton, and the names of those that were removed since it was built."""

    patterns: Mapping[str, Pattern]
    removed: frozenset[str]
    automaton: Automaton
    start: State

    @staticmethod
    def of(patterns: Mapping[str, Pattern]) -> _Layer:
        automaton = Automaton(patterns)
        return _Layer(patterns, frozenset(), automaton, automaton.start())

    def without(self, name: str) -> _Layer:
        if name not in self.patterns or name in self.removed:
            return self
        removed = self.removed | {name}
        return _Layer(self.patterns, removed, self.automaton, self.automaton.start(removed))

    def live(self) -> dict[str, Pattern]:
        """The patterns that were not removed."""
        if not self.removed:
            return dict(self.patterns)
        return {name: pattern for name, pattern in self.patterns.items() if name not in self.removed}


class Matcher:
    """All patterns of a bus, by name. A matcher never changes: with_pattern and without make another one.

    Patterns that came lately have a small automaton of their own, so that one more costs little. A matcher that has
    matched more events than it has patterns joins its automata into one.
    """

    __slots__ = ("_layers", "_matched")

    def __init__(self, layers: tuple[_Layer, ...]) -> None:
        self._layers = layers
        self._matched = 0

    @classmethod
    def of(cls, patterns: Mapping[str, Pattern]) -> Matcher:
        """The matcher of these patterns."""
        return cls((_Layer.of(dict(patterns)),))

    def with_pattern(self, name: str, pattern: Pattern) -> Matcher:
        """The same patterns and this one, which replaces another of its name."""
        layers = [layer.without(name) for layer in self._layers]
        newest = {name: pattern}
        for size in LAYER_SIZES:
            if layers and len(layers[-1].patterns) <= size:
                newest = layers.pop().live() | newest
            if len(newest) <= size:
                break
        else:
            while layers:
                newest = layers.pop().live() | newest
        return Matcher((*layers, _Layer.of(newest)))

    def without(self, name: str) -> Matcher:
        """The same patterns without one."""
        return Matcher(tuple(layer.without(name) for layer in self._layers))

    def matching(self, event: Mapping[str, object]) -> frozenset[str]:
        """The names of the patterns that an event matches."""
        layers = self._layers
        if len(layers) > 1:
            return self._matching_by_layers(event)
        layer = layers[0]
        return layer.automaton.names(layer.start, event)

    def matching_json(self, text: bytes | str) -> frozenset[str]:
        """The names of the patterns that an event matches. Errors: ValueError if the text is no JSON object."""
        event = orjson.loads(text)
        if not isinstance(event, dict):
            raise ValueError("an event is a JSON object")
        return self.matching(event)

    def _matching_by_layers(self, event: Mapping[str, object]) -> frozenset[str]:
        layers = self._layers
        self._matched += 1
        if self._matched > sum(len(layer.patterns) for layer in layers):
            joined: dict[str, Pattern] = {}
            for layer in layers:
                joined |= layer.live()
            self._layers = layers = (_Layer.of(joined),)
        return frozenset().union(*(layer.automaton.names(layer.start, event) for layer in layers))
