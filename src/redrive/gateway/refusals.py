"""Answers to requests that no operation answers, in the shape that the caller's protocol reads as an error.

Our own surface gets its own shape: what is wrong, and what to do next.
"""

from __future__ import annotations

import json

from redrive.core.errors import ServiceError
from redrive.wire.cbor import PROTOCOL, PROTOCOL_HEADER, CborCodec
from redrive.wire.codec import Codec
from redrive.wire.json import JsonCodec
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model import ServiceModel
from redrive.wire.query import QueryCodec
from redrive.wire.rest import RestJsonCodec
from redrive.wire.services import ServiceSpec

OWN_PATH = "/_redrive/"

_FORM = "application/x-www-form-urlencoded"


def refusal(
    request: HttpRequest, status: int, code: str, what: str, next_step: str, *, request_id: str
) -> HttpResponse:
    """An error with AWS's code and our sentences, for whoever sent this request."""
    if request.path.startswith(OWN_PATH):
        return own_refusal(status, what, next_step, request_id=request_id if status >= 500 else "")
    fault = "client" if status < 500 else "server"
    error = ServiceError(code, f"{what} {next_step}", http_status=status, fault=fault)
    return _codec(request).encode_error(error, request_id)


def own_refusal(status: int, what: str, next_step: str, *, request_id: str = "") -> HttpResponse:
    """An error of our own surface. `request_id` is there where the log has more to say about it."""
    document = {"error": what, "next": next_step} | ({"id": request_id} if request_id else {})
    return HttpResponse(
        status, (("content-type", "application/json"),), json.dumps(document, indent=2).encode() + b"\n"
    )


def _codec(request: HttpRequest) -> Codec:
    """The codec of the protocol that a request seems to speak, of no service in particular."""
    headers = request.headers
    if headers.get(PROTOCOL_HEADER) == PROTOCOL:
        return CborCodec(_nobody(PROTOCOL))
    if "x-amz-target" in headers:
        return JsonCodec(_nobody("json"))
    if "Action=" in request.query or headers.get("content-type", "").lower().startswith(_FORM):
        return QueryCodec(_nobody("query"))
    return RestJsonCodec(_nobody("rest-json"))


def _nobody(protocol: str) -> ServiceModel:
    return ServiceModel(ServiceSpec(name="", protocols=(protocol,)), api_version="")
