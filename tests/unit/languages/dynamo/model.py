"""A simple model of an update: a deep copy, changed one action after another.

It differs from the code in its ways: lists hold a mark in the place of a removed element until all is done, and sets
are Python's sets.
"""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

from redrive.languages.dynamo import Update
from redrive.languages.dynamo.expressions.tree import (
    AddTo,
    DeleteFrom,
    Difference,
    IfNotExists,
    ListAppend,
    Literal,
    Path,
    Remove,
    SetTo,
    Sum,
)

GONE = {"GONE": True}
SETS = ("SS", "NS", "BS")


class Refused(Exception):
    """The update does not fit the item."""


def model_update(update: Update, item: Any) -> Any:
    """The item after the update. Errors: Refused."""
    old, new = item, {"M": copy.deepcopy(item)}
    sizes = {id(value["L"]): len(value["L"]) for value in _all_values(new) if "L" in value}
    appended: list[tuple[int, Any, Any]] = []
    for action in update.actions:
        value = _value(action, old)
        parent = new
        *way, last = action.path.elements
        for element in way:
            parent = _member(parent, element, sizes)
        if isinstance(last, str) and "M" in parent:
            parent["M"][last] = value
        elif isinstance(last, int) and "L" in parent:
            elements = parent["L"]
            if last < sizes[id(elements)]:
                elements[last] = value
            else:
                appended.append((last, elements, value))
        else:
            raise Refused
    for _, elements, value in sorted(appended, key=lambda each: each[0]):
        elements.append(value)
    return _without_marks(new)["M"]


def _all_values(value: Any) -> Any:
    yield value
    for child in value["M"].values() if "M" in value else value.get("L", []):
        yield from _all_values(child)


def _member(parent: Any, element: Any, sizes: dict[int, int]) -> Any:
    try:
        if isinstance(element, str):
            return parent["M"][element]
        assert element < sizes[id(parent["L"])]
        return parent["L"][element]
    except (KeyError, AssertionError):
        raise Refused from None


def _found(item: Any, path: Path) -> Any:
    value: Any = {"M": item}
    for element in path.elements:
        try:
            value = value["M"][element] if isinstance(element, str) else value["L"][element]
        except (KeyError, IndexError):
            return None
    return copy.deepcopy(value)


def _value(action: Any, old: Any) -> Any:
    match action:
        case SetTo(_, expression):
            return _evaluated(expression, old)
        case Remove():
            return GONE
        case AddTo(path, value):
            return _added(_found(old, path), value)
        case DeleteFrom(path, value):
            return _deleted(_found(old, path), value)


def _added(found: Any, value: Any) -> Any:
    if found is None:
        return value
    if found.keys() != value.keys():
        raise Refused
    (kind,) = value
    if kind == "N":
        return {"N": str(Decimal(found["N"]) + Decimal(value["N"]))}
    if kind not in SETS:
        raise Refused
    return {kind: found[kind] + [member for member in value[kind] if member not in found[kind]]}


def _deleted(found: Any, value: Any) -> Any:
    if found is None:
        return GONE
    if found.keys() != value.keys():
        raise Refused
    (kind,) = value
    left = [member for member in found[kind] if member not in value[kind]]
    return {kind: left} if left else GONE


def _evaluated(expression: Any, old: Any) -> Any:
    match expression:
        case Path():
            found = _found(old, expression)
            if found is None:
                raise Refused
            return found
        case Literal(value):
            return value
        case IfNotExists(path, default):
            return _found(old, path) or _evaluated(default, old)
        case ListAppend(first, second):
            return {"L": _of("L", first, old) + _of("L", second, old)}
        case Sum(left, right):
            return {"N": str(Decimal(_of("N", left, old)) + Decimal(_of("N", right, old)))}
        case Difference(left, right):
            return {"N": str(Decimal(_of("N", left, old)) - Decimal(_of("N", right, old)))}


def _of(kind: str, expression: Any, old: Any) -> Any:
    value = _evaluated(expression, old)
    if kind not in value:
        raise Refused
    return value[kind]


def _without_marks(value: Any) -> Any:
    if "M" in value:
        return {"M": {name: _without_marks(child) for name, child in value["M"].items() if child is not GONE}}
    if "L" in value:
        return {"L": [_without_marks(child) for child in value["L"] if child is not GONE]}
    return value
