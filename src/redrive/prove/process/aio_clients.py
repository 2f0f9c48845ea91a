"""The calls of aiobotocore's clients, on which those of aioboto3 stand: answered as the calls of botocore's clients.

Neither needs to be installed. A call ends without a wait, so coroutines that call at the same time (`asyncio.gather`)
call one after another: each from its beginning to its end, or to its first real wait.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import ModuleType, SimpleNamespace
from typing import Protocol, Self, cast

from botocore.awsrequest import AWSResponse
from botocore.client import BaseClient
from botocore.model import OperationModel
from botocore.response import StreamingBody

from redrive.core.errors import UserError
from redrive.prove.process.imports import taken_over
from redrive.prove.process.surroundings import replaced

Params = Mapping[str, object]


def answered_clients() -> AbstractContextManager[None]:
    """While entered, what answers botocore's clients answers those of aiobotocore. They open no sessions of HTTP."""
    return taken_over({"aiobotocore.client": _clients})


@contextmanager
def _clients(module: ModuleType) -> Iterator[None]:
    kind = module.AioBaseClient

    async def call(client: BaseClient, operation: str, params: Params) -> object:
        given = await _with_body_read(params)
        answer = BaseClient._make_api_call(PlainClient(client), operation, given)  # noqa: SLF001 - it is replaced.
        return _as_awaited(client.meta.service_model.operation_model(operation), answer)

    async def enter(client: BaseClient) -> BaseClient:
        return client

    async def leave(_: BaseClient, *__: object) -> None:
        """Nothing is open."""

    with ExitStack() as stack:
        stack.enter_context(replaced(kind, "_make_api_call", call))
        stack.enter_context(replaced(kind, "__aenter__", enter))
        stack.enter_context(replaced(kind, "__aexit__", leave))
        stack.enter_context(replaced(kind, "close", leave))
        yield


class PlainClient:
    """A client of aiobotocore as one of botocore: its event handlers, which may be coroutines, run at once."""

    def __init__(self, client: BaseClient) -> None:
        meta = client.meta
        self.exceptions = client.exceptions
        self.meta = SimpleNamespace(
            service_model=meta.service_model, region_name=meta.region_name, config=meta.config,
            endpoint_url=meta.endpoint_url, events=_PlainEvents(meta.events),
        )  # fmt: skip


class _Events(Protocol):
    async def emit(self, name: str, /, **told: object) -> object: ...


class _PlainEvents:
    """The events of a client, told to their handlers at once."""

    def __init__(self, events: _Events) -> None:
        self._events = events

    def emit(self, name: str, **told: object) -> object:
        """The answers of the handlers. Errors: UserError if one of them waits."""
        response = told.get("http_response")
        if isinstance(response, AWSResponse):
            told["http_response"] = _awaited_response(response)
        return _at_once(cast("Coroutine[object, None, object]", self._events.emit(name, **told)))


def _at_once(coroutine: Coroutine[object, None, object]) -> object:
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise UserError(
        "An event handler of an aiobotocore client waits for something, and its call cannot be answered here.",
        next_step="Prove the handler without that event handler.",
    )


def _awaited_response(response: AWSResponse) -> AWSResponse:
    """An answer over HTTP whose content is awaited."""
    kind = importlib.import_module("aiobotocore.awsrequest").AioAWSResponse
    made: AWSResponse = kind(response.url, response.status_code, response.headers, response.raw)
    vars(made)["_content"] = response.content
    return made


async def _with_body_read(params: Params) -> Params:
    """The parameters with the bytes of a body that is read, or iterated over, with `await`."""
    body = params.get("Body")
    if hasattr(body, "__aiter__") and not hasattr(body, "read"):
        parts = [part async for part in cast("AsyncIterator[bytes]", body)]
        return {**params, "Body": b"".join(parts)}
    if not hasattr(body, "read"):
        return params
    content = body.read()
    content = await cast("Awaitable[bytes | str]", content) if inspect.isawaitable(content) else content
    return {**params, "Body": content.encode() if isinstance(content, str) else bytes(content)}


def _as_awaited(model: OperationModel, answer: object) -> object:
    """The answer with its streams as those of aiobotocore."""
    if not isinstance(answer, dict) or not (model.has_streaming_output or model.has_event_stream_output):
        return answer
    return {name: _stream(value) if _is_stream(model, name) else value for name, value in answer.items()}


def _is_stream(model: OperationModel, name: str) -> bool:
    member = model.output_shape.members.get(name)
    return member is not None and (
        bool(member.serialization.get("eventstream")) or name == model.output_shape.serialization.get("payload")
    )


def _stream(value: object) -> object:
    if not isinstance(value, StreamingBody):
        return _EventStream(cast("Iterable[object]", value)) if isinstance(value, list) else value
    made: object = importlib.import_module("aiobotocore.response").StreamingBody(_Received(value), None)
    return made


class _EventStream:
    """A stream of events."""

    def __init__(self, events: Iterable[object]) -> None:
        self._events = iter(events)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        for event in self._events:
            return event
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is open."""


class _Content:
    """A body, as aiohttp gives it."""

    def __init__(self, body: StreamingBody) -> None:
        self._body = body
        self._is_at_end = False

    async def read(self, n: int = -1) -> bytes:
        """At most so many bytes; all that are left if the number is negative."""
        part: bytes = self._body.read(None if n < 0 else n)
        self._is_at_end = n < 0 or (n > 0 and not part)
        return part

    def at_eof(self) -> bool:
        """Whether the end was read."""
        return self._is_at_end

    async def readany(self) -> bytes:
        """All that has come."""
        return await self.read()

    async def iter_chunked(self, n: int) -> AsyncIterator[bytes]:
        """Parts of a size."""
        while part := await self.read(n):
            yield part

    async def iter_any(self) -> AsyncIterator[bytes]:
        """All that has come."""
        if part := await self.read():
            yield part


class _Received:
    """What is read of a response of aiohttp."""

    status = 200
    url = ""

    def __init__(self, body: StreamingBody) -> None:
        self.content = _Content(body)
        self.at_eof = self.content.at_eof

    async def read(self) -> bytes:
        """The rest of the body."""
        return await self.content.read()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is open."""

    release = close
