"""The HTTP server under bytes that no client should send: it answers or closes, in order, and others are served on."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest

from redrive.core.clock import VirtualClock
from redrive.gateway.http.server import HttpServer
from redrive.testing.world import START, World
from redrive.wire.message import HttpRequest, HttpResponse
from tests.fuzz.conftest import Cases
from tests.fuzz.values import Draw
from tests.fuzz.work import ending

HANG_S = 20
"""Nothing here takes a second; a test that waits for ever says so instead."""

KNOWN: frozenset[str] = frozenset()
"""Floods that are being mended. Empty but while a mending is under way."""

PLAIN = b"GET /plain?a=b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
REQUESTS = (
    PLAIN,
    b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;a=b\r\nd\r\n0\r\nT: 1\r\n\r\n",
    b"HEAD /head HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /expect HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
    b"GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://host/whole HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 2\r\n\r\n{}",
)
ENDINGS = (
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
)
SMUGGLED = (
    b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \xd9\xa3\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n folded: yes\r\n\r\n",
    b"GET / HTTP/1.1\nHost: x\n\n",
    b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"CONNECT host:443 HTTP/1.1\r\nHost: host:443\r\n\r\n",
)
FLOODS = {
    "tiny chunks": REQUESTS[2].partition(b"3\r\n")[0] + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n",
    "long chunk extension": REQUESTS[2].partition(b"3\r\n")[0] + b"1;" + b"x" * 500_000 + b"\r\nx\r\n0\r\n\r\n",
    "header names": b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(6_000)) + b"\r\n",
    "one header often": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 9_000 + b"\r\n",
    "blank lines": b"\r\n" * 100_000 + PLAIN,
    "trailers": REQUESTS[2].partition(b"3\r\n")[0] + b"0\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
}

AHEAD = {"requests": (PLAIN, 5_000), "upgrades": (REQUESTS[5], 3_000), "bodies": (REQUESTS[2], 3_000)}

Play = Callable[["Served"], Awaitable[None]]


class Served:
    """A server whose requests are numbered as they are begun, a client that stays, and what went wrong."""

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse], draw: Draw | None) -> None:
        self.methods: list[str] = []
        self.mishaps: list[dict[str, Any]] = []
        self._answer = answer
        self._draw = draw

    async def start(self) -> None:
        """Listen, and let the steady client in."""
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self.mishaps.append(context))
        listening = socket.create_server(("127.0.0.1", 0))
        self.address = listening.getsockname()
        self._server = HttpServer(self._handle, VirtualClock(START))
        await self._server.start(listening)
        self._steady = await asyncio.open_connection(*self.address)

    async def stop(self) -> None:
        """Let all go."""
        self._steady[1].close()
        await self._server.stop(grace_s=1)

    async def send(self, pieces: Sequence[bytes]) -> bytes:
        """What is answered to these pieces, after which the client sends no more, until the server closes."""
        reader, writer = await asyncio.open_connection(*self.address)
        answered = asyncio.ensure_future(reader.read())
        try:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            writer.write_eof()
            return await answered
        except OSError:
            answered.cancel()  # The server closed on a client that was still sending.
            return b""
        finally:
            writer.close()

    async def exchange(self, pieces: Sequence[bytes], count: int) -> bytes:
        """What is answered to these pieces, once so many answers have come."""
        reader, writer = await asyncio.open_connection(*self.address)
        got, seen = bytearray(), 0
        try:
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0)
            while seen < count:
                piece = await reader.read(65_536)
                assert piece, f"closed after {seen} of {count} answers, the last being {bytes(got[-200:])!r}"
                got += piece
                seen = got.count(b"\r\nX-Seq: ") if len(piece) < 65_536 else seen
            return bytes(got)
        finally:
            writer.close()

    async def is_serving(self) -> bool:
        """Whether the steady client is still answered."""
        reader, writer = self._steady
        writer.write(b"GET /steady HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        return head.startswith(b"HTTP/1.1 ")

    def _handle(self, request: HttpRequest, reply: Any) -> None:
        number = len(self.methods)
        self.methods.append(request.method)
        answer = self._answer(request)
        response = HttpResponse(answer.status, (*answer.headers, ("X-Seq", str(number))), answer.body)
        if self._draw is not None and request.path != "/steady" and self._draw.chance(0.3):
            asyncio.get_running_loop().call_later(self._draw.one_of(0, 0.001), reply.send, response)
        else:
            reply.send(response)


def echo(request: HttpRequest) -> HttpResponse:
    """Says what came."""
    return HttpResponse(200, (), f"{request.method} {request.path}".encode("utf-8", "replace") + request.body[:100])


def run(play: Play, answer: Callable[[HttpRequest], HttpResponse] = echo, draw: Draw | None = None) -> None:
    """Play against a server; then the steady client is answered still, and nothing reached the loop's handler."""

    async def main() -> None:
        served = Served(answer, draw)
        async with asyncio.timeout(HANG_S):
            await served.start()
            try:
                await play(served)
                assert await served.is_serving()
            finally:
                await served.stop()
        assert served.mishaps == []

    with asyncio.Runner() as runner, ending():
        runner.run(main())


