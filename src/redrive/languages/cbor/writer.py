"""Values as bytes, each in its preferred form: the shortest one.

Source: https://www.rfc-editor.org/rfc/rfc8949#section-4.1
"""

from __future__ import annotations

import math
import struct

from redrive.languages.cbor.values import Tagged, Value

_NAN = b"\xf9\x7e\x00"
_INTEGER_MAX = 2**64


def encode(value: Value) -> bytes:
    """A value as bytes. Errors: ValueError (an integer beyond 64 bits)."""
    out = bytearray()
    _write(out, value)
    return bytes(out)


def _write(out: bytearray, value: Value) -> None:
    match value:
        case None:
            out.append(0xF6)
        case bool():
            out.append(0xF5 if value else 0xF4)
        case int():
            if value >= 0:
                _write_head(out, 0, value)
            else:
                _write_head(out, 1, -1 - value)
        case float():
            out += _float(value)
        case bytes():
            _write_head(out, 2, len(value))
            out += value
        case str():
            _write_text(out, value)
        case list():
            _write_head(out, 4, len(value))
            for item in value:
                _write(out, item)
        case dict():
            _write_head(out, 5, len(value))
            for key, item in value.items():
                _write_text(out, key)
                _write(out, item)
        case Tagged():
            _write_head(out, 6, value.tag)
            _write(out, value.value)


def _write_text(out: bytearray, text: str) -> None:
    encoded = text.encode()
    _write_head(out, 3, len(encoded))
    out += encoded


def _write_head(out: bytearray, major: int, argument: int) -> None:
    """The first byte of an item, and its argument: a number, a length, a tag."""
    first = major << 5
    if argument < 24:
        out.append(first | argument)
    elif argument < 2**8:
        out += bytes((first | 24, argument))
    elif argument < 2**16:
        out.append(first | 25)
        out += argument.to_bytes(2)
    elif argument < 2**32:
        out.append(first | 26)
        out += argument.to_bytes(4)
    elif argument < _INTEGER_MAX:
        out.append(first | 27)
        out += argument.to_bytes(8)
    else:
        raise ValueError(f"{argument} does not fit into 64 bits")


def _float(value: float) -> bytes:
    """The shortest of half, single and double that is equal to the value."""
    if math.isnan(value):
        return _NAN
    for first, spelling in ((b"\xf9", ">e"), (b"\xfa", ">f")):
        try:
            packed = struct.pack(spelling, value)
        except OverflowError:
            continue
        if struct.unpack(spelling, packed)[0] == value:
            return first + packed
    return b"\xfb" + struct.pack(">d", value)
