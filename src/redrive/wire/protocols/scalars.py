"""Scalars as text: numbers, booleans, blobs and timestamps in paths, query strings, headers, forms and XML."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from typing import Any

from redrive.core.errors import Bug
from redrive.wire.model.shapes import Member, Shape
from redrive.wire.protocols import timestamps
from redrive.wire.protocols.json_body import INTEGER_LIMITS, SPECIAL_FLOATS, serialization_error

ReadText = Callable[[str], Any]
WriteText = Callable[[Any], str]

_DIGITS = re.compile(r"[+-]?[0-9]{1,19}")
_BOOLEANS = {"true": True, "false": False}


def reader(member: Member) -> ReadText:
    """The function that reads a scalar member from text. The function raises SerializationException."""
    shape = member.shape
    match shape.type:
        case "string":
            return str
        case "boolean":
            return lambda text: _read(shape, text, lambda: _BOOLEANS[text.lower()])
        case "integer" | "long":
            return lambda text: _read(shape, text, lambda: _integer(shape, text))
        case "float" | "double":
            return lambda text: _read(shape, text, lambda: SPECIAL_FLOATS.get(text) or float(text))
        case "timestamp":
            return lambda text: _read(shape, text, lambda: timestamps.read_text(text))
        case "blob":
            return lambda text: _read(shape, text, lambda: base64.b64decode(text, validate=True))
        case _:
            raise Bug(f"no text is a {shape.type} ({shape.name})")


def writer(member: Member, timestamp_format: str) -> WriteText:
    """The function that writes a scalar member as text. The function raises Bug."""
    shape = member.shape
    match shape.type:
        case "string":
            return lambda value: value if type(value) is str else _checked(shape, value, str)
        case "boolean":
            return lambda value: "true" if _checked(shape, value, bool) else "false"
        case "integer" | "long":
            return lambda value: str(value if type(value) is int else _checked(shape, value, int))
        case "float" | "double":
            return _write_float
        case "timestamp":
            spelling = member.timestamp_format or shape.timestamp_format or timestamp_format
            if spelling == timestamps.ISO_8601 and timestamp_format == timestamps.ISO_8601_MS:
                spelling = timestamp_format
            return lambda value: timestamps.write_text(value, spelling)
        case "blob":
            return lambda value: base64.b64encode(value).decode("ascii")
        case _:
            raise Bug(f"a {shape.type} ({shape.name}) is not written as text")


def _read(shape: Shape, text: str, convert: Callable[[], Any]) -> Any:
    try:
        return convert()
    except (KeyError, ValueError, OverflowError, binascii.Error):
        raise serialization_error(f"'{text}' can not be converted to the type {shape.type}") from None


def _integer(shape: Shape, text: str) -> int:
    low, high = INTEGER_LIMITS[shape.type]
    # Python's own parser also accepts blanks, underscores and the digits of every script.
    if _DIGITS.fullmatch(text) is None or not low <= int(text) <= high:
        raise ValueError(text)
    return int(text)


def _checked(shape: Shape, value: Any, wanted: type) -> Any:
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise Bug(f"{shape.name} is a {shape.type}, not {value!r}")
    return value


def _write_float(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
