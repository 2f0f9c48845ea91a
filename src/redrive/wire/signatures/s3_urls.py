"""Presigned URLs of S3: what is wrong with one, in S3's own words. Whether its signature is genuine, `verify` says.

Both versions are refused when they have expired, also where signatures are not verified: tests of clients wait for it.
Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from redrive.core.clock import DAY_MS, SECOND_MS, Instant
from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest
from redrive.wire.protocols.timestamps import ISO_8601, write_text
from redrive.wire.signatures.verify import EXPIRES_S_MAX, SKEW_MS, instant_of_stamp

_PARAMETERS = (
    "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Expires"
)  # fmt: skip
_ALGORITHMS = ("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")
_CREDENTIAL = re.compile(r"[^/]+/\d{8}/(?:[^/]+/)?[^/]+/aws4_request")
_STAMP = re.compile(r"\d{8}T\d{6}Z")
_NUMBER = re.compile(r"-?\d{1,18}")
_UNSIGNED_ANYWAY = frozenset({"x-amz-content-sha256"})

V2_PARAMETERS = ("AWSAccessKeyId", "Signature", "Expires")


def is_presigned(query: str) -> bool:
    """Whether a URL has a signature of version 4, or parts of one."""
    return "X-Amz-" in query and any(f"{name}=" in query for name in _PARAMETERS)


def check_presigned(request: HttpRequest, now: Sequence[Instant]) -> None:
    """Refuse a presigned URL that lacks a part, has a malformed part, or is not valid by any of the clocks.

    Errors: AuthorizationQueryParametersError; AccessDenied.
    """
    given = dict(reversed(parse_qsl(request.query, keep_blank_values=True)))
    if any(not given.get(name) for name in _PARAMETERS):
        *names, last = _PARAMETERS
        _malformed(f"Query-string authentication version 4 requires the {', '.join(names)}, and {last} parameters.")
    if given["X-Amz-Algorithm"] not in _ALGORITHMS:
        _malformed('X-Amz-Algorithm only supports "AWS4-HMAC-SHA256 and AWS4-ECDSA-P256-SHA256"')
    if _CREDENTIAL.fullmatch(given["X-Amz-Credential"]) is None:
        _malformed(
            "Error parsing the X-Amz-Credential parameter; the Credential is mal-formed; expecting "
            '"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".'
        )
    if _STAMP.fullmatch(given["X-Amz-Date"]) is None:
        _malformed("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
    begins = instant_of_stamp(given["X-Amz-Date"])
    ends = begins + _lasts_s(given["X-Amz-Expires"]) * SECOND_MS
    if not any(begins - SKEW_MS <= clock <= ends for clock in now):
        if now[0] < begins:
            raise _denied("Request is not valid yet")
        raise _denied("Request has expired", {"X-Amz-Expires": given["X-Amz-Expires"], **_times(ends, now[0])})
    _check_headers(request.headers, given["X-Amz-SignedHeaders"].split(";"))


def check_presigned_v2(given: Mapping[str, str], now: Sequence[Instant]) -> None:
    """Refuse a URL of version 2 that lacks a part, or that has expired by all clocks. Errors: AccessDenied."""
    if any(not given.get(name) for name in V2_PARAMETERS):
        raise _denied("Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters")
    if _NUMBER.fullmatch(given["Expires"]) is None:
        raise _denied(f"Invalid date (should be seconds since epoch): {given['Expires']}")
    ends = min(int(given["Expires"]), _LAST_S) * SECOND_MS
    if all(clock > ends for clock in now):
        raise _denied("Request has expired", _times(ends, now[0]))


_LAST_S = 2_900_000 * DAY_MS // SECOND_MS
"""In the year 9909: what expires later is as good as what never expires."""


def _lasts_s(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        _malformed("X-Amz-Expires should be a number")
    if int(text) < 0:
        _malformed("X-Amz-Expires must be non-negative")
    if int(text) > EXPIRES_S_MAX:
        _malformed(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than "
            f"{EXPIRES_S_MAX} seconds"
        )
    return int(text)


def _check_headers(headers: Mapping[str, str], signed: Sequence[str]) -> None:
    """Refuse headers of S3's own that somebody may have added to the URL. Other headers are free."""
    names = {name.lower() for name in signed}
    unsigned = [name for name in headers if name.startswith("x-amz-") and name not in names | _UNSIGNED_ANYWAY]
    if unsigned:
        message = "There were headers present in the request which were not signed"
        raise _denied(message, {"HeadersNotSigned": ", ".join(sorted(unsigned))})


def _times(ends: Instant, now: Instant) -> dict[str, str]:
    return {"Expires": write_text(ends, ISO_8601), "ServerTime": write_text(now // SECOND_MS * SECOND_MS, ISO_8601)}


def _denied(message: str, members: Mapping[str, str] | None = None) -> ServiceError:
    return ServiceError("AccessDenied", message, http_status=403, members=members)


def _malformed(message: str) -> None:
    raise ServiceError("AuthorizationQueryParametersError", message, http_status=400)