def answers(raw: bytes, methods: Sequence[str]) -> Iterator[tuple[int, int | None]]:
    """(status, number of the request) of each answer on a connection. Errors: AssertionError for anything else."""
    while raw:
        head, end, raw = raw.partition(b"\r\n\r\n")
        line, *lines = head.split(b"\r\n")
        matched = re.fullmatch(rb"HTTP/1\.1 (\d{3}) .*", line)
        assert matched, f"no answer: {line!r}"
        assert end, f"an answer is cut off in its head: {head!r}"
        status = int(matched[1])
        if status == 100:
            continue
        headers = dict(text.lower().split(b": ", 1) for text in lines)
        number = int(headers[b"x-seq"]) if b"x-seq" in headers else None
        has_body = number is None or methods[number] != "HEAD"
        length = int(headers.get(b"content-length", b"0")) if has_body else 0
        assert len(raw) >= length, "an answer is cut off"
        raw = raw[length:]
        yield status, number


def check_order(raw: bytes, methods: Sequence[str]) -> None:
    """Answers come in the order of their requests, and a refusal comes last."""
    got = list(answers(raw, methods))
    numbers = [number for _, number in got if number is not None]
    assert numbers == sorted(set(numbers)), f"answers out of order: {numbers}"
    assert all(number is not None for _, number in got[:-1]), f"something was answered after a refusal: {got}"


def split(data: bytes, draw: Draw) -> list[bytes]:
    """The bytes in pieces."""
    cuts = sorted(draw.randrange(len(data) + 1) for _ in range(draw.one_of(0, 1, 3, 10)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def test_requests_split_and_sent_ahead_are_all_answered_in_order(cases: Cases) -> None:
    for seed in cases(40):
        draw = Draw(seed)
        sent = [draw.choice(REQUESTS) for _ in range(draw.one_of(1, 2, 5, 20, 40))]

        async def play(served: Served, sent: Sequence[bytes] = sent, draw: Draw = draw) -> None:
            raw = await served.exchange(split(b"".join(sent), draw), len(sent))
            check_order(raw, served.methods)
            assert served.methods == [one.split(b" ", 1)[0].decode() for one in sent]

        run(play, draw=draw)


def test_request_split_at_every_byte_is_answered_the_same() -> None:
    async def play(served: Served) -> None:
        for request in REQUESTS:
            whole = await served.exchange([request], 1)
            for at in range(1, len(request), 7):
                pieces = await served.exchange([request[:at], request[at:]], 1)
                assert pieces.partition(b"X-Seq")[0] == whole.partition(b"X-Seq")[0]

    run(play)


def test_bytes_that_are_no_requests_are_answered_or_the_connection_is_closed(cases: Cases) -> None:
    """However the bytes are broken, what is answered is answers, in order; nobody else notices."""
    world = World()
    whole = (*REQUESTS, *ENDINGS, *SMUGGLED)
    for seed in cases(25):
        draw = Draw(seed)
        answer = draw.one_of(echo, world.gateway.respond)

        async def play(served: Served, draw: Draw = draw) -> None:
            for _ in range(12):
                data = b"".join(draw.choice(whole) for _ in range(draw.one_of(1, 1, 2, 5)))
                data = draw.changed(data, whole) if draw.chance(0.8) else data
                check_order(await served.send(split(data, draw)), served.methods)

        run(play, answer, draw)
    world.close()


@pytest.mark.parametrize("name", sorted(FLOODS.keys() - KNOWN))
def test_flood_is_answered_or_refused_and_others_are_served(name: str) -> None:
    async def play(served: Served) -> None:
        flood = FLOODS[name]
        check_order(await served.send([flood[at : at + 65_536] for at in range(0, len(flood), 65_536)]), served.methods)

    run(play)


@pytest.mark.parametrize("name", sorted(AHEAD.keys() - KNOWN))
def test_thousands_of_requests_sent_ahead_are_all_answered(name: str) -> None:
    async def play(served: Served) -> None:
        request, count = AHEAD[name]
        check_order(await served.exchange([request * count], count), served.methods)
        assert len(served.methods) == count

    run(play)
