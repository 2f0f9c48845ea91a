"""Who signs a request, as Signature Version 4 writes it. Signatures themselves are not verified.

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
_MULTI_REGION_ALGORITHM = "AWS4-ECDSA-P256-SHA256"
_HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
_AS_SDKS_WRITE_IT = re.compile(r"AWS4-HMAC-SHA256 Credential=([^,=]+), ?SignedHeaders=[^,=]+, ?Signature=[^,=]+")

CREDENTIALS_KEPT = 1_000
"""An SDK writes the same credential all day; only what follows it changes."""


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential scope of a signature. `date` is `YYYYMMDD`; `service` is the signing name."""

    access_key_id: str
    date: str
    region: str
    service: str


def credential_of(request: HttpRequest) -> Credential | None:
    """Who signs this request, in the Authorization header or in a presigned URL; None for an unsigned one.

    Errors: IncompleteSignatureException.
    """
    header = request.headers.get("authorization")
    if header is not None:
        usual = _AS_SDKS_WRITE_IT.fullmatch(header) if "x-amz-date" in request.headers else None
        return _from_header(header, request) if usual is None else _usual(usual[1])
    scope = _query_parameter(request, "X-Amz-Credential")
    if scope is None:
        return None
    algorithm = _query_parameter(request, "X-Amz-Algorithm") or ""
    return _from_scope(scope, algorithm, _query_parameter(request, "X-Amz-Region-Set") or "")


def session_token(request: HttpRequest) -> str | None:
    """The token of temporary credentials, if the request carries one."""
    return request.headers.get("x-amz-security-token") or _query_parameter(request, "X-Amz-Security-Token")


def _query_parameter(request: HttpRequest, name: str) -> str | None:
    if name not in request.query:
        return None
    return next((value for key, value in parse_qsl(request.query, keep_blank_values=True) if key == name), None)


def _from_header(header: str, request: HttpRequest) -> Credential:
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
    problems = [
        f"Authorization header requires '{name}' parameter." for name in _HEADER_PARAMETERS if not parameters.get(name)
    ]
    if "x-amz-date" not in request.headers and "date" not in request.headers:
        problems.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
    if problems:
        hashed = f"(Hashed with SHA-256 and encoded with Base64) Authorization={_hashed(header)}"
        _refuse(" ".join([*problems, hashed]))
    return _from_scope(parameters["Credential"], algorithm, request.headers.get("x-amz-region-set", ""))


@functools.lru_cache(CREDENTIALS_KEPT)
def _usual(scope: str) -> Credential:
    return _from_scope(scope, "AWS4-HMAC-SHA256", "")


def _from_scope(scope: str, algorithm: str, region_set: str) -> Credential:
    """Read `keyid/date/region/service/term`; a multi-region signature has its region in a header."""
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
    # A header may hold a secret by mistake, so no answer repeats it.
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _refuse(message: str) -> NoReturn:
    raise ServiceError("IncompleteSignatureException", message)
