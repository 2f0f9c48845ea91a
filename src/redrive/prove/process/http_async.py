"""Requests over HTTP by libraries with connections of their own: httpcore, on which httpx stands, and aiohttp.

Neither needs to be installed. A library is taken over when the user's code imports it, or at once if it is imported.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Protocol, cast

from redrive.prove.process.exchange import HttpAnswer, HttpAsk, HttpAsked, asked_of
from redrive.prove.process.imports import TakeOver, taken_over
from redrive.prove.process.surroundings import replaced

_Take = Callable[[ModuleType, HttpAsk], AbstractContextManager[None]]


@contextmanager
def answered_libraries(ask: HttpAsk) -> Iterator[None]:
    """While entered, `ask` answers the requests of httpcore and aiohttp."""

    def bound(take: _Take) -> TakeOver:
        return lambda module: take(module, ask)

    with taken_over({name: bound(take) for name, take in _TAKEN_OVER.items()}):
        yield


class _CoreUrl(Protocol):
    scheme: bytes
    host: bytes
    port: int | None
    target: bytes


class _CoreRequest(Protocol):
    """What is read of a request of httpcore."""

    method: bytes
    url: _CoreUrl
    headers: Sequence[tuple[bytes, bytes]]
    stream: object


@contextmanager
def _httpcore(module: ModuleType, ask: HttpAsk) -> Iterator[None]:
    """All its pools, those of proxies included, pass their requests on here."""

    def respond(request: _CoreRequest, body: bytes) -> object:
        try:
            answer = ask(_asked_of_core(request, body))
        except ConnectionRefusedError as error:
            raise module.ConnectError(str(error)) from error
        except TimeoutError as error:
            raise module.ReadTimeout(str(error)) from error
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.framed_headers]
        return module.Response(answer.status, headers=headers, content=answer.body)

    def handle(_: object, request: _CoreRequest) -> object:
        return respond(request, b"".join(cast("Iterable[bytes]", request.stream)))

    async def handle_async(_: object, request: _CoreRequest) -> object:
        parts = [part async for part in cast("AsyncIterable[bytes]", request.stream)]
        return respond(request, b"".join(parts))

    with (
        replaced(module.ConnectionPool, "handle_request", handle),
        replaced(module.AsyncConnectionPool, "handle_async_request", handle_async),
    ):
        yield


def _asked_of_core(request: _CoreRequest, body: bytes) -> HttpAsked:
    url = request.url
    scheme, host = url.scheme.decode(), url.host.decode()
    port = url.port or {"http": 80, "https": 443}[scheme]
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in request.headers}
    return asked_of(request.method.decode(), scheme, f"{host}:{port}", url.target.decode("latin-1"), headers, body)


class _AioUrl(Protocol):
    scheme: str
    authority: str
    raw_path_qs: str
    port: int | None


class _AioRequest(Protocol):
    """What is read of a request of aiohttp."""

    method: str
    url: _AioUrl
    headers: Iterable[str]
    body: object
    connection_key: object
    loop: asyncio.AbstractEventLoop


class _Payload(Protocol):
    async def write(self, writer: _Collector) -> None: ...


class _Collector:
    """Collects what a payload writes."""

    def __init__(self) -> None:
        self.body = b""

    async def write(self, part: bytes) -> None:
        """Take a part."""
        self.body += bytes(part)


@contextmanager
def _aiohttp(module: ModuleType, ask: HttpAsk) -> Iterator[None]:
    """Its connectors give out connections that are answered before the request is written to them."""

    async def connect(connector: object, request: _AioRequest, *_: object, **__: object) -> object:
        asked = await _asked_of_aio(request)
        try:
            answer = ask(asked)
        except ConnectionRefusedError as error:
            raise module.ClientConnectorError(request.connection_key, error) from error
        except TimeoutError as error:
            raise module.ServerTimeoutError(str(error)) from error
        return _answered(module, connector, request, answer)

    with replaced(module.connector.BaseConnector, "connect", connect):
        yield


async def _asked_of_aio(request: _AioRequest) -> HttpAsked:
    body, collector = request.body, _Collector()
    if hasattr(body, "write"):
        await cast("_Payload", body).write(collector)
    url = request.url
    headers = {str(name).lower(): str(value) for name, value in request.headers.items()}  # type: ignore[attr-defined]
    collected = collector.body or (body if isinstance(body, bytes) else b"")
    host = url.authority if url.port is None or ":" in url.authority else f"{url.authority}:{url.port}"
    return asked_of(request.method, url.scheme, host.rpartition("@")[2], url.raw_path_qs, headers, collected)


def _answered(module: ModuleType, connector: object, request: _AioRequest, answer: HttpAnswer) -> object:
    """A connection that has the whole answer already; what is written to it is dropped."""
    loop = asyncio.get_running_loop()
    protocol = module.client_proto.ResponseHandler(loop)
    protocol.connection_made(_Nowhere(protocol))
    protocol.data_received(answer.wire)
    return module.connector.Connection(connector, request.connection_key, protocol, loop)


class _Nowhere(asyncio.Transport):
    """Drops what is written."""

    def __init__(self, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self._protocol = protocol
        self._is_closed = False

    def write(self, data: object) -> None:
        """Drop it."""

    def writelines(self, list_of_data: object) -> None:
        """Drop them."""

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._is_closed = True

    def abort(self) -> None:
        self._is_closed = True

    def pause_reading(self) -> None:
        """The answer is there already."""

    def resume_reading(self) -> None:
        """The answer is there already."""


_TAKEN_OVER: dict[str, _Take] = {
    "aiohttp": _aiohttp, "httpcore": _httpcore,
}  # fmt: skip
