"""Errors for requests that no service here handles, in the shape that the caller's SDK reads as an error.

The headers and the form of such a request show its protocol; so does the service that it is signed for: services with
XML protocols of their own are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from redrive.core.documents import load_json
from redrive.core.errors import Bug, ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import OperationModel, ServiceModel
from redrive.wire.protocols.cbor import PROTOCOL, PROTOCOL_HEADER, CborCodec
from redrive.wire.protocols.codec import ErrorWriter
from redrive.wire.protocols.errors import resolve
from redrive.wire.protocols.json import JsonCodec
from redrive.wire.protocols.query import QueryCodec, form_of
from redrive.wire.protocols.rest import RestJsonCodec
from redrive.wire.protocols.s3_errors import S3Errors
from redrive.wire.protocols.xml_body import element
from redrive.wire.s3_route import is_marked
from redrive.wire.services import ServiceSpec
from redrive.wire.signatures.sigv4 import credential_of

_FORM = "application/x-www-form-urlencoded"
_XML = ("Content-Type", "text/xml")


def errors_for(request: HttpRequest) -> ErrorWriter:
    """An ErrorWriter for the protocol that a request seems to use; it belongs to no service."""
    headers = request.headers
    if headers.get(PROTOCOL_HEADER) == PROTOCOL:
        return errors_of("smithy-rpc-v2-cbor")
    if "x-amz-target" in headers:
        return errors_of("json")
    protocol = _XML_SERVICES.get(signed_for(request))
    if protocol is not None:
        return errors_of(protocol)
    if is_marked(request):
        return errors_of("s3")
    return errors_of("query" if may_have_action(request) else "rest-json")


def errors_of(protocol: str) -> ErrorWriter:
    """An ErrorWriter for a protocol; it belongs to no service."""
    return _WRITERS[protocol](ServiceModel(ServiceSpec(name="", protocols=(protocol,)), api_version=""))


def may_have_action(request: HttpRequest) -> bool:
    """Whether a request looks like the query protocol, whose operation is in the form."""
    content_type = request.headers.get("content-type", "")
    return "Action=" in request.query or content_type.lower().startswith(_FORM)


def signed_for(request: HttpRequest) -> str:
    """The service that a request is signed for; empty if the request is unsigned, or its signature is malformed."""
    try:
        credential = credential_of(request)
    except ServiceError:
        return ""
    return "" if credential is None else credential.service


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks of a service that is not here, by the service's signing name."""

    service: str
    operation: str
    params: Mapping[str, object]


def asked_of(request: HttpRequest) -> Asked | None:
    """What a signed request asks of a service; None where only the service's model could tell, as with REST."""
    service = signed_for(request)
    target = request.headers.get("x-amz-target")
    if not service:
        return None
    if target is not None:
        return Asked(service, target.rpartition(".")[2], _members(request.body))
    if request.headers.get(PROTOCOL_HEADER) == PROTOCOL:
        return Asked(service, request.path.rpartition("/operation/")[2], {})
    if not may_have_action(request):
        return None
    try:
        fields = dict(form_of(request))
    except ServiceError:
        return None
    return Asked(service, fields["Action"], fields) if "Action" in fields else None


def _members(body: bytes) -> Mapping[str, object]:
    try:
        document = load_json(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


class ErrorsOnly:
    """The Codec of a service that is not here: it can answer with errors, and with nothing else."""

    def __init__(self, errors: ErrorWriter) -> None:
        self._errors = errors

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """Nothing is decoded. Errors: Bug."""
        raise Bug(f"{operation.name} is of a service that is not here, and has no parameters")

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """Nothing is answered. Errors: Bug."""
        raise Bug(f"{operation.name} is of a service that is not here, and has no result")

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See ErrorWriter."""
        return self._errors.encode_error(error, request_id)


class Ec2Errors:
    """The errors of EC2's dialect of the query protocol.

    Source: https://smithy.io/2.0/aws/protocols/aws-ec2-query-protocol.html#operation-error-serialization
    """

    def __init__(self, service: ServiceModel) -> None:
        self._service = service

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See ErrorWriter."""
        named = resolve(self._service, error)
        inside = element("Code", named.query_code) + element("Message", error.message)
        body = (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error>{inside}</Error></Errors>'
            f"{element('RequestID', request_id)}</Response>"
        )
        return HttpResponse(named.query_status, (_XML,), body.encode())


_WRITERS: Mapping[str, Callable[[ServiceModel], ErrorWriter]] = MappingProxyType(
    {
        "ec2": Ec2Errors,
        "json": JsonCodec,
        "query": QueryCodec,
        "rest-json": RestJsonCodec,
        "s3": S3Errors,
        "smithy-rpc-v2-cbor": CborCodec,
    }
)
# CloudFront and Route 53 use REST with XML; their errors have the shape of the query protocol's errors.
_XML_SERVICES: Mapping[str, str] = MappingProxyType(
    {
        "cloudfront": "query",
        "ec2": "ec2",
        "route53": "query",
        "s3": "s3",
        "s3-object-lambda": "s3",
        "s3-outposts": "s3",
        "s3express": "s3",
    }
)
"""The services, by signing name, that use XML but cannot be recognised by a form."""
