"""One connection of a runtime to its Runtime API: never blocks, buffers unsent bytes, and is bounded."""

from __future__ import annotations

import socket

from redrive.invoke.endings import RESPONSE_BYTES_MAX, STREAMED_BYTES_MAX
from redrive.invoke.runtime.http_exchange import RequestReader, Streams

READ_BYTES = 256 * 1024


class Connection:
    """The bytes of one connection."""

    def __init__(self, accepted: socket.socket, streams: Streams) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = accepted
        self.reader = RequestReader(RESPONSE_BYTES_MAX, streams=streams, streamed_bytes_max=STREAMED_BYTES_MAX)
        self._unsent = bytearray()

    @property
    def owes(self) -> bool:
        """Whether unsent bytes are left."""
        return bool(self._unsent)

    def send(self, data: bytes) -> None:
        """Send as many bytes as possible now, and keep the rest. Errors: OSError (the other side is gone)."""
        self._unsent += data
        try:
            while self._unsent:
                del self._unsent[: self.socket.send(self._unsent)]
        except BlockingIOError:
            return

    def exchange(self) -> bool:
        """Send the remaining bytes; when all are sent, read once. False if the other side has closed the connection.

        While a runtime does not read its answers, nothing is read from it. Errors: OSError (the other side is gone).
        """
        self.send(b"")
        if self.owes:
            return True
        try:
            data = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return True
        self.reader.feed(data)
        return bool(data)
