"""A cache of parsed expressions: a program sends the same few texts again and again, each time with other values.

A form is the tree of an expression with blanks in place of its values. The result of parsing depends on the text, on
the names behind its placeholders and on the types of its values; if these are the same, the form is filled in without
parsing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from operator import itemgetter
from typing import Generic, Protocol, TypeVar, cast

from redrive.languages.dynamo.data.values import AttributeValue
from redrive.languages.dynamo.expressions.placeholders import Names, Placeholders, Types

FORMS_MAX = 1_024
"""The size of the cache (least recently used). A text has at most 4 KB."""

_DEPENDS_ON_VALUES = re.compile(r"BETWEEN|attribute_type", re.IGNORECASE)
"""Expressions with these words are valid or invalid depending on the values, not only on their types."""

_NESTS = re.compile(r"\(|\bNOT\b", re.IGNORECASE)
NESTED_MAX = 40
"""The most levels of a cached tree: filling in deeper trees would use too much of Python's stack."""

Tree = TypeVar("Tree")
Values = Mapping[str, AttributeValue]
Read = Callable[[str, str, Placeholders], Tree]
"""Parses a text of this kind (the parameter that AWS's messages name). Errors: ValidationException."""
_Fill = Callable[[Values], object]


class _Make(Protocol):
    """Makes a node from its parts."""

    def __call__(self, *parts: object) -> object: ...


@dataclass(frozen=True, slots=True)
class _Form(Generic[Tree]):
    """Makes a tree from values; `used` are the placeholders of its text."""

    fill: Callable[[Values], Tree]
    used: frozenset[str]


class _Blank(dict[str, object]):
    """In place of the value of a placeholder while a form is made: a sample value of its type."""

    def __init__(self, key: str, sample: AttributeValue) -> None:
        super().__init__(sample)
        self.key = key


def read_form(read: Read[Tree], text: str, kind: str, placeholders: Placeholders) -> Tree:
    """The result of `read` for a text; calls `read` only on a cache miss. Errors: as `read`."""
    form = cast("_Form[Tree] | None", _form_of(read, text, kind, placeholders.names, placeholders.types))
    if form is None:
        return read(text, kind, placeholders)
    return form.fill(placeholders.use(form.used))


@functools.lru_cache(maxsize=FORMS_MAX)
def _form_of(read: Read[object], text: str, kind: str, names: Names, types: Types) -> _Form[object] | None:
    if _DEPENDS_ON_VALUES.search(text) or len(_NESTS.findall(text)) > NESTED_MAX:
        return None
    blanks = {key: cast("AttributeValue", _Blank(key, _SAMPLES[name])) for key, name in types}
    placeholders = Placeholders.of(dict(names), blanks)
    tree = read(text, kind, placeholders)
    return _Form(_filling(tree) or (lambda _: tree), placeholders.used)


def _filling(node: object) -> _Fill | None:
    """A function that fills in a node; None if the node has no blanks and can be used as it is."""
    if isinstance(node, _Blank):
        return itemgetter(node.key)
    if isinstance(node, tuple):
        return _assembling(lambda *parts: parts, list(node))
    if is_dataclass(node) and not isinstance(node, type):
        return _assembling(cast("_Make", type(node)), [getattr(node, each.name) for each in fields(node)])
    return None


def _assembling(make: _Make, parts: list[object]) -> _Fill | None:
    match [_filling(part) for part in parts]:
        case fills if not any(fills):
            return None
        case [fill] if fill is not None:
            return lambda values: make(fill(values))
        case fills:
            pairs = list(zip(parts, fills, strict=True))
            return lambda values: make(*[part if fill is None else fill(values) for part, fill in pairs])


_SAMPLES: Mapping[str, AttributeValue] = {
    "S": {"S": ""}, "N": {"N": "0"}, "B": {"B": b""}, "BOOL": {"BOOL": True}, "NULL": {"NULL": True},
    "SS": {"SS": [""]}, "NS": {"NS": ["0"]}, "BS": {"BS": [b""]}, "L": {"L": []}, "M": {"M": {}},
}  # fmt: skip
