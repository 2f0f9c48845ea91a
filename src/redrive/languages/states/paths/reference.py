"""Reference paths: those that name one place, to which a result can be written."""

from __future__ import annotations

from functools import lru_cache

from redrive.languages.states.paths.path import Children, Elements, Path, Segment
from redrive.languages.states.paths.reader import MalformedPath, parse_path

PATHS_KEPT = 4_096


class UnwritablePath(ValueError):
    """The input has no place for this path."""


@lru_cache(PATHS_KEPT)
def parse_reference(text: str) -> Path:
    """A path of names and indices, from `$` on. Errors: MalformedPath."""
    path = parse_path(text)
    if path.root != "$" or not all(map(_is_single, path.segments)):
        raise MalformedPath("it must be a reference path: names and indices after $")
    return path


def write(document: object, path: Path, value: object) -> object:
    """A copy of a document in which a value stands at a reference path. Objects on the way are made.

    Only what lies on the way is copied. Errors: UnwritablePath, for an element that is not there, or a member of what
    is no object.
    """
    return _written(document, path, 0, value)


def _written(document: object, path: Path, index: int, value: object) -> object:
    if index == len(path.segments):
        return value
    match path.segments[index]:
        case Children((name,)) if isinstance(document, dict):
            inner = document.get(name)
            if name not in document:
                inner = {}
            return {**document, name: _written(inner, path, index + 1, value)}
        case Elements((at,)) if isinstance(document, list) and 0 <= at < len(document):
            copy = list(document)
            copy[at] = _written(copy[at], path, index + 1, value)
            return copy
        case _:
            raise UnwritablePath(path.text)


def _is_single(segment: Segment) -> bool:
    match segment:
        case Children((_,)):
            return True
        case Elements((at,)):
            return at >= 0
        case _:
            return False
