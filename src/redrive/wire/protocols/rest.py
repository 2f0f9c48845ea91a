"""REST with JSON: members in the path, the query string, headers and the body.

Source: https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from redrive.core.errors import Bug, ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import Member, OperationModel, ServiceModel, Shape
from redrive.wire.protocols import scalars, timestamps
from redrive.wire.protocols.bindings import HeadInputs, HeadOutputs, head_inputs, head_outputs
from redrive.wire.protocols.codec import REQUEST_ID_HEADER, OpenedStream, refuse_members
from redrive.wire.protocols.errors import NamedError, resolve
from redrive.wire.protocols.event_stream import MEDIA_TYPE, EventWriter, event_stream_of
from redrive.wire.protocols.json_body import Convert, JsonReader, JsonWriter

_CONTENT_TYPE = "Content-Type"
_JSON = (_CONTENT_TYPE, "application/json")
_BYTES = (_CONTENT_TYPE, "application/octet-stream")

ReadBody = Callable[[bytes], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _InputPlan:
    """The source of each member of an input: the head and the body."""

    head: HeadInputs
    body: ReadBody


@dataclass(frozen=True, slots=True)
class _OutputPlan:
    """The destination of each member of an output.

    `payload` is the body; `has_content_type`: a member holds the content type.
    """

    head: HeadOutputs
    payload: Member | None
    write_body: Convert
    has_content_type: bool


class RestJsonCodec:
    """The Codec of REST with JSON for one service."""

    def __init__(self, service: ServiceModel) -> None:
        self._service = service
        self._reader = JsonReader(service.spec.wording)
        self._writer = JsonWriter()
        self._inputs: dict[str, _InputPlan] = {}
        self._outputs: dict[str, _OutputPlan] = {}

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """See Codec."""
        if operation.input is None:
            return {}
        plan = self._inputs.get(operation.name)
        if plan is None:
            plan = self._inputs[operation.name] = self._compile_input(operation.input)
        params = plan.body(request.body)
        plan.head.read(params, request.query, request.headers, path_params)
        return params

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """See Codec. A member bound to the status or to a header goes there; 204 has no body."""
        headers = [(REQUEST_ID_HEADER, request_id)]
        if operation.output is None:
            refuse_members(operation, result)
            return HttpResponse(operation.success_status, tuple(headers), b"")
        plan = self._outputs.get(operation.name)
        if plan is None:
            plan = self._outputs[operation.name] = self._compile_output(operation.output)
        status, body_members = plan.head.take(result, headers, operation.success_status)
        content_type, body = self._body(plan, operation.output, body_members)
        if status == 204:
            return HttpResponse(status, tuple(headers), b"")
        if plan.has_content_type and any(name == _CONTENT_TYPE for name, _ in headers):
            return HttpResponse(status, tuple(headers), body)
        return HttpResponse(status, (*headers, content_type), body)

    def open_stream(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> OpenedStream:
        """See StreamingCodec. The members beside the stream are in the head."""
        stream = event_stream_of(operation)
        head = self.encode(operation, result, request_id)
        headers = [pair for pair in head.headers if pair[0] != _CONTENT_TYPE]
        events = EventWriter(stream.shape, self._writer, orjson.dumps, _JSON[1])
        return OpenedStream(HttpResponse(head.status, (*headers, (_CONTENT_TYPE, MEDIA_TYPE)), b""), events)

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See Codec. A header has the name of the error, the body has the message."""
        named = resolve(self._service, error)
        headers = [(REQUEST_ID_HEADER, request_id), ("x-amzn-ErrorType", named.name), _JSON]
        document: dict[str, Any] = {named.message_key: error.message}
        if named.shape is None:
            document |= error.members
        else:
            document |= self._error_members(named, named.shape, error.members, headers)
        return HttpResponse(named.rest_status, tuple(headers), orjson.dumps(document))

    def _error_members(
        self, named: NamedError, shape: Shape, members: Mapping[str, Any], headers: list[tuple[str, str]]
    ) -> Mapping[str, Any]:
        in_body: dict[str, Any] = {}
        if "Type" in shape.members:
            in_body["Type"] = "User" if named.is_sender else "Service"
        for name, value in members.items():
            member = shape.members.get(name)
            if member is not None and member.location == "header":
                headers.append((member.location_name, scalars.writer(member, timestamps.RFC_822)(value)))
            else:
                in_body[name] = value
        written: Mapping[str, Any] = self._writer.of_shape(shape)(in_body)
        return written

    def _body(self, plan: _OutputPlan, shape: Shape, members: dict[str, Any]) -> tuple[tuple[str, str], bytes]:
        if plan.payload is None:
            return _JSON, self._dump(plan.write_body(members))
        value = members.pop(plan.payload.name, None)
        for name in members:
            shape.refuse_member(name)
        match plan.payload.shape.type:
            case "blob":
                return _BYTES, b"" if value is None else bytes(value)
            case _:
                return _JSON, b"" if value is None else self._dump(plan.write_body(value))

    def _dump(self, document: object) -> bytes:
        return orjson.dumps(document)

    def _compile_input(self, shape: Shape) -> _InputPlan:
        return _InputPlan(head_inputs(shape, scalars.reader), self._body_reader(shape))

    def _body_reader(self, shape: Shape) -> ReadBody:
        if shape.payload is None:
            if all(member.location is not None for member in shape.members.values()):
                return lambda _: {}
            return self._reader.of_body(shape)
        return self._payload_reader(shape.members[shape.payload])

    def _payload_reader(self, member: Member) -> ReadBody:
        name = member.name
        match member.shape.type:
            case "blob":
                return lambda body: {name: body} if body else {}
            case "structure":
                read = self._reader.of_body(member.shape)
                return lambda body: {name: read(body)} if body else {}
            case kind:
                raise Bug(f"{member.name} is a {kind}, which is no body of this protocol")

    def _compile_output(self, shape: Shape) -> _OutputPlan:
        head = head_outputs(shape, lambda member: scalars.writer(member, timestamps.RFC_822))
        payload = shape.members[shape.payload] if shape.payload is not None else None
        if payload is not None and payload.shape.type not in {"blob", "structure"}:
            raise Bug(f"{shape.name} has a {payload.shape.type} as its body, which this protocol does not write")
        body = self._writer.of_shape(shape) if payload is None else self._writer.of(payload)
        has_content_type = any(name == _CONTENT_TYPE for name, _ in head.headers.values())
        return _OutputPlan(head, payload, body, has_content_type)
