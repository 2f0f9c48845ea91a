"""Functions and operators of Terraform's language, of values that are known."""

from __future__ import annotations

import json
import operator
import posixpath
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from redrive.prove.project.hcl_values import Unknown, Value, references_in, text_of


def called(name: str, given: Sequence[Value]) -> Value:
    """What a function comes to; unknown for one that is not known here, or if one of its values is."""
    if name in _FUNCTIONS and not any(isinstance(one, Unknown) for one in given):
        try:
            made: Value = _FUNCTIONS[name](*given)
        except (TypeError, ValueError, IndexError, AttributeError, KeyError):
            return None
        return made
    return Unknown(tuple(dict.fromkeys(one for value in given for one in references_in(value))))


def operated(sign: str, values: Sequence[Value]) -> Value:
    """What an operator makes of its one or two values."""
    if any(isinstance(one, Unknown) for one in values):
        return Unknown(tuple(name for one in values for name in references_in(one)))
    try:
        if sign == "!":
            return values[0] in (False, "false")
        if len(values) == 1 and isinstance(values[0], int | float):
            return -values[0]
        made: Value = _OPERATORS[sign](*values)
    except (TypeError, KeyError, ZeroDivisionError):
        return None
    return made


_OPERATORS: Mapping[str, Callable[..., bool | int | float]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod,
    "&&": lambda one, other: bool(one) and bool(other), "||": lambda one, other: bool(one) or bool(other),
}  # fmt: skip


def _looked_up(of: dict[str, Value], key: str, default: Value = None) -> Value:
    return of.get(key, default)


def _as_list(of: Value) -> list[Value]:
    return of if isinstance(of, list) else [*of.values()] if isinstance(of, dict) else []


def _formatted(text: str, *values: Value) -> str:
    for value in values:
        text = text.replace(next((mark for mark in ("%s", "%d", "%v", "%q") if mark in text), "\0"), text_of(value), 1)
    return text


_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "lower": str.lower, "upper": str.upper, "title": str.title, "trimspace": str.strip,
    "trimsuffix": str.removesuffix, "trimprefix": str.removeprefix,
    "replace": lambda text, old, new: str(text).replace(old, new),
    "split": lambda by, text: [*str(text).split(by)],
    "join": lambda by, of: str(by).join(map(text_of, of)),
    "format": _formatted,
    "substr": lambda text, start, length: str(text)[start:] if length < 0 else str(text)[start : start + length],
    "lookup": _looked_up, "element": lambda of, at: of[at % len(of)],
    "keys": sorted, "values": lambda of: [of[name] for name in sorted(of)],
    "length": len, "contains": lambda of, one: one in of,
    "toset": _as_list, "tolist": _as_list, "distinct": lambda of: [*dict.fromkeys(of)],
    "tomap": dict, "flatten": lambda of: [one for part in of for one in (part if isinstance(part, list) else [part])],
    "zipmap": lambda names, of: dict(zip(names, of, strict=False)),
    "tostring": text_of, "tonumber": int, "tobool": lambda text: text in (True, "true"),
    "min": min, "max": max, "compact": lambda of: [one for one in of if one],
    "jsondecode": json.loads, "basename": posixpath.basename, "dirname": posixpath.dirname,
    "abspath": lambda place: str(Path(place).resolve()), "pathexpand": lambda place: str(Path(place).expanduser()),
}  # fmt: skip
"""Functions of known values; what any other comes to is unknown."""
