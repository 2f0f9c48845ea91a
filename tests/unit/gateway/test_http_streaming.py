"""Answers in pieces: chunks, back-pressure, and how they end. Source: RFC 9112, 7.1."""

from __future__ import annotations

import asyncio

import pytest

from redrive.gateway.http.limits import HttpLimits
from redrive.gateway.http.ports import Body, Reply
from redrive.gateway.http.server import HttpServer
from redrive.wire.message import HttpRequest, HttpResponse
from tests.unit.gateway.test_http import Client, Play, echo, play

__all__ = ["play"]

GET = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = HttpResponse(200, (("X-Seen", "yes"),), b"")


class Streams:
    """Begins an answer to each request, and keeps its body for the test to write."""

    def __init__(self, first: bytes = b"") -> None:
        self._head = HttpResponse(200, HEAD.headers, first)
        self._bodies: asyncio.Queue[Body] = asyncio.Queue()

    def __call__(self, request: HttpRequest, reply: Reply) -> None:
        if request.path == "/echo":
            echo(request, reply)
        else:
            self._bodies.put_nowait(reply.begin(self._head))

    async def next(self) -> Body:
        return await self._bodies.get()


def test_pieces_are_sent_as_they_come_and_the_connection_goes_on(play: Play) -> None:
    streams = Streams(b"first")

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(GET + "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
        body = await streams.next()

        head = await client.head()
        assert await client.exactly(10) == "5\r\nfirst\r\n"
        body.write(b"")
        body.write(b"0123456789abcdef!")
        assert await client.exactly(23) == "11\r\n0123456789abcdef!\r\n"
        body.end()

        assert await client.exactly(5) == "0\r\n\r\n"
        assert (await client.answer())[1] == "GET /echo "
        assert head.endswith("X-Seen: yes\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert not body.is_wanted

    play(streams, scenario)


def test_client_of_http_1_0_reads_until_the_connection_closes(play: Play) -> None:
    streams = Streams()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET /a HTTP/1.0\r\n\r\n")
        body = await streams.next()
        body.write(b"one")
        body.write(b"two")
        body.end()

        head, _, rest = (await client.rest()).partition("\r\n\r\n")
        assert ("Transfer-Encoding" in head, "Connection: close" in head, rest) == (False, True, "onetwo")

    play(streams, scenario)


def test_answer_to_head_has_no_pieces(play: Play) -> None:
    streams = Streams(b"first")

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nGET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
        body = await streams.next()
        body.write(b"second")
        body.end()

        assert "Transfer-Encoding: chunked" in await client.head()
        assert (await client.answer())[1] == "GET /echo "

    play(streams, scenario)


def test_aborted_answer_lacks_its_last_chunk(play: Play) -> None:
    streams = Streams()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(GET)
        body = await streams.next()
        await client.head()
        body.write(b"part")
        await asyncio.sleep(0)
        body.abort()
        body.end()

        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await client.exactly(14)

    play(streams, scenario)


def test_writer_waits_while_the_client_does_not_read(play: Play) -> None:
    streams = Streams()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(GET)
        body = await streams.next()
        pieces = 0
        while body.is_ready and pieces < 10_000:
            body.write(bytes(64 * 1024))
            pieces += 1
            await asyncio.sleep(0)
        assert pieces < 1_000
        assert server.unsent_bytes > 0

        changed = body.changed()
        await client.head()
        reading = asyncio.ensure_future(client.exactly(pieces * (64 * 1024 + 9)))
        await changed
        is_ready_again: bool = body.is_ready
        body.end()
        await reading

        assert (is_ready_again, server.unsent_bytes) == (True, 0)

    play(streams, scenario)


def test_client_that_reads_nothing_for_long_loses_its_answer(play: Play) -> None:
    streams = Streams()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(GET)
        body = await streams.next()
        while body.is_ready:
            body.write(bytes(64 * 1024))
            await asyncio.sleep(0)

        await body.changed()

        assert (body.is_wanted, server.unsent_bytes) == (False, 0)

    play(streams, scenario, HttpLimits(tick_s=0.01, unread_ticks=3))


def test_silence_between_pieces_is_no_timeout(play: Play) -> None:
    streams = Streams()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(GET)
        body = await streams.next()
        await client.head()
        (connection,) = server._connections  # noqa: SLF001 - its ticks are what the test is about.
        for _ in range(10):
            connection.tick()

        body.write(b"late")

        assert await client.exactly(9) == "4\r\nlate\r\n"
        body.end()

    play(streams, scenario, HttpLimits(idle_ticks=2, head_ticks=2))


def test_client_that_leaves_is_noticed_without_a_write(play: Play) -> None:
    streams = Streams()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(GET)
        body = await streams.next()
        changed = body.changed()

        client.leave()
        await changed

        assert not body.is_wanted
        body.write(b"too late")
        body.end()
        assert not server._connections  # noqa: SLF001 - nothing of the connection is left.

    play(streams, scenario)


def test_server_that_ends_lets_a_stream_come_to_its_end(play: Play) -> None:
    streams = Streams()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(GET)
        body = await streams.next()
        changed = body.changed()
        stopping = asyncio.ensure_future(server.stop(grace_s=5))

        await changed
        assert (body.is_stopping, body.is_wanted) == (True, True)
        body.write(b"last")
        body.end()
        await stopping

        assert (await client.rest()).endswith("4\r\nlast\r\n0\r\n\r\n")

    play(streams, scenario)


def test_handler_that_fails_after_it_has_begun_closes_the_connection(play: Play) -> None:
    def handler(request: HttpRequest, reply: Reply) -> None:
        reply.begin(HEAD).write(b"part")
        raise ValueError

    async def scenario(server: HttpServer, client: Client) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        client.send(GET)

        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await client.exactly(1_000)

    play(handler, scenario)
