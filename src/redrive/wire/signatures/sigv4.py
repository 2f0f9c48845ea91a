"""Parses Signature Version 4: the signer of a request. `verify` says whether the signature is genuine.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import parse_qsl

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest

_TERM = "aws4_request"
ALGORITHM = "AWS4-HMAC-SHA256"
_MULTI_REGION_ALGORITHM = "AWS4-ECDSA-P256-SHA256"
_HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARAMETERS = ("X-Amz-Algorithm", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Signature")
_AS_SDKS_WRITE_IT = re.compile(r"AWS4-HMAC-SHA256 Credential=([^,=]+), ?SignedHeaders=([^,=]+), ?Signature=([^,=]+)")

HEADERS_KEPT = 16
"""Size of the cache of headers: each request is asked for its signer several times, while nothing comes between."""

CREDENTIALS_KEPT = 1_000
"""Size of the cache of credentials: an SDK sends the same credential all day, and only the signature changes."""


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential scope of a signature. `date` is `YYYYMMDD`; `service` is the signing name."""

    access_key_id: str
    date: str
    region: str
    service: str


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature as received: what it covers, and when it was made.

    `signed_at` is the text of the request; `expires_s` is the lifetime of a presigned URL, None for a signature in the
    header.
    """

    algorithm: str
    signed_headers: tuple[str, ...]
    text: str
    signed_at: str
    expires_s: str | None = None

    @property
    def is_presigned(self) -> bool:
        return self.expires_s is not None


def credential_of(request: HttpRequest) -> Credential | None:
    """The signer of this request, in the Authorization header or in a presigned URL; None for an unsigned request.

    Errors: IncompleteSignatureException.
    """
    header = request.headers.get("authorization")
    if header is not None:
        scope = _scope_of(header) if "x-amz-date" in request.headers else None
        return _from_header(header, request) if scope is None else _usual(scope)
    scope = _query_parameter(request, "X-Amz-Credential")
    if scope is None:
        return None
    algorithm = _query_parameter(request, "X-Amz-Algorithm") or ""
    return _from_scope(scope, algorithm, _query_parameter(request, "X-Amz-Region-Set") or "")


def signature_of(request: HttpRequest) -> Signature:
    """The signature of a request whose signer `credential_of` has found.

    Errors: IncompleteSignatureException (a part of a presigned URL is missing).
    """
    headers = request.headers
    header = headers.get("authorization")
    if header is not None:
        usual = _AS_SDKS_WRITE_IT.fullmatch(header)
        if usual is not None and "x-amz-date" in headers:
            return Signature(ALGORITHM, _names(usual[2]), usual[3], headers["x-amz-date"])
        algorithm, parameters = _read_header(header)
        signed_at = headers.get("x-amz-date") or headers.get("date", "")
        return Signature(algorithm, _names(parameters["SignedHeaders"]), parameters["Signature"], signed_at)
    given = dict(reversed(parse_qsl(request.query, keep_blank_values=True)))  # The first of a name counts.
    missing = [name for name in _QUERY_PARAMETERS if not given.get(name)]
    if missing:
        _refuse(" ".join(f"AWS query-string parameters must include '{name}'." for name in missing))
    return Signature(
        given["X-Amz-Algorithm"], _names(given["X-Amz-SignedHeaders"]), given["X-Amz-Signature"], given["X-Amz-Date"],
        given.get("X-Amz-Expires", ""),
    )  # fmt: skip


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(";"))


def session_token(request: HttpRequest) -> str | None:
    """The token of temporary credentials, if the request has one."""
    return request.headers.get("x-amz-security-token") or _query_parameter(request, "X-Amz-Security-Token")


def _query_parameter(request: HttpRequest, name: str) -> str | None:
    if name not in request.query:
        return None
    return next((value for key, value in parse_qsl(request.query, keep_blank_values=True) if key == name), None)


def _read_header(header: str) -> tuple[str, dict[str, str]]:
    """The algorithm and the parameters of an Authorization header. Errors: IncompleteSignatureException."""
    algorithm, _, rest = header.strip().partition(" ")
    parameters: dict[str, str] = {}
    for part in rest.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals and name and algorithm.startswith("AWS4-"):
            _refuse(
                "Invalid key=value pair (missing equal-sign) in Authorization header "
                f"(hashed with SHA-256 and encoded with Base64): '{_hashed(name)}'."
            )
        parameters[name] = value
    return algorithm, parameters


def _from_header(header: str, request: HttpRequest) -> Credential:
    algorithm, parameters = _read_header(header)
    problems = [
        f"Authorization header requires '{name}' parameter." for name in _HEADER_PARAMETERS if not parameters.get(name)
    ]
    if "x-amz-date" not in request.headers and "date" not in request.headers:
        problems.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
    if problems:
        hashed = f"(Hashed with SHA-256 and encoded with Base64) Authorization={_hashed(header)}"
        _refuse(" ".join([*problems, hashed]))
    return _from_scope(parameters["Credential"], algorithm, request.headers.get("x-amz-region-set", ""))


@functools.lru_cache(HEADERS_KEPT)
def _scope_of(header: str) -> str | None:
    """The credential scope in a header that is written as the SDKs write it; None for other headers."""
    usual = _AS_SDKS_WRITE_IT.fullmatch(header)
    return None if usual is None else usual[1]


@functools.lru_cache(CREDENTIALS_KEPT)
def _usual(scope: str) -> Credential:
    return _from_scope(scope, ALGORITHM, "")


def _from_scope(scope: str, algorithm: str, region_set: str) -> Credential:
    """Parse `keyid/date/region/service/term`; a multi-region signature has its region in a header."""
    parts = scope.split("/")
    if algorithm == _MULTI_REGION_ALGORITHM and len(parts) == 4:
        parts.insert(2, region_set.partition(",")[0])
    if len(parts) != 5:
        _refuse(
            "Credential must have exactly 5 slash-delimited elements, "
            f"e.g. keyid/date/region/service/term, got '{scope}'"
        )
    key_id, date, region, service, term = parts
    if term != _TERM:
        _refuse(f"Credential should be scoped with a valid terminator: '{_TERM}', not '{term}'.")
    return Credential(access_key_id=key_id, date=date, region=region, service=service)


def _hashed(text: str) -> str:
    # A header may hold a secret by mistake, so no answer repeats the header.
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _refuse(message: str) -> NoReturn:
    raise ServiceError("IncompleteSignatureException", message)
