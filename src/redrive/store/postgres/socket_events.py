"""Tells an event loop when a socket that libpq reads needs attention, also when the connection has failed.

uvloop stops watching a socket that the kernel reports as failed: it calls the reader once more, and never again. libpq
needs several reads, because the data that came before the failure are read first; a connection would then seem to be
alive for ever. So on Linux the loop watches an epoll of its own for each socket, and an epoll never fails.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable

from redrive.core.portable import USES_LINUX

_HAS_EPOLL = USES_LINUX and hasattr(select, "epoll")


class SocketEvents:
    """Calls `ready` while a socket can be read. All methods are called on the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: int, ready: Callable[[], None]) -> None:
        self._loop = loop
        self._socket = socket
        self._ready = ready
        self._is_writing = False
        self._epoll = select.epoll() if _HAS_EPOLL else None
        if self._epoll is None:
            loop.add_reader(socket, ready)
        else:
            self._epoll.register(socket, select.EPOLLIN)
            loop.add_reader(self._epoll.fileno(), ready)

    def set_writing(self, is_writing: bool) -> None:
        """Whether `ready` is called while the socket can be written, too."""
        if is_writing == self._is_writing:
            return
        self._is_writing = is_writing
        if self._epoll is not None:
            self._epoll.modify(self._socket, select.EPOLLIN | (select.EPOLLOUT if is_writing else 0))
        elif is_writing:
            self._loop.add_writer(self._socket, self._ready)
        else:
            self._loop.remove_writer(self._socket)

    def close(self) -> None:
        """Call `ready` no more. The socket may be closed already."""
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            return
        self._loop.remove_reader(self._socket)
        if self._is_writing:
            self._loop.remove_writer(self._socket)
