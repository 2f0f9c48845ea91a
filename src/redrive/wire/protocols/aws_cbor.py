"""AWS JSON 1.1 with CBOR in place of JSON, as the AWS SDK for Java speaks to Kinesis.

The operation is in X-Amz-Target, as with JSON. Timestamps are milliseconds since the epoch under tag 1, where Smithy's
RPC v2 has seconds. No model names this protocol; a server chooses it by the Content-Type of the request.
Source: https://github.com/aws/aws-sdk-java-v2/tree/master/core/protocols/aws-cbor-protocol
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbor2 import CBORTag

from redrive.core.clock import SECOND_MS
from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import Member, OperationModel, ServiceModel, Shape
from redrive.wire.protocols import timestamps
from redrive.wire.protocols.cbor_body import EPOCH_TAG, CborReader, CborWriter, dump, load
from redrive.wire.protocols.codec import REQUEST_ID_HEADER, OpenedStream, refuse_members
from redrive.wire.protocols.compression import bounded_body, plain_body
from redrive.wire.protocols.errors import resolve
from redrive.wire.protocols.event_stream import MEDIA_TYPE as EVENT_STREAM
from redrive.wire.protocols.event_stream import EventWriter, event_stream_of
from redrive.wire.protocols.json_body import Convert, wrong_type

MEDIA_TYPE = "application/x-amz-cbor"
"""What the Content-Type of a request in this protocol begins with; the version follows."""

PROTOCOL = "aws-cbor"


class AwsCborCodec:
    """The Codec of this protocol for one service."""

    def __init__(self, service: ServiceModel) -> None:
        self._service = service
        self._reader = _Reader(service.spec.wording)
        self._writer = _Writer()
        self._content_type = ("Content-Type", f"{MEDIA_TYPE}-{service.json_version}")

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """See Codec."""
        if operation.input is None:
            return {}
        spec = self._service.spec
        body = plain_body(request) if spec.body_bytes_max is None else bounded_body(request, spec.body_bytes_max)
        params: dict[str, Any] = self._reader.of_shape(operation.input)(load(body, spec.wording))
        return params

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """See Codec. An operation without an output answers with an empty body."""
        if operation.output is None:
            refuse_members(operation, result)
            body = b""
        else:
            body = dump(self._writer.of_shape(operation.output)(result))
        return HttpResponse(200, ((REQUEST_ID_HEADER, request_id), self._content_type), body)

    def open_stream(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> OpenedStream:
        """See StreamingCodec. The first message has the members beside the stream."""
        assert operation.output is not None, "there is a stream in it"
        stream = event_stream_of(operation)
        events = EventWriter(stream.shape, self._writer, dump, self._content_type[1])
        headers = (REQUEST_ID_HEADER, request_id), ("Content-Type", EVENT_STREAM)
        return OpenedStream(HttpResponse(200, headers, events.initial(result, operation.output)), events)

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See Codec."""
        named = resolve(self._service, error)
        body = dump({"__type": named.name, named.message_key: error.message})
        return HttpResponse(named.json_status, ((REQUEST_ID_HEADER, request_id), self._content_type), body)


class _Reader(CborReader):
    def _timestamp(self, shape: Shape) -> Convert:
        wording = self._wording

        def read(value: Any) -> int:
            found = value.value if type(value) is CBORTag and value.tag == EPOCH_TAG else value
            if type(found) is not int and type(found) is not float:
                wrong_type(shape, value, wording)
            try:
                return timestamps.read_number(found / SECOND_MS)
            except (ValueError, OverflowError):
                wrong_type(shape, value, wording)

        return read


class _Writer(CborWriter):
    def of(self, member: Member) -> Convert:
        if member.shape.type == "timestamp":
            return lambda value: CBORTag(EPOCH_TAG, value)
        return super().of(member)
