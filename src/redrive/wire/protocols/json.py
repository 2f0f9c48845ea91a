"""AWS JSON 1.0 and 1.1: an X-Amz-Target header and a JSON object both ways.

Source: https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html and …/aws-json-1_1-protocol.html
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import OperationModel, ServiceModel
from redrive.wire.protocols.codec import REQUEST_ID_HEADER, OpenedStream, refuse_members
from redrive.wire.protocols.compression import bounded_body, plain_body
from redrive.wire.protocols.errors import query_error_header, resolve
from redrive.wire.protocols.event_stream import MEDIA_TYPE, EventWriter, event_stream_of
from redrive.wire.protocols.json_body import Convert, JsonReader, JsonWriter


class JsonCodec:
    """The Codec of the AWS JSON protocols for one service."""

    def __init__(self, service: ServiceModel) -> None:
        self._service = service
        self._reader = JsonReader(service.spec.wording)
        self._writer = JsonWriter()
        self._read: dict[str, Callable[[bytes], dict[str, Any]]] = {}
        self._write: dict[str, Convert] = {}
        self._content_type = ("Content-Type", f"application/x-amz-json-{service.json_version}")
        self._crc32 = service.spec.sends_crc32
        self._body_bytes_max = service.spec.body_bytes_max

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """See Codec."""
        read = self._read.get(operation.name)
        if read is None:
            read = self._read[operation.name] = self._compile_read(operation)
        limit = self._body_bytes_max
        return read(plain_body(request) if limit is None else bounded_body(request, limit))

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """See Codec. An operation without an output answers with an empty body."""
        write = self._write.get(operation.name)
        if write is None:
            write = self._write[operation.name] = self._compile_write(operation)
        document = write(result)
        body = b"" if operation.output is None else orjson.dumps(document)
        return self._response(200, body, (REQUEST_ID_HEADER, request_id))

    def open_stream(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> OpenedStream:
        """See StreamingCodec. The first message has the members beside the stream."""
        assert operation.output is not None, "there is a stream in it"
        stream = event_stream_of(operation)
        events = EventWriter(stream.shape, self._writer, orjson.dumps, self._content_type[1])
        headers = (REQUEST_ID_HEADER, request_id), ("Content-Type", MEDIA_TYPE)
        return OpenedStream(HttpResponse(200, headers, events.initial(result, operation.output)), events)

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See Codec. A service that used to have the query protocol also sends the error's code of that protocol."""
        named = resolve(self._service, error)
        # Only services with a namespace send it; the others send the bare name.
        namespace = named.namespace if self._service.spec.error_namespace else ""
        members = dict(error.members)
        if named.shape is not None:
            members = self._writer.of_shape(named.shape)(members)
        document = {
            "__type": f"{namespace}#{named.name}" if namespace else named.name,
            named.message_key: error.message,
        }
        headers = (REQUEST_ID_HEADER, request_id), *query_error_header(self._service, named)
        return self._response(named.json_status, orjson.dumps(document | members), *headers)

    def _response(self, status: int, body: bytes, *headers: tuple[str, str]) -> HttpResponse:
        if self._crc32:
            headers = (*headers, ("x-amz-crc32", str(zlib.crc32(body))))
        return HttpResponse(status, (*headers, self._content_type), body)

    def _compile_read(self, operation: OperationModel) -> Callable[[bytes], dict[str, Any]]:
        if operation.input is None:
            return lambda _: {}
        return self._reader.of_body(operation.input)

    def _compile_write(self, operation: OperationModel) -> Convert:
        if operation.output is None:
            return lambda result: refuse_members(operation, result)
        return self._writer.of_shape(operation.output)
