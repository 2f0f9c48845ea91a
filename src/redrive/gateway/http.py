"""HTTP/1.1 over asyncio: bytes to requests, answers to bytes, and nothing about what they mean.

    connection ─► httptools ─► HttpRequest ─► handler(request, reply) ─► reply.send(HttpResponse) ─► one write

A handler is a plain function: most answers come from the group commit's callback, without a task or a future each. A
connection has one request at a time under way; what a client sends ahead waits its turn, so answers keep their order.
Why no framework: docs/decisions/0008-http-server.md.
"""

from __future__ import annotations

import asyncio
import http
import socket
from collections import deque
from collections.abc import Callable
from email.utils import formatdate
from typing import Protocol, cast

import httptools

from redrive.core.clock import Clock
from redrive.wire.message import HttpRequest, HttpResponse

BODY_BYTES_MAX = 64 * 1024 * 1024
"""More than AWS takes for any request of the services here (Lambda's 50 MB of zip is the largest, as base64)."""

HEAD_BYTES_MAX = 64 * 1024
"""What may come of a request before its headers are complete."""

REQUESTS_AHEAD_MAX = 16
"""How many further requests a connection may have sent before it is not read from any more."""

CONNECTIONS_WAITING_MAX = 1024

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in http.HTTPStatus}
_CLOSE = "Connection: close\r\n"
_NO_BODY = frozenset({204, 304})


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
    """Serves connections of one listening socket."""

    def __init__(self, handler: Handler, clock: Clock) -> None:
        """`clock` is for the Date header, so it is that of the machine."""
        self.handler = handler
        self._clock = clock
        self._connections: set[_Connection] = set()
        self._listener: asyncio.Server | None = None
        self._date_second = 0
        self._date = ""

    async def start(self, listening: socket.socket) -> None:
        """Answer from now on."""
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: _Connection(self), sock=listening, backlog=CONNECTIONS_WAITING_MAX
        )

    async def stop(self, *, grace_s: float) -> None:
        """Accept nothing more; requests under way have so long to be answered."""
        assert self._listener is not None
        self._listener.close()
        closed = [connection.finish() for connection in tuple(self._connections)]
        if closed:
            await asyncio.wait(closed, timeout=grace_s)
        for connection in tuple(self._connections):
            connection.abort()

    def entered(self, connection: _Connection) -> None:
        """Keep an eye on a connection."""
        self._connections.add(connection)

    def left(self, connection: _Connection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)

    def date(self) -> str:
        """The Date header's line. Written once a second, as writing it costs more than all other headers."""
        second = self._clock.now() // 1000
        if second != self._date_second:
            self._date_second, self._date = second, f"Date: {formatdate(second, usegmt=True)}\r\n"
        return self._date


class _Connection(asyncio.Protocol):
    """One client: parses what it sends, and answers in order."""

    __slots__ = (
        "_body", "_closed", "_data", "_head_bytes", "_headers", "_is_last", "_keeps_alive", "_method", "_parser",
        "_refusal", "_server", "_transport", "_under_way", "_url", "_waiting", "_writable",
    )  # fmt: skip

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._waiting: deque[tuple[HttpRequest, bool] | int] = deque()
        self._under_way = False
        self._keeps_alive = True
        self._is_last = False
        self._writable = True
        self._refusal = 0
        self._head_bytes = 0
        self._method = ""
        self._transport: asyncio.Transport
        self._parser = httptools.HttpRequestParser(self)
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
