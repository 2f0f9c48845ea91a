"""An answer in the form that aiobotocore receives from aiohttp or httpx. Imported only if aiobotocore is in use."""

from __future__ import annotations

import importlib
import io
from collections.abc import AsyncIterator
from typing import Any, Self

from botocore.awsrequest import AWSPreparedRequest

from redrive.wire.message import HttpResponse


def aio_response_to(request: AWSPreparedRequest, response: HttpResponse) -> object:
    """The answer to a request, as aiobotocore's own HTTP session returns it."""
    raw = _Raw(str(request.url), response)
    kind: Any = importlib.import_module("aiobotocore.awsrequest").AioAWSResponse
    return kind(raw.url, response.status, raw.headers, raw)


class _Raw:
    """The part of aiohttp's and of httpx's response that aiobotocore uses."""

    def __init__(self, url: str, response: HttpResponse) -> None:
        self.url = url
        self.status = self.status_code = response.status
        self.headers = dict(response.headers)
        self.raw_headers = [(name.encode(), value.encode()) for name, value in response.headers]
        self.content = self
        self._body = io.BytesIO(response.body)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def read(self, amount: int = -1) -> bytes:
        """This many bytes of the body; all the rest by default."""
        return self._body.read(amount)

    async def aread(self) -> bytes:
        """As `read`, under httpx's name."""
        return await self.read()

    async def aiter_raw(self, chunk_size: int = 65_536) -> AsyncIterator[bytes]:
        """The body in pieces, under httpx's name."""
        while piece := await self.read(chunk_size):
            yield piece

    def at_eof(self) -> bool:
        """Whether the whole body has been read."""
        return self._body.tell() == len(self._body.getbuffer())

    def close(self) -> None:
        """Close the body."""

    release = close

    async def aclose(self) -> None:
        """As `close`, under httpx's name."""
