"""The body of an answer that is sent in pieces: chunks of HTTP/1.1, back-pressure, and how it ends.

    begin ──► write … write ──► end      the last chunk; the connection goes on with its next request
                     │  └─────► abort    no last chunk: the client sees that something is missing
                     └────────► lost     the client has gone

Source: https://www.rfc-editor.org/rfc/rfc9112#section-7.1
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LAST_CHUNK = b"0\r\n\r\n"


class StreamedBody:
    """Implements ports.Body, on the event loop's thread."""

    def __init__(
        self, transport: asyncio.Transport, done: Callable[[], None], *, is_chunked: bool, is_head: bool
    ) -> None:  # fmt: skip
        """`done` is called after the last piece. A client of HTTP/1.0 knows no chunks: closing ends its body.

        The answer to HEAD has no body, whatever is written.
        """
        self._transport = transport
        self._done = done
        self._is_chunked = is_chunked
        self.is_bare = is_head
        self._is_over = False
        self._changed: asyncio.Future[None] | None = None
        self.is_ready = True
        self.is_stopping = False

    @property
    def is_wanted(self) -> bool:
        """See Body."""
        return not self._is_over and not self._transport.is_closing()

    def write(self, piece: bytes) -> None:
        """See Body. An empty piece is not sent: an empty chunk is the last one."""
        if not piece or self.is_bare or not self.is_wanted:
            return
        self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._is_chunked else piece)

    def end(self) -> None:
        """See Body."""
        if self._is_over:
            return
        if self._is_chunked and not self.is_bare and not self._transport.is_closing():
            self._transport.write(LAST_CHUNK)
        self._is_over = True
        self._done()

    def abort(self) -> None:
        """See Body."""
        if not self._is_over:
            self._is_over = True
            self._transport.abort()

    def changed(self) -> asyncio.Future[None]:
        """See Body."""
        if self._changed is None or self._changed.done():
            self._changed = asyncio.get_running_loop().create_future()
        return self._changed

    # Called by the connection.

    def pause(self) -> None:
        """The client reads more slowly than pieces come."""
        self.is_ready = False

    def resume(self) -> None:
        """The client has read most of what was sent."""
        self.is_ready = True
        self._tell()

    def stop(self) -> None:
        """The server wants to end: whoever writes should come to an end soon."""
        self.is_stopping = True
        self._tell()

    def lose(self) -> None:
        """The client has gone."""
        self._is_over = True
        self._tell()

    def _tell(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)
