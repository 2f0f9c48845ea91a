"""Bodies of objects on their way out: read from the store piece by piece, no faster than their client reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from redrive.core.log import Log
from redrive.delivery.bodies import Content
from redrive.gateway.http.ports import Body, Reply
from redrive.store.bodies import Bodies, BodyReader
from redrive.wire.message import HttpResponse

PIECE_BYTES = 256 * 1024
"""How much is read at once. Each connection holds at most two pieces."""

HOLD_S = 300
"""How often a body that is being read is kept from being deleted: several times within its grace."""

THREADS_MAX = 8


class Pieces:
    """The bytes of a content, one piece after another. One thread at a time uses it."""

    def __init__(self, bodies: Bodies, content: Content) -> None:
        self._bodies = bodies
        self._ranges = _ranges(content)
        self._reader: BodyReader | None = None
        self._body_id = ""

    def next(self) -> bytes:
        """The next piece; empty after the last one. Errors: BodyGone, and those of the disk or the database."""
        for body_id, first, size in self._ranges:
            if self._reader is None or body_id != self._body_id:
                self.close()
                self._reader, self._body_id = self._bodies.open(body_id), body_id
            return self._reader.read(first, size)
        return b""

    def close(self) -> None:
        """Read no more."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def read_content(bodies: Bodies, content: Content) -> bytes:
    """All bytes of a content, for callers who hold whole answers in memory."""
    pieces = Pieces(bodies, content)
    try:
        return b"".join(iter(pieces.next, b""))
    finally:
        pieces.close()


class Downloads:
    """Sends contents. Lives on an event loop."""

    def __init__(self, bodies: Bodies, log: Log) -> None:
        self._bodies = bodies
        self._log = log
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="redrive-downloads")

    async def send(
        self, response: HttpResponse, content: Content, reply: Reply, failed: Callable[[Exception], HttpResponse]
    ) -> None:  # fmt: skip
        """Send an answer with its content. `failed` makes the answer if not even the first piece can be read.

        If a later piece cannot be read, the connection is closed: the client sees that something is missing.
        """
        pieces = Pieces(self._bodies, content)
        body: Body | None = None
        try:
            first = await self._read(pieces)
            body = reply.begin(HttpResponse(response.status, response.headers, b""), length=content.size)
            if not body.is_bare:
                await self._send_all(body, first, pieces, content)
            body.end()
        except Exception as error:  # noqa: BLE001 - the caller gets an answer to any exception, or sees its end.
            if body is None:
                reply.send(failed(error))
            else:
                self._log.warning("answer cut off", error=error)
                body.abort()
        finally:
            pieces.close()

    def close(self) -> None:
        """Shut down the threads without waiting for their work."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _send_all(self, body: Body, piece: bytes, pieces: Pieces, content: Content) -> None:
        """Send the pieces. The next one is read while the client takes the one before."""
        loop = asyncio.get_running_loop()
        held_at = loop.time()
        while piece:
            body.write(piece)
            if loop.time() - held_at > HOLD_S:
                held_at = loop.time()
                ids = [segment.body_id for segment in content.segments]
                await loop.run_in_executor(self._threads, self._bodies.hold, ids)
            piece = await self._read(pieces)
            while body.is_wanted and not body.is_ready:
                await body.changed()
            if not body.is_wanted:
                return

    async def _read(self, pieces: Pieces) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._threads, pieces.next)


def _ranges(content: Content) -> Iterator[tuple[str, int, int]]:
    """What to read: the id of a body, the first byte in that body, and how many bytes."""
    skipped, left = content.first, content.size
    for segment in content.segments:
        if skipped >= segment.size:
            skipped -= segment.size
            continue
        at, end = skipped, min(segment.size, skipped + left)
        left -= end - at
        skipped = 0
        while at < end:
            size = min(PIECE_BYTES, end - at)
            yield segment.body_id, segment.first + at, size
            at += size
