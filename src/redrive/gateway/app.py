"""The gateway over HTTP: an ASGI application in front of the chain and the group commit.

request ─► chain.open ─► group commit ─► answer after the commit
                              │ Wait      parked until its topic or its deadline, then asked again
                              │ Outside   performed in a thread, then resumed in a second step
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from redrive.core.clock import Clock, Instant, VirtualClock
from redrive.core.documents import Document
from redrive.delivery.operation import Outside, Wait
from redrive.engine.engine import Engine
from redrive.gateway.admin import Admin
from redrive.gateway.chain import Gateway
from redrive.gateway.waiters import Waiters
from redrive.store.api import Step
from redrive.store.group import Answer, GroupCommit
from redrive.wire.message import HttpRequest, HttpResponse

Message = MutableMapping[str, object]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_BYTES_MAX = 64 * 1024 * 1024
"""More than AWS takes for any request of the services here (Lambda's 50 MB of zip is the largest, as base64)."""

SYNCHRONOUS_INVOCATIONS_MAX = 64

VIRTUAL_WAIT_MS = 1_000
"""How long a long poll lasts while virtual time stands still: long enough for work that is due now to be done."""


class App:
    """The ASGI application: AWS's port, with our own surface under `/_redrive/`."""

    def __init__(self, gateway: Gateway, engine: Engine, group: GroupCommit, admin: Admin, clock: Clock) -> None:
        self._gateway = gateway
        self._engine = engine
        self._group = group
        self._admin = admin
        self._clock = clock
        self._waiters = Waiters()
        self._threads = ThreadPoolExecutor(SYNCHRONOUS_INVOCATIONS_MAX, thread_name_prefix="redrive-invoke")

    def wake_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[frozenset[str]], None]:
        """A listener for commits, callable from any thread, that wakes long polls on this loop."""

        def wake(topics: frozenset[str]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._waiters.wake, topics)

        return wake

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        body = await _read_body(receive)
        if body is None:
            await _send(send, HttpResponse(413, (), b""), method=str(scope["method"]))
            return
        request = _request(scope, body)
        if request.path.startswith("/_redrive/"):
            response = await asyncio.get_running_loop().run_in_executor(None, self._admin.respond, request)
        else:
            response = await self._respond(request)
        await _send(send, response, method=request.method)

    async def _respond(self, request: HttpRequest) -> HttpResponse:
        exchange = self._gateway.open(request)
        if isinstance(exchange, HttpResponse):
            return exchange
        try:
            answer, parked = await self._submit(exchange.step)
            deadline: Instant | None = None
            while isinstance(answer, Wait):
                deadline = answer.until if deadline is None else deadline
                if not await self._wait(answer, parked, deadline):
                    answer = answer.result
                    break
                answer, parked = await self._submit(exchange.step)
            if isinstance(answer, Outside):
                answer = await self._perform(answer)
        except Exception as error:  # noqa: BLE001 - the chain turns whatever was raised into AWS's answer, and logs it.
            return self._gateway.answer(exchange, error)
        return self._gateway.answer(exchange, cast("Document", answer))

    async def _wait(self, wait: Wait, parked: asyncio.Future[None] | None, deadline: Instant) -> bool:
        """Wait until it is worth asking again; False once the deadline has come.

        A virtual clock stands still, so there the deadline is at most a real second away.
        """
        now = self._clock.now()
        if parked is None or now >= deadline:
            return False
        is_virtual = isinstance(self._clock, VirtualClock)
        wait_ms = min(deadline, wait.again_at or deadline) - now
        woken, _ = await asyncio.wait(
            [parked], timeout=(min(wait_ms, VIRTUAL_WAIT_MS) if is_virtual else wait_ms) / 1000
        )
        parked.cancel()
        return bool(woken) or not is_virtual

    async def _perform(self, outside: Outside) -> object:
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(self._threads, self._engine.invoker.invoke, outside.invocation)
        answer, _ = await self._submit(lambda tx: outside.resume(tx, result))
        return answer

    async def _submit(self, step: Step[object]) -> tuple[object, asyncio.Future[None] | None]:
        """Run a step through the group commit. An answer that waits is parked before any later commit is announced."""
        future: asyncio.Future[tuple[object, asyncio.Future[None] | None]] = asyncio.get_running_loop().create_future()

        def answered(result: object) -> None:
            if future.cancelled():
                return
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result((result, self._waiters.park(result.topics) if isinstance(result, Wait) else None))

        self._group.submit(step, answered)
        return await future


def deliver_on(loop: asyncio.AbstractEventLoop) -> Callable[[list[tuple[Answer, object]]], None]:
    """Hands a whole batch of answers to the event loop with one crossing of threads."""

    def deliver(answers: list[tuple[Answer, object]]) -> None:
        loop.call_soon_threadsafe(_answer_all, answers)

    return deliver


def _answer_all(answers: list[tuple[Answer, object]]) -> None:
    for answer, result in answers:
        answer(result)


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body, or None if it is too large."""
    message = await receive()
    body = message.get("body", b"")
    assert isinstance(body, bytes)
    if not message.get("more_body"):
        return body
    pieces, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        piece = message.get("body", b"")
        assert isinstance(piece, bytes)
        size += len(piece)
        if size > BODY_BYTES_MAX:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _request(scope: Message, body: bytes) -> HttpRequest:
    raw_path, query, headers = scope["raw_path"], scope["query_string"], scope["headers"]
    assert isinstance(raw_path, bytes)
    assert isinstance(query, bytes)
    return HttpRequest(
        str(scope["method"]),
        raw_path.decode("latin-1"),
        query.decode("latin-1"),
        {name.decode("latin-1"): value.decode("latin-1") for name, value in headers},  # type: ignore[attr-defined]
        body,
    )


async def _send(send: Send, response: HttpResponse, *, method: str) -> None:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
    headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else response.body})
