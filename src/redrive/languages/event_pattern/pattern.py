"""A pattern that was read: alternatives of fields, each with the conditions that its value has to satisfy."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.languages.event_pattern.conditions import Condition, Scalar


@dataclass(frozen=True, slots=True)
class Field:
    """What a pattern asks of the values at one path.

    A dot in a key separates two steps of the path, as nesting does. A value that one of the conditions accepts
    satisfies the field; if `may_be_absent`, no value at all satisfies the field too.
    """

    path: tuple[str, ...]
    conditions: tuple[Condition, ...]
    may_be_absent: bool = False

    @property
    def name(self) -> str:
        """The path as users write it: `detail.state`."""
        return ".".join(self.path)

    def accepts(self, value: Scalar) -> bool:
        """Whether a value of the event satisfies the field."""
        return any(condition.accepts(value) for condition in self.conditions)


Alternative = tuple[Field, ...]
"""Fields that have to be satisfied together. No two of them have the same path."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """An event pattern: an event matches that satisfies one of its alternatives. `$or` makes more than one."""

    text: str
    alternatives: tuple[Alternative, ...]
