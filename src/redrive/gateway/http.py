"""HTTP/1.1 over asyncio: bytes to requests, answers to bytes, and nothing about what they mean.

    connection ─► httptools ─► HttpRequest ─► handler(request, reply) ─► reply.send(HttpResponse) ─► one write

A handler is a plain function: most answers come from the group commit's callback, without a task or a future each. A
connection has one request at a time under way; what a client sends ahead waits its turn, so answers keep their order.
Why no framework: docs/decisions/0008-http-server.md.
"""

from __future__ import annotations

import asyncio
import functools
import http
import socket
from collections import deque
from collections.abc import Callable
from email.utils import formatdate
from typing import Protocol, cast

import httptools

from redrive.core.clock import Clock
from redrive.core.documents import dump_json
from redrive.wire.message import HttpRequest, HttpResponse

BODY_BYTES_MAX = 64 * 1024 * 1024
"""More than AWS takes for any request of the services here (Lambda's 50 MB of zip is the largest, as base64)."""

HEAD_BYTES_MAX = 64 * 1024
"""What may come of a request before its headers are complete."""

REQUESTS_AHEAD_MAX = 16
"""How many further requests a connection may have sent before it is not read from any more."""

CONNECTIONS_WAITING_MAX = 1024
"""How many clients may wait for their connection to be accepted."""

HEADER_NAMES_REMEMBERED_MAX = 256

LINGER_S = 2
"""How long a refused client may go on sending to nobody."""

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in http.HTTPStatus}
_WITHOUT_BODY = frozenset({204, 304})
_REFUSALS = {
    400: ("MalformedHttpRequestException", "The request is not HTTP/1.1."),
    413: ("RequestEntityTooLargeException", f"Request must be smaller than {BODY_BYTES_MAX} bytes."),
    431: ("RequestHeaderSectionTooLarge", f"The head of the request must be smaller than {HEAD_BYTES_MAX} bytes."),
}


class Reply(Protocol):
    """Where the answer to one request goes."""

    @property
    def is_wanted(self) -> bool:
        """Whether the caller is still there."""
        ...

    def send(self, response: HttpResponse) -> None:
        """Answer, once, on the event loop's thread. It is no error if the caller has gone."""
        ...


Handler = Callable[[HttpRequest, Reply], None]
"""Begins to answer a request; must not block."""


class HttpServer:
    """Serves the connections of one listening socket."""

    def __init__(self, handler: Handler, clock: Clock) -> None:
        """`clock` is for the Date header, so it is the machine's even where other time is virtual."""
        self._handler = handler
        self._clock = clock
        self._connections: set[_Connection] = set()
        self._listener: asyncio.Server | None = None
        self._date = ""

    async def start(self, listening: socket.socket) -> None:
        """Answer from now on."""
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: _Connection(self._handler, self._connections, self._date_line),
            sock=listening, backlog=CONNECTIONS_WAITING_MAX,
        )  # fmt: skip

    async def stop(self, *, grace_s: float) -> None:
        """Accept nothing more; requests under way have so long to be answered."""
        assert self._listener is not None
        self._listener.close()
        closed = [connection.finish() for connection in tuple(self._connections)]
        if closed:
            await asyncio.wait(closed, timeout=grace_s)
        for connection in tuple(self._connections):
            connection.abort()

    def _date_line(self) -> str:
        """The Date header, at most a second old: formatting it costs more than all other headers together."""
        if not self._date:
            self._date = f"Date: {formatdate(self._clock.now() / 1000, usegmt=True)}\r\n"
            asyncio.get_running_loop().call_later(1, self._forget_date)
        return self._date

    def _forget_date(self) -> None:
        self._date = ""


