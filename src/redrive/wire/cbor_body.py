"""CBOR bodies, read and written by the closures of JSON's: the same structures, other spellings of some scalars.

Source: https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html
"""

from __future__ import annotations

import math
from typing import Any

from redrive.languages.cbor import EPOCH_TAG, Malformed, Tagged, decode
from redrive.wire import timestamps
from redrive.wire.json_body import Convert, JsonReader, JsonWriter, serialization_error, wrong_type
from redrive.wire.model import Member, Shape
from redrive.wire.services import Wording


def load(body: bytes, wording: Wording) -> dict[str, Any]:
    """Parse a body that must hold one map; an empty body is an empty map. Errors: SerializationException."""
    if not body:
        return {}
    try:
        document = decode(body)
    except Malformed:
        raise serialization_error("Unable to parse the request body as CBOR.") from None
    if not isinstance(document, dict):
        message = wording.structure if isinstance(document, list) else "Unexpected value type in payload"
        raise serialization_error(message)
    return document


class CborReader(JsonReader):
    """Compiles shapes to functions from parsed CBOR to parameters. Errors of those: SerializationException."""

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
            seconds = value.value if type(value) is Tagged and value.tag == EPOCH_TAG else None
            if (type(seconds) is not int and type(seconds) is not float) or not math.isfinite(seconds):
                wrong_type(shape, value, wording)
            return timestamps.read_number(seconds)

        return read


class CborWriter(JsonWriter):
    """Compiles shapes to functions from results to what CBOR can say. Errors of those: Bug."""

    def of(self, member: Member) -> Convert:
        """The function for a value that stands in a member."""
        match member.shape.type:
            case "timestamp":
                return lambda value: Tagged(EPOCH_TAG, timestamps.write_number(value))
            case "blob":
                return bytes
            case "float" | "double":
                return float
            case _:
                return super().of(member)
