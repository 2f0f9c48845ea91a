"""The text of HTTP/1.1: heads of answers, targets of requests, refusals of unreadable requests."""

from __future__ import annotations

import functools
import http

import httptools

from redrive.core.documents import dump_json
from redrive.gateway.http.limits import BODY_BYTES_MAX, FIELDS_MAX, HEAD_BYTES_MAX
from redrive.wire.message import HttpResponse

HEADER_NAMES_REMEMBERED_MAX = 256

LENGTH = "Content-Length"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in http.HTTPStatus}
_SCHEMES = frozenset({b"http", b"https"})
_WITHOUT_BODY = frozenset({204, 304})
_REFUSALS = {
    400: ("MalformedHttpRequestException", "The request is not HTTP/1.1."),
    405: ("UnsupportedOperationException", "This server is no proxy: it does not CONNECT."),
    408: ("RequestTimeoutException", "The rest of the request did not come in time."),
    413: ("RequestEntityTooLargeException", f"Request must be smaller than {BODY_BYTES_MAX} bytes."),
    431: (
        "RequestHeaderSectionTooLarge",
        f"The head of a request must be smaller than {HEAD_BYTES_MAX} bytes, with at most {FIELDS_MAX} fields.",
    ),
    500: ("InternalFailure", "redrive failed to answer this request. This is a defect of redrive; its log has more."),
    501: ("NotImplemented", "The only Transfer-Encoding that is read here is chunked."),
    503: ("ServiceUnavailable", "The server holds as many connections or unfinished requests as it may; try again."),
}


def head_of(response: HttpResponse, date_line: str, *, keeps_alive: bool, framing: str | None = None) -> bytes:
    """Status line and headers of an answer. `framing` stands in place of Content-Length if the body is sent later.

    A Content-Length among the headers is that of a body which is not sent: the answer to HEAD.
    """
    status, length = response.status, ""
    head = _STATUS_LINES.get(status, f"HTTP/1.1 {status} \r\n") + date_line
    for name, value in response.headers:
        if name == LENGTH:
            length = value
        else:
            head += f"{name}: {value}\r\n"
    if framing is not None:
        head += framing
    elif status not in _WITHOUT_BODY:
        head += f"Content-Length: {len(response.body) if response.body or not length else length}\r\n"
    if not keeps_alive:
        head += "Connection: close\r\n"
    return f"{head}\r\n".encode("latin-1", "replace")


def may_have_body(status: int) -> bool:
    """Whether an answer with this status has a body."""
    return status not in _WITHOUT_BODY


@functools.lru_cache(maxsize=HEADER_NAMES_REMEMBERED_MAX)
def header_name(name: bytes) -> str:
    """The name of a header in lower case, cached: clients send the same few names with every request."""
    return name.decode("latin-1").lower()


@functools.lru_cache(maxsize=64)
def method_name(method: bytes) -> str:
    """The name of a method, cached. The parser knows a few dozen methods, and refuses all others."""
    return method.decode("latin-1")


def split_target(url: bytes) -> tuple[str, str, str] | None:
    """Path, query, and the host if the target is a whole URL, as proxies send it; no host otherwise.

    None for a URL that is not allowed here: another scheme, a user name, or malformed.
    """
    if url.startswith(b"/") or url == b"*":
        path, _, query = url.decode("latin-1").partition("#")[0].partition("?")
        return path, query, ""
    try:
        parsed = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        return None
    if parsed.schema not in _SCHEMES or not parsed.host or parsed.userinfo:
        return None
    host = parsed.host.decode("latin-1")
    if ":" in host:
        host = f"[{host}]"
    path = (parsed.path or b"/").decode("latin-1")
    return path, (parsed.query or b"").decode("latin-1"), f"{host}:{parsed.port}" if parsed.port else host


def refusal_of(status: int) -> HttpResponse:
    """The answer to an unreadable request, in a form that AWS's SDKs read as an error."""
    code, message = _REFUSALS[status]
    headers = (("Content-Type", "application/json"), ("x-amzn-ErrorType", code))
    return HttpResponse(status, headers, dump_json({"__type": code, "message": message}).encode())
