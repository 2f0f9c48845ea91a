"""Answers that go on: streams of events that steps give, and what functions answer while they run.

    EventStream      events ─► step ─► events ─► …          a step at each notification, and when one is due
    StreamedOutside  run in a thread ─► Relay ─► body       each piece is an event
    StreamedWeb      the same                               each piece is a part of a response to a function's URL

While the caller does not read, no step is run and no piece is taken: the function that writes waits. When the caller
has gone, its subscription ends; a function runs on, as AWS lets it, and its pieces are dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, cast

from redrive.core.clock import Clock
from redrive.core.documents import Document
from redrive.delivery.operation import Continuation, EventStream, StreamedOutside
from redrive.delivery.outside.invocation import (
    Invocation,
    InvocationResult,
    InvocationStatus,
    Invoker,
    invoke_streaming,
)
from redrive.delivery.web import StreamedWeb, WebAnswer
from redrive.gateway.chain import Exchange, Gateway
from redrive.gateway.function_urls import UrlExchange
from redrive.gateway.http.ports import Body, Reply
from redrive.store.api import Step, Transaction
from redrive.wire.protocols.codec import OpenedStream

Parked = asyncio.Future[None]
Submit = Callable[[Step[object]], Awaitable[tuple[object, "Parked | None"]]]
"""Runs a step through the group commit; what an answer waits for is parked before any later commit is announced."""

PIECES_BYTES_MAX = 256 * 1024
"""How much of a function's answer may wait for its caller before the function has to wait."""

VIRTUAL_LOOK_S = 1
"""How often, in real time, a stream looks whether virtual time has come to its next event."""


class Relay:
    """A ResponseStream that hands pieces from the thread of a run to the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[str | bytes | None] = asyncio.Queue()
        # Each of the two is written by one thread only.
        self._bytes_in = 0
        self._bytes_out = 0
        self._is_dropping = False

    @property
    def is_full(self) -> bool:
        """See ResponseStream."""
        return self._bytes_in - self._bytes_out > PIECES_BYTES_MAX and not self._is_dropping

    def begin(self, content_type: str) -> None:
        """See ResponseStream."""
        self._loop.call_soon_threadsafe(self._items.put_nowait, content_type)

    def write(self, piece: bytes) -> None:
        """See ResponseStream."""
        self._bytes_in += len(piece)
        if not self._is_dropping:
            self._loop.call_soon_threadsafe(self._items.put_nowait, piece)

    def finish(self) -> None:
        """The run has ended. Called on the loop."""
        self._items.put_nowait(None)

    def drop(self) -> None:
        """Nobody wants further pieces."""
        self._is_dropping = True

    async def next(self) -> str | bytes | None:
        """The content type, then each piece, then None."""
        item = await self._items.get()
        if isinstance(item, bytes):
            self._bytes_out += len(item)
        return item


class _Sender(Protocol):
    """What becomes of a function's answer."""

    body: Body | None

    def begin(self, content_type: str) -> None: ...

    def write(self, piece: bytes) -> None: ...

    def finish(self, answer: object, result: InvocationResult | None) -> None: ...


