"""Items and keys as bytes: a compact form for storage, and a form whose byte order is DynamoDB's order.

The two have different purposes: `dump_item` is read back, `encode_key` is only compared. Neither depends on the
database that stores the bytes.
"""

from __future__ import annotations

import base64
import json
from typing import cast

import orjson

from redrive.core.documents import EncodedDocument
from redrive.languages.dynamo.data.numbers import EXPONENT_MIN, significand
from redrive.languages.dynamo.data.values import AttributeValue, Item, utf8
from redrive.languages.dynamo.refusals import invalid

_NEGATIVE = b"\x00"
_ZERO = b"\x01"
_POSITIVE = b"\x02"
_COMPLEMENT = bytes(255 - byte for byte in range(256))
# Follows the digits of a negative number: of two numbers with the same first digits, the longer is the smaller.
_LAST = b"\xff"


def dump_item(item: Item) -> bytes:
    """An item as compact JSON, as on the wire: binary is base64. `load_item` reads it back."""
    try:
        return orjson.dumps(item, default=_base64)
    except orjson.JSONEncodeError:
        return _ENCODER.encode(item).encode("ascii")  # A lone surrogate: only Python's own encoder can escape it.


def load_item(data: bytes) -> dict[str, AttributeValue]:
    """The item that `dump_item` wrote."""
    # Looking at every value costs more than parsing them all, and few items contain binary.
    if b'"B":' in data or b'"BS":' in data:
        return cast("dict[str, AttributeValue]", _BINARY_DECODER.decode(data.decode()))
    try:
        return cast("dict[str, AttributeValue]", orjson.loads(data))
    except orjson.JSONDecodeError:
        return cast("dict[str, AttributeValue]", json.loads(data))  # A lone surrogate, as in `dump_item`.


def encoded_item(data: bytes) -> EncodedDocument:
    """The item that `dump_item` wrote, as a mapping that is parsed when it is first read.

    An answer with the whole item contains the bytes as they are.
    """
    return EncodedDocument(data, load_item)


def encode_key(value: AttributeValue) -> bytes:
    """A key's value as bytes, which compare byte by byte in DynamoDB's order of values of that type.

    The bytes do not contain the type: compare only keys of one type. Strings are their UTF-8 bytes, binary is
    unchanged. A number is a sign byte, its power of ten, and two digits in each further byte; for a negative number
    all these bytes are complemented. Examples: `0` is 01, `1` is 02 82 0b, `-1` is 00 7d f4 ff.
    Errors: ValidationException if the type cannot be a key.
    """
    if "S" in value:
        return utf8(value["S"])
    if "N" in value:
        return _encode_number(value["N"])
    if "B" in value:
        return value["B"]
    raise invalid("The provided key element does not match the schema")


def _encode_number(text: str) -> bytes:
    if text.isdigit():  # Most keys that are numbers: nothing is left to parse in a canonical one.
        is_negative, digits, exponent = False, text.rstrip("0"), len(text) - 1
    else:
        number = significand(text)
        is_negative, digits, exponent = number.negative, number.digits, number.exponent
    if not digits:
        return _ZERO
    even = digits + "0" * (len(digits) % 2)
    pairs = bytes([int(even[at : at + 2]) + 1 for at in range(0, len(even), 2)])
    magnitude = bytes([exponent - EXPONENT_MIN]) + pairs
    if is_negative:
        return _NEGATIVE + magnitude.translate(_COMPLEMENT) + _LAST
    return _POSITIVE + magnitude


def _base64(binary: object) -> str:
    assert isinstance(binary, bytes), binary
    return base64.b64encode(binary).decode("ascii")


def _with_binary(node: dict[str, object]) -> dict[str, object]:
    """Decode base64. A map may have an attribute named B too, but its value is a dictionary, never text or a list."""
    match node:
        case {"B": str(text)}:
            return {"B": base64.b64decode(text)}
        case {"BS": list(texts)}:
            return {"BS": [base64.b64decode(text) for text in texts]}
        case _:
            return node


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_base64)
_BINARY_DECODER = json.JSONDecoder(object_hook=_with_binary)
