"""The query protocol: a form with an Action in, XML out.

Source: https://smithy.io/2.0/aws/protocols/aws-query-protocol.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import OperationModel, ServiceModel
from redrive.wire.protocols.codec import REQUEST_ID_HEADER, refuse_members
from redrive.wire.protocols.compression import plain_body
from redrive.wire.protocols.errors import resolve
from redrive.wire.protocols.form import FormReader, tree
from redrive.wire.protocols.json_body import serialization_error
from redrive.wire.protocols.xml_body import XmlWriter, element

FIELDS_MAX = 100_000

UNKNOWN_OPERATION = "UnknownOperationException"
"""The answer to a request for a resource's own path that names no operation: this element alone."""

_XML = ("Content-Type", "text/xml")
_FORM = "application/x-www-form-urlencoded"


def form_of(request: HttpRequest) -> list[tuple[str, str]]:
    """The fields of a request: those of its query string, then those of its form. Errors: SerializationException."""
    body = plain_body(request) if request.headers.get("content-type", _FORM).lower().startswith(_FORM) else b""
    try:
        encoded = "&".join(part for part in (request.query, body.decode()) if part)
        return parse_qsl(encoded, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict")
    except ValueError:
        raise serialization_error("Unable to parse the request body as a form.") from None


class QueryCodec:
    """The Codec of the query protocol for one service."""

    def __init__(self, service: ServiceModel) -> None:
        self._service = service
        self._reader = FormReader()
        self._writer = XmlWriter()
        self._xmlns = f'xmlns="{service.xml_namespace}"'

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """See Codec. `QueueUrl` may be absent from a form that was posted to the queue itself; see Route."""
        return self.decode_form(operation, dict(form_of(request)), path_params)

    def decode_form(
        self, operation: OperationModel, fields: Mapping[str, str], path_params: Mapping[str, str]
    ) -> dict[str, Any]:
        """As `decode`, of the fields of a form. Errors: SerializationException."""
        if operation.input is None:
            return {}
        params: dict[str, Any] = self._reader.structure(operation.input)(tree(fields.items()))
        for name, value in path_params.items():
            params.setdefault(name, value)
        return params

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """See Codec."""
        name, wrapper = operation.name, operation.result_wrapper
        out = [f"<{name}Response {self._xmlns}>"]
        if operation.output is None:
            refuse_members(operation, result)
        else:
            content: list[str] = []
            self._writer.structure(operation.output)(content, result)
            out += [f"<{wrapper}>", *content, f"</{wrapper}>"] if content else [f"<{wrapper}/>"]
        out.append(f"<ResponseMetadata>{element('RequestId', request_id)}</ResponseMetadata></{name}Response>")
        return _response(200, out, request_id)

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See Codec."""
        named = resolve(self._service, error)
        if self._service.spec.resource_path and error.code == UNKNOWN_OPERATION and error.http_status == 404:
            return _response(404, [f"<{UNKNOWN_OPERATION}/>"], request_id)
        message = self._service.spec.query_messages.get(named.name, error.message)
        out = [
            f"<ErrorResponse {self._xmlns}><Error>",
            element("Type", "Sender" if named.is_sender else "Receiver"),
            element("Code", named.query_code),
            element("Message", message),
        ]
        if self._service.spec.has_error_detail:
            out.append("<Detail/>")
        if named.shape is not None:
            self._writer.structure(named.shape)(out, error.members)
        out.append(f"</Error>{element('RequestId', request_id)}</ErrorResponse>")
        return _response(named.query_status, out, request_id)


def _response(status: int, pieces: list[str], request_id: str) -> HttpResponse:
    return HttpResponse(status, ((REQUEST_ID_HEADER, request_id), _XML), "".join(pieces).encode())
