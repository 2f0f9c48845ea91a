"""HTTP/1.1 over asyncio: bytes to requests, answers to bytes. Knows nothing about their meaning.

    connection ─► httptools ─► HttpRequest ─► handler(request, reply) ─► reply.send(HttpResponse) ─► one write

A handler is a plain function: most answers come from the group commit's callback, without a task or a future each. A
connection handles one request at a time; requests sent ahead wait, so answers keep their order. `limits` bounds what
a client may use. Why no framework: docs/decisions/0008-http-server.md.
"""

from __future__ import annotations

import asyncio
import socket
from email.utils import formatdate

from redrive.core.clock import Clock
from redrive.gateway.http.connection import Connection
from redrive.gateway.http.limits import HttpLimits
from redrive.gateway.http.ports import Handler, OpenUpload, no_uploads

CONNECTIONS_WAITING_MAX = 1024
"""How many clients may wait for their connection to be accepted."""


class HttpServer:
    """Serves the connections of one listening socket."""

    def __init__(
        self, handler: Handler, clock: Clock, limits: HttpLimits | None = None, *, open_upload: OpenUpload = no_uploads
    ) -> None:  # fmt: skip
        """`clock` is for the Date header, so it is the machine's clock even in virtual time.

        `open_upload` says which bodies are not collected in memory.
        """
        self.handler = handler
        self.open_upload = open_upload
        self.limits = limits or HttpLimits()
        self.held_bytes = 0
        self.unsent_bytes = 0
        self._clock = clock
        self._connections: set[Connection] = set()
        self._listener: asyncio.Server | None = None
        self._ticking: asyncio.TimerHandle | None = None
        self._date = ""

    async def start(self, listening: socket.socket) -> None:
        """Start to answer."""
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: Connection(self), sock=listening, backlog=CONNECTIONS_WAITING_MAX
        )

    async def stop(self, *, grace_s: float) -> None:
        """Accept no more connections; requests under way get this many seconds to finish."""
        assert self._listener is not None
        self._listener.close()
        closed = [connection.finish() for connection in tuple(self._connections)]
        if closed:
            await asyncio.wait(closed, timeout=grace_s)
        for connection in tuple(self._connections):
            connection.abort()
        if self._ticking is not None:
            self._ticking.cancel()

    def admit(self, connection: Connection) -> bool:
        """Whether there is room for one more connection; if not, close the one that has been idle the longest."""
        self._connections.add(connection)
        if self._ticking is None:
            self._ticking = asyncio.get_running_loop().call_later(self.limits.tick_s, self._tick)
        if len(self._connections) <= self.limits.connections:
            return True
        idle = [other for other in self._connections if other.is_idle and other is not connection]
        if not idle:
            return False
        max(idle, key=lambda other: other.ticks_idle).abort()
        return True

    def forget(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._connections.discard(connection)

    def date_line(self) -> str:
        """The Date header, at most one second old: formatting it costs more than all other headers together."""
        if not self._date:
            self._date = f"Date: {formatdate(self._clock.now() / 1000, usegmt=True)}\r\n"
            asyncio.get_running_loop().call_later(1, self._forget_date)
        return self._date

    def _forget_date(self) -> None:
        self._date = ""

    def _tick(self) -> None:
        """Tick every connection; the ticks stop while there is no connection."""
        for connection in tuple(self._connections):
            connection.tick()
        self._ticking = None
        if self._connections:
            self._ticking = asyncio.get_running_loop().call_later(self.limits.tick_s, self._tick)
