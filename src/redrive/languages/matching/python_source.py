"""A tree as the source of Python's `re`, so that both read the same pattern. For `re.compile(source, re.ASCII)`."""

from __future__ import annotations

import re

from redrive.languages.matching.chars import CharSet
from redrive.languages.matching.syntax import Captured, Chars, Either, Look, Point, Repeated, Sequenced, Tree

_POINTS = {Point.START: r"\A", Point.END: r"(?:(?=\n\Z)|\Z)", Point.BOUNDARY: r"\b", Point.NO_BOUNDARY: r"\B"}
_WHOLE = CharSet(((0, 0x10FFFF),))


class _Inexpressible(Exception):
    """Python has no such thing."""


def python_source(tree: Tree) -> str | None:
    """The source; None for a tree that Python cannot express, such as one with categories of Unicode."""
    try:
        return _source(tree)
    except _Inexpressible:
        return None


def _source(tree: Tree) -> str:
    match tree:
        case Chars(characters):
            return _class(characters)
        case Point():
            return _POINTS[tree]
        case Captured(part, _):
            return f"({_source(part)})"
        case Sequenced(parts):
            return "".join(map(_source, parts))
        case Either(branches):
            return f"(?:{'|'.join(map(_source, branches))})"
        case Repeated(part, least, most, is_lazy):
            return f"(?:{_source(part)}){_times(least, most)}{'?' if is_lazy else ''}"
        case Look():
            raise _Inexpressible


def _times(least: int, most: int | None) -> str:
    known = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    return known.get((least, most)) or f"{{{least},{'' if most is None else most}}}"


def _class(characters: CharSet) -> str:
    if characters.has_categories:
        raise _Inexpressible
    if characters.only is not None:
        return re.escape(characters.only)
    if not characters.ranges:
        return r"(?!)"
    if characters == _WHOLE:
        return r"[\s\S]"
    return f"[{''.join(f'{_code(first)}-{_code(last)}' for first, last in characters.ranges)}]"


def _code(code: int) -> str:
    return f"\\U{code:08x}"
