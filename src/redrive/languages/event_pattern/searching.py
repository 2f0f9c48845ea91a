"""Finds values and keys in an event where its objects do not lead straight to them.

Arrays and keys with dots make several ways to a path. What is found here is all that the definition (`conjunction.py`)
could choose from; which of it belongs together, only the definition can tell. `True` beside what is found says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from redrive.languages.event_pattern.conditions import Scalar
from redrive.languages.event_pattern.conjunction import elements, values_at

Path = tuple[str, ...]


def values_by_search(event: Mapping[str, object], path: Path) -> tuple[list[Scalar], bool]:
    """The values of an event at a path, and whether there may be more to know than they tell."""
    values: list[object] = [event]
    is_unsure = False
    for key in path:
        following: list[object] = []
        for value in values:
            if isinstance(value, dict):
                if _has_dots(value):
                    return list(values_at(event, path)), True
                if key in value:
                    following.append(value[key])
            elif isinstance(value, list):
                is_unsure = True
                for element in elements(value):
                    if isinstance(element, dict):
                        if _has_dots(element):
                            return list(values_at(event, path)), True
                        if key in element:
                            following.append(element[key])
        values = following
    found: list[Scalar] = []
    for value in values:
        for element in elements(value) if isinstance(value, list) else (value,):
            if isinstance(element, dict):
                is_unsure = is_unsure or isinstance(value, list)
            else:
                found.append(element)  # type: ignore[arg-type] # JSON has no other kinds.
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


def _has_dots(value: Mapping[str, object]) -> bool:
    return "." in "".join(value)
