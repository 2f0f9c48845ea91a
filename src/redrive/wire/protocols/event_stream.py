"""AWS's event stream: a body of binary messages, each with headers, a payload and two checksums.

    total length (4) · length of the headers (4) · CRC-32 of these (4) · headers · payload · CRC-32 of all before (4)

Source: https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from redrive.core.errors import Bug, ServiceError
from redrive.wire.model.shapes import Member, OperationModel, Shape
from redrive.wire.protocols.json_body import Convert, JsonWriter

MEDIA_TYPE = "application/vnd.amazon.eventstream"

_PRELUDE = struct.Struct("!II")
_CRC = struct.Struct("!I")
_FRAME_BYTES = 16
"""The bytes of a message beside its headers and its payload."""

_STRING = 7
"""The type of a header whose value is a text."""

_BYTES_TYPE = "application/octet-stream"


def encode_message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message. Names of headers have at most 255 bytes, and values 32,767."""
    section = b"".join(_header(name, value) for name, value in headers.items())
    prelude = _PRELUDE.pack(_FRAME_BYTES + len(section) + len(payload), len(section))
    framed = b"".join((prelude, _CRC.pack(zlib.crc32(prelude)), section, payload))
    return framed + _CRC.pack(zlib.crc32(framed))


def event_stream_of(operation: OperationModel) -> Member:
    """The member of an operation's output that is an event stream. Errors: Bug (there is none)."""
    members = operation.output.members.values() if operation.output is not None else ()
    found = next((member for member in members if member.shape.is_event_stream), None)
    if found is None:
        raise Bug(f"{operation.name} answers no event stream")
    return found


class EventWriter:
    """Encodes the events of one operation's stream; `payload_type` is the media type of their structures."""

    def __init__(self, shape: Shape, writer: JsonWriter, dump: Callable[[Any], bytes], payload_type: str) -> None:
        self._shape = shape
        self._writer = writer
        self._dump = dump
        self._payload_type = payload_type
        self._writes: dict[str, Callable[[Mapping[str, Any]], bytes]] = {}

    def initial(self, members: Mapping[str, Any], shape: Shape) -> bytes:
        """The first message of a protocol that has no other place for the members beside the stream."""
        written = self._writer.of_shape(shape)(members)
        return encode_message(self._headers("event", "initial-response", self._payload_type), self._dump(written))

    def event(self, event: Mapping[str, Any]) -> bytes:
        """One event: its kind and its members. Errors: Bug (the stream has no such event)."""
        ((kind, members),) = event.items()
        write = self._writes.get(kind)
        if write is None:
            write = self._writes[kind] = self._compile(kind)
        return write(members)

    def error(self, error: ServiceError) -> bytes:
        """The event that ends a stream with an error."""
        member = self._shape.members.get(error.code)
        if member is None:
            described = {":message-type": "error", ":error-code": error.code, ":error-message": error.message[:1_000]}
            return encode_message(described, b"")
        message_key = next((name for name in member.shape.members if name.lower() == "message"), "message")
        document = self._writer.of_shape(member.shape)({message_key: error.message, **error.members})
        return encode_message(self._headers("exception", error.code, self._payload_type), self._dump(document))

    def _compile(self, kind: str) -> Callable[[Mapping[str, Any]], bytes]:
        member = self._shape.members.get(kind)
        if member is None:
            raise Bug(f"{self._shape.name} has no event {kind}")
        payload = next((one for one in member.shape.members.values() if one.is_event_payload), None)
        if payload is None:
            return self._of_structure(kind, self._writer.of_shape(member.shape))
        if payload.shape.type != "blob":
            raise Bug(f"{member.shape.name} has a {payload.shape.type} as its payload, which is not written here")
        headers, name = self._headers("event", kind, _BYTES_TYPE), payload.name
        return lambda members: encode_message(headers, members[name])

    def _of_structure(self, kind: str, write: Convert) -> Callable[[Mapping[str, Any]], bytes]:
        headers, dump = self._headers("event", kind, self._payload_type), self._dump
        return lambda members: encode_message(headers, dump(write(members)))

    @staticmethod
    def _headers(message_type: str, kind: str, payload_type: str) -> Mapping[str, str]:
        return {f":{message_type}-type": kind, ":content-type": payload_type, ":message-type": message_type}


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack(f"!B{len(key)}sBH{len(text)}s", len(key), key, _STRING, len(text), text)
