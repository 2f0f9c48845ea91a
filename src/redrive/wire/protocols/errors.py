"""The code and the HTTP status of a service's error on each protocol.

A service raises one ServiceError; the JSON, REST and query protocols have different codes for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from redrive.core.errors import ServiceError
from redrive.wire.model.shapes import ServiceModel, Shape

CORAL_SERVICE = "com.amazon.coral.service"
CORAL_VALIDATION = "com.amazon.coral.validate"


@dataclass(frozen=True, slots=True)
class CommonError:
    """An error of every service that no model declares: its two codes and its statuses."""

    name: str
    query_code: str
    json_status: int = 400
    http_status: int = 400
    message_key: str = "message"
    namespace: str = CORAL_SERVICE


# Sources: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html (JSON),
# https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html (the query protocol, and REST).
_COMMON = (
    CommonError("AccessDeniedException", "AccessDenied", http_status=403, message_key="Message"),
    CommonError("ExpiredTokenException", "ExpiredToken", http_status=403),
    CommonError("IncompleteSignatureException", "IncompleteSignature"),
    CommonError("InternalFailure", "InternalFailure", json_status=500, http_status=500),
    CommonError("InvalidParameterValueException", "InvalidParameterValue"),
    CommonError("InvalidSignatureException", "SignatureDoesNotMatch", http_status=403),
    CommonError("MissingAuthenticationTokenException", "MissingAuthenticationToken", http_status=403),
    CommonError("MissingRequiredParameterException", "MissingParameter"),
    CommonError("NotAuthorizedException", "NotAuthorized"),
    CommonError("RequestEntityTooLargeException", "RequestEntityTooLarge", json_status=413, http_status=413),
    CommonError("SerializationException", "MalformedInput", message_key="Message"),
    CommonError("ServiceUnavailableException", "ServiceUnavailable", json_status=503, http_status=503),
    CommonError("ThrottlingException", "Throttling"),
    CommonError("UnknownOperationException", "InvalidAction"),
    CommonError("UnrecognizedClientException", "InvalidClientTokenId", http_status=403),
    CommonError("ValidationException", "ValidationError", namespace=CORAL_VALIDATION),
)
_COMMON_BY_CODE: Mapping[str, CommonError] = MappingProxyType(
    {error.query_code: error for error in _COMMON} | {error.name: error for error in _COMMON}
)


@dataclass(frozen=True, slots=True)
class NamedError:
    """A ServiceError with its codes and statuses. `shape` is None for an error that the model does not declare.

    `json_status` is for the JSON protocols, `rest_status` for REST, `query_status` for the query protocol.
    """

    shape: Shape | None
    name: str
    namespace: str
    query_code: str
    json_status: int
    rest_status: int
    query_status: int
    is_sender: bool
    message_key: str


def resolve(service: ServiceModel, error: ServiceError) -> NamedError:
    """Find an error by its shape's name or by its query code, in the service's model or among the common errors."""
    shape = service.errors.get(error.code)
    if shape is not None:
        return _declared(service, shape, error)
    default_status = error.http_status or (500 if error.fault == "server" else 400)
    common = _COMMON_BY_CODE.get(error.code) or CommonError(
        error.code, error.code, json_status=default_status, http_status=default_status
    )
    json_status = error.http_status or common.json_status
    status = error.http_status or common.http_status
    return NamedError(
        shape=None,
        name=common.name,
        namespace=common.namespace,
        query_code=common.query_code,
        json_status=json_status,
        rest_status=status,
        query_status=status,
        is_sender=status < 500,
        message_key=common.message_key,
    )


def query_error_header(service: ServiceModel, named: NamedError) -> tuple[tuple[str, str], ...]:
    """The header with the code that an error had in the service's former query protocol; nothing if it had none.

    Source: https://smithy.io/2.0/aws/protocols/aws-query-protocol.html#awsquerycompatible-trait
    """
    if not service.is_query_compatible:
        return ()
    side = "Sender" if named.is_sender else "Receiver"
    return (("x-amzn-query-error", f"{named.query_code};{side}"),)


def _declared(service: ServiceModel, shape: Shape, error: ServiceError) -> NamedError:
    traits = shape.error
    assert traits is not None
    status = traits.http_status or error.http_status or (500 if error.fault == "server" else 400)
    query = service.spec.query_errors.get(shape.name)
    return NamedError(
        shape=shape,
        name=shape.name,
        namespace=service.spec.error_namespace,
        query_code=traits.query_code,
        json_status=status,
        rest_status=status,
        query_status=query.http_status if query is not None else status,
        is_sender=status < 500,
        message_key=next((key for key in ("message", "Message") if key in shape.members), "message"),
    )
