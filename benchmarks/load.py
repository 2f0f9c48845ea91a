"""A closed loop over keep-alive connections: each sends its next request when the last is answered.

Requests are bytes made beforehand, so that the client's own cost is small and the same for every server.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, cast

import httptools
import uvloop

from benchmarks.processes import CLIENT_CORE, ServerProcess

OK, REDIRECTED = 200, 300


class Script(Protocol):
    """What a load sends. One connection after another asks it for the next request."""

    def next(self, answer: bytes | None) -> bytes | None:
        """The request that follows an answer (None at the beginning), or None when there is no more to do."""
        ...


@dataclass(slots=True)
class Load:
    """What a load did: requests answered, of them with an error, and the latency of each in seconds."""

    seconds: float = 0.0
    server_cpu_s: float = 0.0
    requests: int = 0
    errors: int = 0
    latencies: list[float] = field(default_factory=list)

    @property
    def server_us(self) -> float:
        """The server's own CPU per request, in microseconds."""
        return 1e6 * self.server_cpu_s / max(1, self.requests)

    def latency_ms(self, fraction: float) -> float:
        """The latency that this fraction of the requests did not exceed."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(len(ordered) - 1, int(fraction * len(ordered)))] if ordered else 0.0


class _Connection(asyncio.Protocol):
    """One keep-alive connection; opened again as often as the server closes it."""

    def __init__(
        self, script: Script, load: Load, *, open_one: Callable[[_Connection], None], done: Callable[[], None]
    ) -> None:
        self._script = script
        self._load = load
        self._open = open_one
        self._done = done
        self._request = script.next(None)
        self._body: list[bytes] = []
        self._sent_at = 0.0
        self._transport: asyncio.Transport
        self._parser: httptools.HttpResponseParser
        self._is_open = False
        self._has_head = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpResponseParser(self)
        self._is_open = True
        self._send()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)
        if self._has_head:
            # The parser does not know that an answer to HEAD has no body: it would wait for one.
            self._has_head = False
            parser, self._parser = self._parser, httptools.HttpResponseParser(self)
            self._answered(parser)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_open = False
        if self._request is not None:
            self._open(self)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_headers_complete(self) -> None:
        self._has_head = self._request is not None and self._request.startswith(b"HEAD ")

    def on_message_complete(self) -> None:
        if not self._has_head:
            self._answered(self._parser)

    def _answered(self, parser: httptools.HttpResponseParser) -> None:
        load = self._load
        load.latencies.append(time.perf_counter() - self._sent_at)
        load.requests += 1
        load.errors += not OK <= parser.get_status_code() < REDIRECTED
        body = b"".join(self._body)
        self._body.clear()
        self._request = self._script.next(body)
        if self._request is None or parser.should_keep_alive():
            self._send()
        else:
            self._transport.close()

    def _send(self) -> None:
        if self._request is None:
            self._transport.close()
            self._done()
        else:
            self._sent_at = time.perf_counter()
            self._transport.write(self._request)

    def stop(self) -> None:
        """Send nothing more."""
        self._request = None
        if self._is_open:
            self._transport.close()


def run(server: ServerProcess, script: Script, *, connections: int, seconds: float) -> Load:
    """Load a server until the script is done or the time is over, from a core of its own."""
    os.sched_setaffinity(0, {CLIENT_CORE})
    load = Load()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(server, script, load, connections, seconds))
    return load


async def _run(server: ServerProcess, script: Script, load: Load, connections: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    finished = asyncio.Semaphore(0)
    opening: set[asyncio.Task[object]] = set()

    def open_one(protocol: _Connection) -> None:
        connecting = loop.create_connection(lambda: protocol, "127.0.0.1", server.port)
        task: asyncio.Task[object] = loop.create_task(connecting)
        opening.add(task)
        task.add_done_callback(opening.discard)

    made: list[_Connection] = []
    cpu_s, began = server.cpu_s(), time.perf_counter()
    for _ in range(connections):
        made.append(_Connection(script, load, open_one=open_one, done=finished.release))
        open_one(made[-1])
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for _ in range(connections):
                await finished.acquire()
    load.seconds = time.perf_counter() - began
    load.server_cpu_s = server.cpu_s() - cpu_s
    for protocol in made:
        protocol.stop()
    await asyncio.sleep(0)
