"""The errors of S3: an Error element without a namespace, and codes of S3's own for errors of the whole of AWS.

    <Error><Code>NoSuchKey</Code><Message>…</Message><Key>a/b</Key><RequestId>…</RequestId><HostId>…</HostId></Error>

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from redrive.core.errors import ServiceError
from redrive.core.request_ids import host_id
from redrive.wire.message import HttpResponse
from redrive.wire.model.shapes import ServiceModel
from redrive.wire.protocols.errors import resolve
from redrive.wire.protocols.xml_body import element

XML_TYPE = ("Content-Type", "application/xml")
XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
SERVER = ("Server", "AmazonS3")

NOT_WELL_FORMED = "The XML you provided was not well-formed or did not validate against our published schema"

_HEADER_PREFIX = "x-amz-"
"""Members of an error with such names are headers of the answer: `x-amz-delete-marker`. All other members are elements
beside the code."""

_WITHOUT_BODY = 304


class _Spelling(NamedTuple):
    """S3's code and status for an error of the whole of AWS; `message` replaces the error's own, unless it is empty."""

    code: str
    status: int
    message: str = ""


_COMMON: Mapping[str, _Spelling] = MappingProxyType(
    {
        "AccessDeniedException": _Spelling("AccessDenied", 403),
        "ExpiredToken": _Spelling("ExpiredToken", 400, "The provided token has expired."),
        "IncompleteSignatureException": _Spelling("AuthorizationHeaderMalformed", 400),
        "InternalFailure": _Spelling("InternalError", 500),
        "InvalidSignatureException": _Spelling("SignatureDoesNotMatch", 403),
        "MissingAuthenticationTokenException": _Spelling("AccessDenied", 403, "Access Denied"),
        "RequestEntityTooLargeException": _Spelling(
            "EntityTooLarge", 400, "Your proposed upload exceeds the maximum allowed size"
        ),
        "SerializationException": _Spelling("InvalidArgument", 400),
        "ThrottlingException": _Spelling("SlowDown", 503),
        "UnknownOperationException": _Spelling("NotImplemented", 501),
        "UnrecognizedClientException": _Spelling(
            "InvalidAccessKeyId", 403, "The AWS Access Key Id you provided does not exist in our records."
        ),
        "ValidationException": _Spelling("InvalidArgument", 400),
    }
)


def malformed_xml() -> ServiceError:
    """The error for a body that is not the XML of the operation."""
    return ServiceError("MalformedXML", NOT_WELL_FORMED, http_status=400)


def ids_of(request_id: str) -> list[tuple[str, str]]:
    """The headers that each answer begins with."""
    return [("x-amz-request-id", request_id), ("x-amz-id-2", host_id(request_id)), SERVER]


class S3Errors:
    """Writes errors in the shape of S3. Members whose names begin with `x-amz-` are headers; 304 has headers only."""

    def __init__(self, service: ServiceModel) -> None:
        self._service = service

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See ErrorWriter."""
        code, status, message = self._spelled(error)
        headers = ids_of(request_id)
        if status == _WITHOUT_BODY:
            headers += [(name, _text(value)) for name, value in error.members.items()]
            return HttpResponse(status, tuple(headers), b"")
        out = [f"{XML_HEAD}<Error>", element("Code", code)]
        if message:
            out.append(element("Message", message))
        for name, value in error.members.items():
            if name.startswith(_HEADER_PREFIX):
                headers.append((name, _text(value)))
            else:
                out.append(element(name, _text(value)))
        out.append(f"{element('RequestId', request_id)}{element('HostId', host_id(request_id))}</Error>")
        return HttpResponse(status, (*headers, XML_TYPE), "".join(out).encode())

    def _spelled(self, error: ServiceError) -> _Spelling:
        common = _COMMON.get(error.code)
        if common is not None:
            return common._replace(message=common.message or error.message)
        named = resolve(self._service, error)
        status = error.http_status or named.rest_status
        return _Spelling(named.query_code, status, error.message)


def without_body(response: HttpResponse) -> HttpResponse:
    """The answer to HEAD: the headers alone, without those that describe the body of an error."""
    headers = tuple(pair for pair in response.headers if pair != XML_TYPE) if response.body else response.headers
    return HttpResponse(response.status, headers, b"")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
