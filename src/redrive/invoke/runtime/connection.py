"""One connection of a runtime to its Runtime API: never blocks, keeps what could not be sent yet, and has bounds."""

from __future__ import annotations

import socket

from redrive.invoke.endings import RESPONSE_BYTES_MAX
from redrive.invoke.runtime.http_exchange import RequestReader

READ_BYTES = 256 * 1024


class Connection:
    """The bytes of one connection."""

    def __init__(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = accepted
        self.reader = RequestReader(RESPONSE_BYTES_MAX)
        self._unsent = bytearray()

    @property
    def owes(self) -> bool:
        """Whether something is left to send."""
        return bool(self._unsent)

    def send(self, data: bytes) -> None:
        """Send now what can be sent, and keep the rest. Errors: OSError (the other side is gone)."""
        self._unsent += data
        try:
            while self._unsent:
                del self._unsent[: self.socket.send(self._unsent)]
        except BlockingIOError:
            return

    def exchange(self) -> bool:
        """Send what is left; once that is done, read what has come, once. False if the other side is gone.

        Who does not take its answers is not read from. Errors: OSError (the other side is gone).
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