class Streamer:
    """Sends answers that go on, for an App. Lives on its event loop."""

    def __init__(
        self, gateway: Gateway, invoker: Invoker, clock: Clock, *, submit: Submit, threads: ThreadPoolExecutor
    ) -> None:  # fmt: skip
        self._gateway = gateway
        self._invoker = invoker
        self._clock = clock
        self._submit = submit
        self._threads = threads

    async def follow(self, exchange: Exchange, reply: Reply, stream: EventStream, parked: Parked | None) -> None:
        """Send the events of a stream until its end, the caller's, or the server's."""
        try:
            opened = self._gateway.open_stream(exchange, stream.members)
        except Exception as error:  # noqa: BLE001 - the caller gets an answer to any exception, and the log records it.
            _leave(parked)
            reply.send(self._gateway.answer(exchange, error))
            return
        body = reply.begin(opened.head)
        more = stream.more
        try:
            for event in stream.events:
                body.write(opened.events.event(event))
            while more is not None and await self._is_due(body, more, parked):
                _leave(parked)
                answer, parked = await self._submit(more.resume)
                if not isinstance(answer, EventStream):
                    self._end_by(exchange, body, opened, answer)
                    return
                more = answer.more
                for event in answer.events:
                    body.write(opened.events.event(event))
            body.end()
            if more is not None:
                await self._submit(more.leave)
        except Exception as error:  # noqa: BLE001 - the stream ends with any exception as an event.
            self._end_by(exchange, body, opened, error)
        finally:
            _leave(parked)

    async def run(self, exchange: Exchange, reply: Reply, streamed: StreamedOutside) -> None:
        """Run a function, and send its answer as events."""
        sender = _EventSender(self._gateway, exchange, reply, streamed)
        await self._pass_on(sender, streamed.invocation, streamed.resume)

    async def run_url(self, exchange: UrlExchange, reply: Reply, streamed: StreamedWeb) -> None:
        """Run a function, and send its answer as a response to its URL."""
        sender = _WebSender(self._gateway, exchange, reply, streamed)
        await self._pass_on(sender, streamed.invocation, streamed.resume)

    async def _pass_on(
        self, sender: _Sender, invocation: Invocation,
        resume: Callable[[Transaction, InvocationResult], object],
    ) -> None:  # fmt: skip
        relay = Relay()
        result: InvocationResult | None = None
        try:
            loop = asyncio.get_running_loop()
            running = loop.run_in_executor(self._threads, invoke_streaming, self._invoker, invocation, relay)
            running.add_done_callback(lambda _: relay.finish())
            while (item := await relay.next()) is not None:
                if isinstance(item, str):
                    sender.begin(item)
                else:
                    sender.write(item)
                if sender.body is not None and not await _is_wanted(sender.body):
                    relay.drop()
            result = ended = await running
            answer, _ = await self._submit(lambda tx: resume(tx, ended))
        except Exception as error:  # noqa: BLE001 - as in follow.
            answer = error
        finally:
            relay.drop()
        sender.finish(answer, result)

    async def _is_due(self, body: Body, more: Continuation, parked: Parked | None) -> bool:
        """Wait until further events may have come; False once the caller has gone or the server ends."""
        while await _is_wanted(body) and not body.is_stopping:
            wait_ms = more.again_at - self._clock.now()
            if wait_ms <= 0 or (parked is not None and parked.done()):
                return True
            wait_s = min(wait_ms / 1000, VIRTUAL_LOOK_S) if self._clock.is_virtual else wait_ms / 1000
            awaited = [body.changed()] if parked is None else [body.changed(), parked]
            await asyncio.wait(awaited, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        return False

    def _end_by(self, exchange: Exchange, body: Body, opened: OpenedStream, answer: object) -> None:
        body.write(opened.events.error(self._gateway.error_of(exchange, answer)))
        body.end()


class _EventSender:
    """Sends a function's answer as events."""

    def __init__(self, gateway: Gateway, exchange: Exchange, reply: Reply, streamed: StreamedOutside) -> None:
        self._gateway = gateway
        self._exchange = exchange
        self._reply = reply
        self._streamed = streamed
        self._opened: OpenedStream | None = None
        self.body: Body | None = None

    def begin(self, content_type: str) -> None:
        """Send the head."""
        self._open()

    def write(self, piece: bytes) -> None:
        """Send one event."""
        body, opened = self._open()
        body.write(opened.events.event(self._streamed.event_of(piece)))

    def finish(self, answer: object, result: InvocationResult | None) -> None:
        """Send the events after the run; refuse the call if it failed before it began to answer."""
        if self.body is None and not isinstance(answer, EventStream):
            self._reply.send(self._gateway.answer(self._exchange, cast("BaseException", answer)))
            return
        body, opened = self._open()
        if isinstance(answer, EventStream):
            for event in answer.events:
                body.write(opened.events.event(event))
        else:
            body.write(opened.events.error(self._gateway.error_of(self._exchange, answer)))
        body.end()

    def _open(self) -> tuple[Body, OpenedStream]:
        if self._opened is None or self.body is None:
            self._opened = self._gateway.open_stream(self._exchange, self._streamed.members)
            self.body = self._reply.begin(self._opened.head)
        return self.body, self._opened


class _WebSender:
    """Sends a function's answer as a response to the request at its URL."""

    def __init__(self, gateway: Gateway, exchange: UrlExchange, reply: Reply, streamed: StreamedWeb) -> None:
        self._gateway = gateway
        self._exchange = exchange
        self._reply = reply
        self._pieces = streamed.pieces
        self.body: Body | None = None

    def begin(self, content_type: str) -> None:
        """Note the type. The head is sent when it is known."""
        self._pieces.begin(content_type)

    def write(self, piece: bytes) -> None:
        """Send what is of the body."""
        self._send(*self._pieces.feed(piece))

    def finish(self, answer: object, result: InvocationResult | None) -> None:
        """End the response. One that has begun and failed is cut off, as on AWS; one that has not begun is refused."""
        is_complete = result is not None and result.is_streamed and result.status is InvocationStatus.OK
        if is_complete and not isinstance(answer, BaseException):
            self._send(*self._pieces.end())
        if self.body is None:
            self._reply.send(self._gateway.answer(self._exchange, cast("Document | BaseException", answer)))
        elif is_complete:
            self.body.end()
        else:
            self.body.abort()

    def _send(self, head: WebAnswer | None, piece: bytes) -> None:
        if head is not None:
            self.body = self._reply.begin(self._exchange.response({**head, "Body": piece}))
        elif self.body is not None:
            self.body.write(piece)


def _leave(parked: Parked | None) -> None:
    """Wait for no topic any more."""
    if parked is not None:
        parked.cancel()


async def _is_wanted(body: Body) -> bool:
    """Wait until the caller has read most of what was written; False if the caller has gone."""
    while body.is_wanted and not body.is_ready:
        await body.changed()
    return body.is_wanted


def topics_of(answer: object) -> tuple[str, ...] | None:
    """The topics of whose notification a stream wants to hear; None for an answer that waits for none."""
    return answer.more.topics if isinstance(answer, EventStream) and answer.more is not None else None
