"""Makes an event that a pattern matches: what a rule's target is tried with when nobody has given an event."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import assert_never

from redrive.languages.event_pattern.conditions import (
    AnythingBut,
    Cidr,
    Condition,
    Equals,
    EqualsIgnoreCase,
    Exists,
    Prefix,
    Range,
    Scalar,
    Suffix,
    Wild,
)
from redrive.languages.event_pattern.matcher import matches
from redrive.languages.event_pattern.pattern import Alternative, Field, Pattern

PLAIN: tuple[Scalar, ...] = ("sample", "other", "third", "", 1, 0, -1, 1e9 + 1, True, None)
"""Values for a field that accepts nearly everything."""

_ADDED_MAX = 20
_LETTERS = ("", "x", "y", "xy")


def sample(pattern: Pattern, event: Mapping[str, object]) -> dict[str, object] | None:
    """The event, changed as little as its matching needs; None if no changed event was found that matches.

    Values of the event that the pattern accepts stay. Of several alternatives the first that can be satisfied counts.
    """
    if matches(pattern, event):
        return _copy(event)
    for alternative in pattern.alternatives:
        changed = _satisfied(alternative, event)
        if changed is not None and matches(pattern, changed):
            return changed
    return None


def _satisfied(alternative: Alternative, event: Mapping[str, object]) -> dict[str, object] | None:
    changed = _copy(event)
    for field in alternative:
        if not _satisfy(field, changed):
            return None
    return changed


def _satisfy(field: Field, event: dict[str, object]) -> bool:
    """Make the event satisfy a field; returns whether a value was found."""
    parent, absent = event, False
    for step in field.path[:-1]:
        inner = parent.get(step)
        if not isinstance(inner, dict):
            absent = True
            inner = {}
            if field.conditions:
                parent[step] = inner
        parent = inner
    name = field.path[-1]
    if field.may_be_absent and (absent or name not in parent):
        return True
    if any(field.accepts(one) for one in _scalars(parent.get(name)) if name in parent):
        return True
    value = next((one for one in _candidates(field) if field.accepts(one)), _NONE)
    if value is not _NONE:
        parent[name] = [value] if isinstance(parent.get(name), list) else value
        return True
    parent.pop(name, None)
    return field.may_be_absent


_NONE = object()


def _candidates(field: Field) -> Iterator[Scalar]:
    for condition in field.conditions:
        yield from _values(condition)


def _values(condition: Condition) -> Iterator[Scalar]:
    """Values that the condition may accept: for most conditions the first does."""
    match condition:
        case Equals(value=value):
            yield value
        case EqualsIgnoreCase(folded=folded):
            yield folded
        case Prefix(text=text):
            yield text + "sample"
            yield text
        case Suffix(text=text):
            yield "sample" + text
            yield text
        case Wild(wildcard=wildcard):
            for letters in _LETTERS:
                yield letters.join("".join(part or "x" for part in piece) for piece in wildcard.pieces)
        case Range(low=low, high=high):
            yield from _numbers(low, high)
        case Cidr(network=network):
            yield str(network.network_address)
        case Exists():
            yield PLAIN[0]
        case AnythingBut():
            yield from PLAIN
            yield from (f"sample {number}" for number in range(_ADDED_MAX))
        case _:
            assert_never(condition)


def _numbers(low: float | None, high: float | None) -> Iterator[Scalar]:
    """Numbers within bounds, or at them: whole ones first."""
    if low is not None:
        yield from (math.floor(low) + 1, low + 1)
    if high is not None:
        yield from (math.ceil(high) - 1, high - 1)
    if low is not None and high is not None:
        yield low + (high - low) / 2
    yield from (bound for bound in (low, high) if bound is not None)


def _scalars(value: object) -> Iterator[Scalar]:
    """The scalars that a field sees at a value: the value, or the members of an array."""
    if isinstance(value, list):
        for one in value:
            yield from _scalars(one)
    elif value is None or isinstance(value, str | int | float):
        yield value


def _copy(event: Mapping[str, object]) -> dict[str, object]:
    return {name: _copy(value) if isinstance(value, dict) else value for name, value in event.items()}
