"""The part of HTTP/1.1 that a Lambda runtime uses, without a socket: bytes to requests, answers to bytes.

Input is bounded: a request's head, its body, the overhead of chunks, and the number of requests sent ahead. A request
whose body exceeds the bound is returned at once, without its body.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

import httptools

HEAD_BYTES_MAX = 2 * 1024 * 1024  # A runtime sends a whole X-Ray document, up to 1 MB, in one header.
HEADERS_MAX = 256
FRAMING_BYTES_PER_BODY_BYTE = 8
"""The size of a one-byte chunk on the wire: `1`, line end, the byte, line end, and some room."""
REQUESTS_AHEAD_MAX = 16

MODE_HEADER = "lambda-runtime-function-response-mode"
"""The header of a request whose body is an answer in pieces."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class MalformedRequest(Exception):
    """The bytes are not HTTP/1.1, or exceed a bound; the connection cannot be used any more."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Header names are in lower case. `is_cut`: the body exceeds the bound and is missing."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""
    is_cut: bool = False
    is_streamed: bool = False


Take = Callable[[bytes], None]
"""Takes one piece of a body."""

Streams = Callable[[Request], Take | None]
"""Decides by its head whether the body of a request is taken in pieces; None: it is collected."""


def collected(request: Request) -> Take | None:  # noqa: ARG001 - the signature of every Streams.
    """The Streams of a connection whose bodies are all collected."""
    return None


class RequestReader:
    """Collects the bytes of one connection into requests.

    A body that is taken in pieces has a bound of its own, and its request has no body, but its trailers as headers.
    """

    def __init__(
        self, body_bytes_max: int, *, streams: Streams = collected, streamed_bytes_max: int = 0
    ) -> None:  # fmt: skip
        self._body_bytes_max = body_bytes_max
        self._streams = streams
        self._take: Take | None = None
        self._streamed_bytes_max = streamed_bytes_max
        self._parser = httptools.HttpRequestParser(self)
        self._ready: deque[Request] = deque()
        self._problem: str | None = None
        self._is_over = False
        self._expects = False
        self._begin()

    def feed(self, data: bytes) -> None:
        """Parse received bytes. Bytes after a cut or malformed request are ignored."""
        if self._problem is not None or self._is_over:
            return
        self._fed += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._is_over:
                self._problem = str(error.__context__ or error)
        if self._fed - self._size > HEAD_BYTES_MAX + FRAMING_BYTES_PER_BODY_BYTE * self._size:
            self._problem = "the head of a request is too long"

    def next_request(self) -> Request | None:
        """The next complete request; None until more bytes come. Errors: MalformedRequest."""
        if self._ready:
            return self._ready.popleft()
        if self._problem is not None:
            raise MalformedRequest(self._problem)
        return None

    def wants_continue(self) -> bool:
        """Whether the client waits for `100 Continue` before it sends its body; true once for each request."""
        is_wanted, self._expects = self._expects, False
        return is_wanted

    # Callbacks of httptools.

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._headers) >= HEADERS_MAX:
            raise MalformedRequest("a request has too many headers")
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._expects = self._headers.get("expect", "").lower() == "100-continue"
        if MODE_HEADER in self._headers:
            self._take = self._streams(Request(self._method(), self._path(), self._headers))
        length = self._headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._bytes_max:
            self._cut()

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self._bytes_max:
            self._cut()
        if self._take is None:
            self._body += body
        else:
            self._take(body)

    def on_message_complete(self) -> None:
        is_streamed = self._take is not None
        self._add(Request(self._method(), self._path(), self._headers, bytes(self._body), is_streamed=is_streamed))
        self._begin()
        if len(self._ready) > REQUESTS_AHEAD_MAX:
            raise MalformedRequest("too many requests were sent ahead of their answers")

    def _begin(self) -> None:
        self._fed = 0
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._size = 0
        self._take = None
        self._expects = False

    @property
    def _bytes_max(self) -> int:
        return self._body_bytes_max if self._take is None else self._streamed_bytes_max

    def _cut(self) -> None:
        """Return the request as it is; ignore further bytes of the connection. Errors: MalformedRequest, always."""
        is_streamed = self._take is not None
        self._add(Request(self._method(), self._path(), self._headers, is_cut=True, is_streamed=is_streamed))
        self._is_over = True
        self._body.clear()
        raise MalformedRequest("the body of a request is too long")

    def _add(self, request: Request) -> None:
        self._ready.append(request)

    def _method(self) -> str:
        return str(self._parser.get_method().decode("latin-1"))

    def _path(self) -> str:
        return self._url.decode("latin-1")


def response(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body
