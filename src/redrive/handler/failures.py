"""Classifies failures for retries: transient, throttled, or permanent.

Errors are recognised by their shape, not by their class, so that no module has to be imported: botocore's errors have a
`response`, those of HTTP libraries a status, those of the network are OSErrors or have known names.

Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
"""

from __future__ import annotations

import enum
import errno
from collections.abc import Mapping
from dataclasses import dataclass

from redrive.handler.errors import CircuitOpen, FunctionFailed, HandlerError


class Kind(enum.Enum):
    """The class of a failure."""

    TRANSIENT = "transient"
    THROTTLED = "throttled"
    PERMANENT = "permanent"


# Lambda's TooManyRequestsException is a throttle. Its ResourceNotFoundException is permanent: the function, or its
# version, does not exist.
THROTTLED_CODES = frozenset(
    """
    BandwidthLimitExceeded EC2ThrottledException KMSThrottling KMSThrottlingException KmsThrottled
    LimitExceededException OverLimit PriorRequestNotComplete ProvisionedThroughputExceededException RequestLimitExceeded
    RequestThrottled RequestThrottledException SlowDown ThrottledException Throttling ThrottlingException
    TooManyRequestsException TransactionInProgressException
    """.split()
)
TRANSIENT_CODES = frozenset(
    """
    EC2UnexpectedException ENILimitReachedException InternalError InternalException InternalFailure InternalServerError
    InternalServiceError InternalServiceException RequestTimeout RequestTimeoutException ResourceConflictException
    ResourceNotReadyException ServiceException ServiceUnavailable ServiceUnavailableException SnapStartNotReadyException
    SnapStartTimeoutException TransactionConflictException
    """.split()
)
THROTTLED_STATUSES = frozenset({429})
TRANSIENT_STATUSES = frozenset({408, 425, 500, 502, 503, 504})

# The transient reasons for which a transaction is cancelled. All other reasons lie in the request, and are permanent.
_CANCELLATIONS = {
    "None": None,
    "ProvisionedThroughputExceeded": Kind.THROTTLED,
    "ThrottlingError": Kind.THROTTLED,
    "TransactionConflict": Kind.TRANSIENT,
}
# Errors of the operating system about the network, not the other side: OSError has subclasses for only a few of them.
_TRANSIENT_ERRNOS = frozenset(
    {
        errno.ECONNABORTED, errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN,
        errno.ENETRESET, errno.ENETUNREACH, errno.EPIPE, errno.ETIMEDOUT,
    }
)  # fmt: skip

# Exceptions of botocore, urllib3, requests, httpx, aiohttp and grpc; none of them is imported here.
_TRANSIENT_NAMES = (
    "Timeout", "ConnectionError", "ConnectError", "ConnectionClosed", "ReadError", "ProtocolError", "gaierror",
)  # fmt: skip

_NEVER_SENT = frozenset({"MissingParametersError", "ParamValidationError", "UnknownParameterError", "ValidationError"})
"""Exceptions that botocore raises for wrong parameters, before it sends anything."""


@dataclass(frozen=True, slots=True)
class Classes:
    """A user's own exceptions, by kind. They take precedence over all other rules."""

    transient: tuple[type[BaseException], ...] = ()
    throttled: tuple[type[BaseException], ...] = ()
    permanent: tuple[type[BaseException], ...] = ()


def classify(error: BaseException, classes: Classes | None = None) -> Kind:
    """The kind of a failure. An unknown failure is permanent: repeating a bug does not help."""
    if classes is not None:
        for kinds, kind in (
            (classes.permanent, Kind.PERMANENT),
            (classes.throttled, Kind.THROTTLED),
            (classes.transient, Kind.TRANSIENT),
        ):
            if isinstance(error, kinds):
                return kind
    cancelled = _kind_of_cancellation(error)
    if cancelled is not None:
        return cancelled
    code = error_code(error)
    if code is not None and (known := kind_of_code(code)) is not None:
        return known
    status = http_status(error)
    if status is not None:
        return kind_of_status(status)
    reason = getattr(error, "reason", None)  # urllib wraps the original error.
    if isinstance(reason, BaseException):
        return classify(reason, classes)
    is_network = isinstance(error, ConnectionError | TimeoutError) or _is_called_transient(error)
    is_unreachable = isinstance(error, OSError) and error.errno in _TRANSIENT_ERRNOS
    return Kind.TRANSIENT if is_network or is_unreachable else Kind.PERMANENT


def is_of_request(error: BaseException) -> bool:
    """Whether the request is known to be the cause of a failure: the other side said so, or was never asked.

    An answer says so by an HTTP status of 4xx, or by an AWS error code, for which no retry would help. Also caused by
    the request: a request that botocore refuses to send, and an error of this library about an execution. For all other
    failures the cause is unknown: an OSError, a user's class, an unreadable answer.
    """
    if isinstance(error, HandlerError):
        return not isinstance(error, CircuitOpen | FunctionFailed)
    kind = type(error)
    if kind.__name__ in _NEVER_SENT and kind.__module__.startswith("botocore."):
        return True
    status = http_status(error)
    if status is None and error_code(error) is None:
        reason = getattr(error, "reason", None)
        return isinstance(reason, BaseException) and is_of_request(reason)
    return (status is None or 400 <= status < 500) and classify(error) is Kind.PERMANENT


def kind_of_code(code: str) -> Kind | None:
    """The kind of an AWS error code; None if only its HTTP status can tell."""
    code = code.rpartition(".")[2]  # Codes of SQS begin with `AWS.SimpleQueueService.`.
    if code in THROTTLED_CODES:
        return Kind.THROTTLED
    return Kind.TRANSIENT if code in TRANSIENT_CODES else None


def kind_of_status(status: int) -> Kind:
    """The kind of an HTTP status."""
    if status in THROTTLED_STATUSES:
        return Kind.THROTTLED
    return Kind.TRANSIENT if status in TRANSIENT_STATUSES else Kind.PERMANENT


def error_code(error: BaseException) -> str | None:
    """The code of an AWS error, from botocore's ClientError."""
    match getattr(error, "response", None):
        case {"Error": {"Code": str(code)}}:
            return code
        case _:
            return None


def http_status(error: BaseException) -> int | None:
    """The HTTP status of an error of botocore, urllib, requests, httpx or aiohttp."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        match response:
            case {"ResponseMetadata": {"HTTPStatusCode": int(status)}}:
                return status
            case _:
                return None
    for holder in (error, response):
        for name in ("status_code", "status", "code"):
            found = getattr(holder, name, None)
            if isinstance(found, int) and 100 <= found <= 599:
                return int(found)
    return None


def _kind_of_cancellation(error: BaseException) -> Kind | None:
    """The kind of DynamoDB's reason for the cancellation of a transaction; None for all other errors.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """
    match getattr(error, "response", None):
        case {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": [*reasons]}:
            codes = {str(reason.get("Code")) for reason in reasons if isinstance(reason, Mapping)}
        case _:
            return None
    if not codes <= _CANCELLATIONS.keys() or codes <= {"None"}:
        return Kind.PERMANENT
    kinds = {_CANCELLATIONS[code] for code in codes}
    return Kind.THROTTLED if Kind.THROTTLED in kinds else Kind.TRANSIENT


def _is_called_transient(error: BaseException) -> bool:
    names = [one.__name__ for one in type(error).__mro__]
    return any(part in name for name in names for part in _TRANSIENT_NAMES)
