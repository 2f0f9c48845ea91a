"""The query protocol with answers in JSON, for clients that send `Accept: application/json`.

API Gateway and other callers without an XML parser use it: the XML's elements become fields, maps become lists of
pairs, and an absent member is null.

Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/integrating-api-with-aws-services-sqs.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import Member, OperationModel, ServiceModel, Shape
from redrive.wire.protocols import scalars, timestamps
from redrive.wire.protocols.codec import REQUEST_ID_HEADER, refuse_members
from redrive.wire.protocols.errors import resolve
from redrive.wire.protocols.query import QueryCodec

_JSON = ("Content-Type", "application/json")
_MEDIA_TYPE = "application/json"
_TEXTS = ("string", "blob")


def wants_json(request: HttpRequest) -> bool:
    """Whether the client prefers JSON."""
    return request.headers.get("accept", "").split(",", 1)[0].partition(";")[0].strip().lower() == _MEDIA_TYPE


class QueryJsonCodec(QueryCodec):
    """The Codec of the query protocol for one service, with answers in JSON."""

    def __init__(self, service: ServiceModel) -> None:
        super().__init__(service)
        self._lists = service.spec.query_json_lists

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """See Codec."""
        response: dict[str, Any] = {"ResponseMetadata": {"RequestId": request_id}}
        if operation.output is None:
            refuse_members(operation, result)
        else:
            refuse_members(operation, {name: result[name] for name in result.keys() - operation.output.members.keys()})
            response[operation.result_wrapper] = self._structure(operation.output, result)
        return _response(200, {f"{operation.name}Response": response}, request_id)

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See Codec."""
        named = resolve(self._service, error)
        members = {} if named.shape is None else self._structure(named.shape, error.members)
        shown: dict[str, str | None] = {
            "Type": "Sender" if named.is_sender else "Receiver",
            "Code": named.query_code,
            "Message": self._service.spec.query_messages.get(named.name, error.message),
        }
        if self._service.spec.has_error_detail:
            shown["Detail"] = None
        present = {name: value for name, value in members.items() if value is not None}
        return _response(named.query_status, {"Error": {**present, **shown}, "RequestId": request_id}, request_id)

    def _structure(self, shape: Shape, value: Mapping[str, Any]) -> dict[str, Any]:
        return {
            self._lists.get(member.name, member.name) if member.shape.type == "list" else member.name: self._value(
                member, value.get(member.name)
            )
            for member in shape.members.values()
        }

    def _value(self, member: Member, value: Any) -> Any:
        shape = member.shape
        if value is None:
            return None
        match shape.type:
            case "structure":
                return self._structure(shape, value)
            case "list":
                return [self._value(shape.element, item) for item in value]
            case "map":
                names = shape.key.query_name or "key", shape.value.query_name or "value"
                return [
                    dict(zip(names, (key, self._value(shape.value, item)), strict=True)) for key, item in value.items()
                ]
            case "timestamp":
                return timestamps.write_number(value)
            case kind if kind in _TEXTS:
                return scalars.writer(member, timestamps.UNIX)(value)
            case _:
                return value


def _response(status: int, document: Mapping[str, Any], request_id: str) -> HttpResponse:
    return HttpResponse(status, ((REQUEST_ID_HEADER, request_id), _JSON), orjson.dumps(document))
