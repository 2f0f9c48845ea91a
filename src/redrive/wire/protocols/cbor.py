"""Smithy RPC v2 with CBOR: the operation in the path, a CBOR map both ways.

Source: https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import OperationModel, ServiceModel
from redrive.wire.protocols.cbor_body import CborReader, CborWriter, dump, load
from redrive.wire.protocols.codec import REQUEST_ID_HEADER, refuse_members
from redrive.wire.protocols.compression import plain_body
from redrive.wire.protocols.errors import query_error_header, resolve

PROTOCOL_HEADER = "smithy-protocol"
PROTOCOL = "rpc-v2-cbor"

_SPOKEN = (PROTOCOL_HEADER, PROTOCOL)
_CONTENT_TYPE = ("Content-Type", "application/cbor")


class CborCodec:
    """The Codec of Smithy's RPC v2 protocol for one service."""

    def __init__(self, service: ServiceModel) -> None:
        self._service = service
        self._reader = CborReader(service.spec.wording)
        self._writer = CborWriter()

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """See Codec."""
        if operation.input is None:
            return {}
        read = self._reader.of_shape(operation.input)
        params: dict[str, Any] = read(load(plain_body(request), self._service.spec.wording))
        return params

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """See Codec. An operation without an output answers with an empty body."""
        if operation.output is None:
            refuse_members(operation, result)
            return HttpResponse(200, ((REQUEST_ID_HEADER, request_id), _SPOKEN), b"")
        body = dump(self._writer.of_shape(operation.output)(result))
        return HttpResponse(200, ((REQUEST_ID_HEADER, request_id), _SPOKEN, _CONTENT_TYPE), body)

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See Codec. A service that used to have the query protocol also sends the error's code of that protocol."""
        named = resolve(self._service, error)
        members = dict(error.members)
        if named.shape is not None:
            members = self._writer.of_shape(named.shape)(members)
        document: dict[str, Any] = {"__type": f"{named.namespace}#{named.name}", named.message_key: error.message}
        headers = (REQUEST_ID_HEADER, request_id), *query_error_header(self._service, named), _SPOKEN, _CONTENT_TYPE
        return HttpResponse(named.json_status, headers, dump(document | members))
