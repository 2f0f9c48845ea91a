"""Finds values and keys in an event where its objects do not lead straight to them.

Arrays and keys with dots make several ways to a path. What is found here is all that the definition (`conjunction.py`)
could choose from; which of it belongs together, only the definition can tell. `True` beside what is found says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from redrive.languages.event_pattern.conditions import Scalar
from redrive.languages.event_pattern.conjunction import elements, values_at

Path = tuple[str, ...]

PATHS_KEPT = 4_096
"""Size of the cache of keys with dots by path."""


def values_by_search(event: Mapping[str, object], path: Path) -> tuple[list[Scalar], bool]:
    """The values of an event at a path, and whether there may be more to know than they tell."""
    values: list[object] = [event]
    is_unsure = False
    for key, others in zip(path, _other_keys(path), strict=True):
        following: list[object] = []
        for value in values:
            if isinstance(value, dict):
                if others and not others.isdisjoint(value):
                    return list(values_at(event, path)), True
                if key in value:
                    following.append(value[key])
            elif isinstance(value, list):
                is_unsure = True
                for element in elements(value):
                    if isinstance(element, dict):
                        if others and not others.isdisjoint(element):
                            return list(values_at(event, path)), True
                        if key in element:
                            following.append(element[key])
        if not following:
            return [], is_unsure
        values = following
    found: list[Scalar] = []
    for value in values:
        if isinstance(value, list):
            for element in elements(value):
                if isinstance(element, dict):
                    is_unsure = True
                else:
                    found.append(element)  # type: ignore[arg-type] # JSON has no other kinds.
        elif not isinstance(value, dict):
            found.append(value)  # type: ignore[arg-type] # As above.
    return found, is_unsure


def keys_at(event: Mapping[str, object], path: Path, wanted: Mapping[str, int]) -> frozenset[str] | None:
    """Which of the wanted keys the object at a path has, or the objects if arrays lead there; None if dots hide it."""
    values: list[object] = [event]
    for key in path:
        following: list[object] = []
        for value in values:
            if isinstance(value, dict):
                if _has_dots(value):
                    return None
                following.extend(elements(value.get(key)))
        values = following
    keys: set[str] = set()
    for value in values:
        if isinstance(value, dict):
            if _has_dots(value):
                return None
            keys |= wanted.keys() & value.keys()
    return frozenset(keys)


@lru_cache(maxsize=PATHS_KEPT)
def _other_keys(path: Path) -> tuple[frozenset[str], ...]:
    """For each step of a path the keys with dots that lead further along the path: for a, b, c first a.b and a.b.c."""
    return tuple(
        frozenset(".".join(path[depth:end]) for end in range(depth + 2, len(path) + 1)) for depth in range(len(path))
    )


def _has_dots(value: Mapping[str, object]) -> bool:
    return "." in "".join(value)
