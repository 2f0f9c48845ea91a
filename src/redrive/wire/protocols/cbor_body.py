"""CBOR bodies, read and written by the closures of JSON: the same structures, but some scalars are encoded differently.

cbor2 supports more of CBOR than AWS uses. This module disables the parts that could harm a server
(docs/decisions/0011).
Source: https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html, https://www.rfc-editor.org/rfc/rfc8949
"""

from __future__ import annotations

import math
from collections.abc import Callable
from io import BytesIO
from types import MappingProxyType
from typing import Any

from cbor2 import CBORDecoder, CBORError, CBORTag, dumps, undefined

from redrive.wire.model.shapes import Member, Shape
from redrive.wire.protocols import timestamps
from redrive.wire.protocols.json_body import (
    NESTING_MAX,
    Convert,
    JsonReader,
    JsonWriter,
    serialization_error,
    wrong_type,
)
from redrive.wire.services import Wording

# Source: https://www.rfc-editor.org/rfc/rfc8949#section-3.4.2
EPOCH_TAG = 1
"""The tag of a number of seconds since the epoch."""

# The tags that cbor2 decodes to objects: numbers of any size, regular expressions, lists that contain themselves.
# Tag 28 is not here, since cbor2 does not let a hook replace it. It marks a value for tag 29, which is disabled.
_KNOWN_TAGS = (
    *range(6), 25, 29, 30, *range(35, 38), 52, 54, 100, 256, 258, 260, 261, 1004, 43000, 55799,
)  # fmt: skip
_UNDEFINED = b"\xf7"


def _kept(tag: int) -> Callable[[Any, bool], CBORTag]:
    def keep(value: Any, _: bool) -> CBORTag:
        return CBORTag(tag, value)

    return keep


_KEEP_TAGS = MappingProxyType({tag: _kept(tag) for tag in _KNOWN_TAGS})


class Malformed(ValueError):
    """Bytes that are not CBOR, or use a part of CBOR that is not supported here."""


def parse(body: bytes) -> Any:
    """The only value in a body; a tagged value becomes a CBORTag, whatever its tag. Errors: Malformed.

    Keys of maps are texts or bytes, and unique. `undefined` becomes null: for both, a member is absent.
    """
    source = BytesIO(body)
    decoder = CBORDecoder(
        source, max_depth=NESTING_MAX, allow_duplicate_keys=False, strict_hashable_types=True,
        semantic_decoders=_KEEP_TAGS,
    )  # fmt: skip
    try:
        value = decoder.decode()
    except (CBORError, ValueError) as error:  # ValueError: the error's text would print a number of too many digits.
        raise Malformed(str(error)) from None
    if source.tell() != len(body):
        raise Malformed(f"{len(body) - source.tell()} bytes are left after the value.")
    return _defined(value) if _UNDEFINED in body else value


def _defined(value: Any) -> Any:
    """The value with null for each `undefined`. Tagged values stay as they are: only numbers in them are ever read."""
    if value is undefined:
        return None
    if type(value) is list:
        return [_defined(item) for item in value]
    if type(value) is dict:
        return {key: _defined(item) for key, item in value.items()}
    return value


def dump(document: Any) -> bytes:
    """A value as bytes; all lengths are definite."""
    return dumps(document)


def load(body: bytes, wording: Wording) -> dict[str, Any]:
    """Parse a body that must hold one map; an empty body is an empty map. Errors: SerializationException."""
    if not body:
        return {}
    try:
        document = parse(body)
    except Malformed:
        raise serialization_error("Unable to parse the request body as CBOR.") from None
    if not isinstance(document, dict):
        message = wording.structure if isinstance(document, list) else "Unexpected value type in payload"
        raise serialization_error(message)
    return document


class CborReader(JsonReader):
    """Compiles shapes to functions from parsed CBOR to parameters. The functions raise SerializationException."""

    def _map(self, shape: Shape) -> Convert:
        read_entries, wording = super()._map(shape), self._wording

        def read(value: Any) -> Any:
            if type(value) is dict:
                for key in value:
                    if type(key) is not str:
                        wrong_type(shape.key.shape, key, wording)
            return read_entries(value)

        self._compiled[shape.name] = read
        return read

    def _blob(self, shape: Shape) -> Convert:
        wording = self._wording

        def read(value: Any) -> bytes:
            if type(value) is not bytes:
                wrong_type(shape, value, wording)
            return value

        return read

    def _float(self, shape: Shape) -> Convert:
        wording = self._wording

        def read(value: Any) -> float:
            if type(value) is not float and type(value) is not int:
                wrong_type(shape, value, wording)
            return float(value)

        return read

    def _timestamp(self, shape: Shape) -> Convert:
        wording = self._wording

        def read(value: Any) -> int:
            seconds = value.value if type(value) is CBORTag and value.tag == EPOCH_TAG else None
            if (type(seconds) is not int and type(seconds) is not float) or not math.isfinite(seconds):
                wrong_type(shape, value, wording)
            return timestamps.read_number(seconds)

        return read


class CborWriter(JsonWriter):
    """Compiles shapes to functions from results to values that CBOR can encode. The functions raise Bug."""

    IS_TEXT = False

    def of(self, member: Member) -> Convert:
        """The function for the value of a member."""
        match member.shape.type:
            case "timestamp":
                return lambda value: CBORTag(EPOCH_TAG, timestamps.write_number(value))
            case "blob":
                return bytes
            case "float" | "double":
                return float
            case _:
                return super().of(member)