class _Connection(asyncio.Protocol):
    """One client: parses what it sends, and answers in order."""

    def __init__(self, handler: Handler, connections: set[_Connection], date_line: Callable[[], str]) -> None:
        self._handler = handler
        self._connections = connections
        self._date_line = date_line
        self._transport: asyncio.Transport
        self._parser = httptools.HttpRequestParser(self)
        self._loop = asyncio.get_running_loop()
        self._closed: asyncio.Future[None] = self._loop.create_future()

        # The request that is being received.
        self._url = b""
        self._headers: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_in_head = False
        self._refusal: int | None = None

        # The request that is being answered, and those behind it. `_is_last`: nothing is read after the latest one.
        self._is_under_way = False
        self._is_head = False
        self._keeps_alive = True
        self._waiting: deque[tuple[HttpRequest, bool] | int] = deque()
        self._is_last = False
        self._is_writable = True

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._waiting.clear()
        self._closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._is_last:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # A wish to speak something else may be ignored: the request counts, and what follows it is the next.
            self._parser = httptools.HttpRequestParser(self)
            self.data_received(data[upgrade.args[0] :])
            return
        except httptools.HttpParserError:
            self._refusal = 400
        if self._is_in_head:
            self._size += len(data)
            if self._size > HEAD_BYTES_MAX:
                self._refusal = 431
        if self._refusal is not None:
            self._enqueue(self._refusal, is_last=True)

    def pause_writing(self) -> None:
        self._is_writable = False

    def resume_writing(self) -> None:
        self._is_writable = True
        self._next()

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._url, self._headers, self._pieces, self._size, self._is_in_head = b"", {}, [], 0, True

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = _header_name(name), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        self._is_in_head, self._size = False, 0
        if int(self._headers.get("content-length", 0)) > BODY_BYTES_MAX:
            self._refusal = 413
        elif self._headers.get("expect", "").lower() == "100-continue" and not (self._is_under_way or self._waiting):
            self._transport.write(_CONTINUE)

    def on_body(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > BODY_BYTES_MAX:
            self._refusal = 413
        else:
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        if self._refusal is not None or self._is_last:
            return
        keeps_alive = self._parser.should_keep_alive()
        if keeps_alive and "connection" in self._headers:
            # An HTTP/1.0 client would have to be told that it may go on, so it is not let go on.
            keeps_alive = self._parser.get_http_version() != "1.0"
        path, _, query = _target(self._url).partition("?")
        method = self._parser.get_method().decode("latin-1")
        request = HttpRequest(method, path, query, self._headers, b"".join(self._pieces))
        if self._is_under_way or self._waiting:
            self._enqueue((request, keeps_alive), is_last=not keeps_alive)
        else:
            self._is_last = not keeps_alive
            self._begin(request, keeps_alive)

    # Answers.

    @property
    def is_wanted(self) -> bool:
        return not self._transport.is_closing()

    def send(self, response: HttpResponse) -> None:
        assert self._is_under_way, "a request is answered once"
        self._is_under_way = False
        if self._transport.is_closing():
            return
        self._transport.write(self._encoded(response))
        if not self._keeps_alive:
            self._transport.close()
        elif self._waiting:
            self._loop.call_soon(self._next)

    def finish(self) -> asyncio.Future[None]:
        """Answer what has come, then close; answers when that is done."""
        if self._is_under_way or self._waiting:
            self._is_last = True
            if not self._waiting:
                self._keeps_alive = False
        else:
            self._transport.close()
        return self._closed

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def _begin(self, request: HttpRequest, keeps_alive: bool) -> None:
        self._is_under_way, self._is_head, self._keeps_alive = True, request.method == "HEAD", keeps_alive
        try:
            self._handler(request, self)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises, its caller is told something.
            self._loop.call_exception_handler({"message": f"{request.method} {request.path}", "exception": error})
            if self._is_under_way:
                self.send(HttpResponse(500, (), b""))

    def _enqueue(self, item: tuple[HttpRequest, bool] | int, *, is_last: bool) -> None:
        self._is_last = is_last
        self._waiting.append(item)
        if len(self._waiting) >= REQUESTS_AHEAD_MAX:
            self._transport.pause_reading()
        self._next()

    def _next(self) -> None:
        """Begin what waits, unless something is under way, or the client does not read its answers."""
        if self._is_under_way or not self._waiting or not self._is_writable:
            return
        item = self._waiting.popleft()
        if not self._transport.is_reading():
            self._transport.resume_reading()
        if isinstance(item, int):
            self._refuse(item)
        else:
            request, keeps_alive = item
            self._begin(request, keeps_alive and not (self._is_last and not self._waiting))

    def _refuse(self, status: int) -> None:
        """Answer what could not be read, and close.

        Not at once: closing on a client that is still sending would throw away the answer before it is read.
        """
        self._keeps_alive = self._is_head = False
        self._transport.write(self._encoded(_refusal(status)))
        self._loop.call_later(LINGER_S, self._transport.close)

    def _encoded(self, response: HttpResponse) -> bytes:
        """Head and body as one piece, which is one write and mostly one packet."""
        status, body = response.status, response.body
        head = _STATUS_LINES.get(status, f"HTTP/1.1 {status} \r\n") + self._date_line()
        for name, value in response.headers:
            head += f"{name}: {value}\r\n"
        if status not in _WITHOUT_BODY:
            head += f"Content-Length: {len(body)}\r\n"
        if not self._keeps_alive:
            head += "Connection: close\r\n"
        return f"{head}\r\n".encode("latin-1", "replace") + (b"" if self._is_head else body)


@functools.lru_cache(maxsize=HEADER_NAMES_REMEMBERED_MAX)
def _header_name(name: bytes) -> str:
    """The name of a header in lower case. Clients send the same few with every request."""
    return name.decode("latin-1").lower()


def _target(url: bytes) -> str:
    """Path and query of a request's target; proxies send whole URLs."""
    if not url.startswith(b"/"):
        try:
            parsed = httptools.parse_url(url)
        except httptools.HttpParserInvalidURLError:
            return url.decode("latin-1")
        url = (parsed.path or b"/") + (b"?" + parsed.query if parsed.query else b"")
    return url.decode("latin-1")


def _refusal(status: int) -> HttpResponse:
    """What a client is told of a request that could not be read: in a form that AWS's SDKs read as an error."""
    code, message = _REFUSALS[status]
    headers = (("Content-Type", "application/json"), ("x-amzn-ErrorType", code))
    return HttpResponse(status, headers, dump_json({"__type": code, "message": message}).encode())
