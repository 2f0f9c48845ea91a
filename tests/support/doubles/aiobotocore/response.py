"""Bodies that are awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any


class StreamingBody:
    """A body over a response of aiohttp."""

    def __init__(self, raw_stream: Any, content_length: str | None) -> None:
        self._raw_stream, self._length = raw_stream, content_length

    async def __aenter__(self) -> Any:
        return await self._raw_stream.__aenter__()

    async def __aexit__(self, *raised: object) -> None:
        await self._raw_stream.__aexit__(*raised)

    async def read(self, amt: int | None = None) -> bytes:
        """At most so many bytes."""
        return bytes(await self._raw_stream.content.read(-1 if amt is None else amt))

    async def iter_chunks(self, chunk_size: int = 1024) -> AsyncIterator[bytes]:
        """Its parts."""
        while part := await self.read(chunk_size):
            yield part
