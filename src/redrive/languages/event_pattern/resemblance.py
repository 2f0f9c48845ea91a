"""What in an event resembles what a pattern asks for: values, keys, and places where a key stands.

All searches are bounded: an event may be large, and an explanation is for people.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import SequenceMatcher

from redrive.languages.event_pattern.conditions import (
    AnythingBut,
    Condition,
    Equals,
    EqualsIgnoreCase,
    Prefix,
    Range,
    Scalar,
    Suffix,
)
from redrive.languages.event_pattern.conjunction import elements

COMPARED_MAX = 50
LENGTH_MAX = 200
"""How many texts are compared, and how much of each."""

NODES_MAX = 2_000
"""How many keys of an event are searched for a name."""

ALIKE = 0.6
"""From here on two names are taken for each other."""

NEARLY_THE_SAME = 0.85
"""From here on one of two names is taken for the other, misspelt."""


def likeness(first: str, second: str) -> float:
    """How alike two texts are, from 0 to 1; texts that differ in case alone are nearly the same."""
    first, second = first[:LENGTH_MAX], second[:LENGTH_MAX]
    if first == second:
        return 1.0
    folded = SequenceMatcher(None, first.lower(), second.lower(), autojunk=False).ratio()
    return 0.95 * folded + 0.05 * SequenceMatcher(None, first, second, autojunk=False).ratio()


def nearest_text(text: str, choices: Iterable[str]) -> tuple[str | None, float]:
    """The choice that is most like a text, and how alike they are."""
    best: tuple[str | None, float] = (None, 0.0)
    for _, choice in zip(range(COMPARED_MAX), choices, strict=False):
        found = likeness(text, choice)
        if found > best[1]:
            best = (choice, found)
    return best


def closeness(value: Scalar, condition: Condition) -> float:
    """How near a value is to a condition that refuses it, from 0 to less than 1."""
    match condition:
        case Equals(str(wanted)) | EqualsIgnoreCase(wanted) if isinstance(value, str):
            return min(likeness(value, wanted), 0.99)
        case Prefix(text) if isinstance(value, str):
            return min(likeness(value[: len(text)], text), 0.99)
        case Suffix(text) if isinstance(value, str):
            return min(likeness(value[-len(text) :], text), 0.99) if text else 0.0
        case Equals(wanted) if str(value) == str(wanted):
            return 0.95  # The same, as another type.
        case Range() if isinstance(value, int | float) and not isinstance(value, bool):
            return _closeness_of_number(value, condition)
        case AnythingBut():
            return 0.5
        case _:
            return 0.0


def _closeness_of_number(value: float, one: Range) -> float:
    distance = min(abs(value - bound) for bound in (one.low, one.high) if bound is not None)
    scale = max(abs(value), *(abs(bound) for bound in (one.low, one.high) if bound is not None), 1)
    return float(0.9 * max(0.0, 1 - distance / scale))


def deepest(event: object, path: tuple[str, ...]) -> tuple[int, list[Mapping[str, object]]]:
    """How many keys of a path an event has, and the objects in which the next one is missing."""
    objects: list[Mapping[str, object]] = [one for one in elements(event) if isinstance(one, dict)]
    for depth, key in enumerate(path):
        found = [one[key] for one in objects if key in one]
        if not found:
            return depth, objects
        objects = [element for value in found for element in elements(value) if isinstance(element, dict)]
        if not objects:
            return depth + 1, []
    return len(path), objects


def places_of(event: object, name: str) -> list[str]:
    """The paths, up to three, at which an event has a key of this name."""
    return _places(event, lambda key, _: key == name)


def places_of_text(event: object, texts: Collection[str]) -> list[str]:
    """The paths, up to three, at which an event has one of these texts as a value."""
    return _places(event, lambda _, value: isinstance(value, str) and value in texts)


def _places(event: object, is_wanted: Callable[[str, object], bool]) -> list[str]:
    """The paths, up to three, of the members that are wanted."""
    found: list[str] = []
    waiting: list[tuple[str, object]] = [("", event)]
    for _ in range(NODES_MAX):
        if not waiting or len(found) == 3:
            break
        path, value = waiting.pop(0)
        if isinstance(value, dict):
            for key, inner in value.items():
                place = f"{path}.{key}" if path else key
                if is_wanted(key, inner) and place not in found:
                    found.append(place)
                waiting.append((place, inner))
        elif isinstance(value, list):
            waiting.extend((path, element) for element in value[:COMPARED_MAX])
    return found[:3]
