"""CORS (cross-origin resource sharing): the headers that tell a browser which pages may call the server.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol. Which headers: those of AWS's SDK for JavaScript.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

PREFLIGHT_AGE_S = 600
REQUESTED_HEADERS_MAX = 100

_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_SENT = re.compile(
    r"(x-)?amzn?-[a-z0-9_-]+|accept|authorization|cache-control|content-(encoding|md5|type)|if-(none-)?match"
    r"|pragma|smithy-protocol|traceparent"
)
_EXPOSED = (
    "Content-Encoding, Content-Length, Date, ETag, Location, smithy-protocol, x-amz-crc32, x-amz-executed-version, "
    "x-amz-function-error, x-amz-id-2, x-amz-log-result, x-amz-request-id, x-amzn-errormessage, x-amzn-errortype, "
    "x-amzn-query-error, x-amzn-requestid, x-amzn-trace-id"
)

VARY = ("Vary", "Origin")


def answer_headers(origin: str) -> tuple[tuple[str, str], ...]:
    """The headers added to each answer to an allowed page, errors too. `origin` is the origin of the page, or `*`."""
    return (("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", _EXPOSED), VARY)


def preflight_headers(origin: str, asked: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The answer to a preflight: of the headers that the browser names, those that AWS's SDKs send are allowed."""
    names = asked.get("access-control-request-headers", "").lower().split(",")[:REQUESTED_HEADERS_MAX]
    allowed = [name for name in map(str.strip, names) if _SENT.fullmatch(name)]
    private = (("Access-Control-Allow-Private-Network", "true"),)
    return (
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Allow-Methods", _METHODS),
        *((("Access-Control-Allow-Headers", ", ".join(allowed)),) if allowed else ()),
        *(private if asked.get("access-control-request-private-network") == "true" else ()),
        ("Access-Control-Max-Age", str(PREFLIGHT_AGE_S)),
        ("Vary", "Origin, Access-Control-Request-Headers"),
    )
