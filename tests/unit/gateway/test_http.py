"""HTTP as our server speaks it: framing, order, limits, and endings. Source: RFC 9110 and RFC 9112."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest
import uvloop

from redrive.core.clock import VirtualClock, parse_instant
from redrive.gateway.http.limits import BODY_BYTES_MAX, FIELDS_MAX, HEAD_BYTES_MAX, HttpLimits, limits_of_process
from redrive.gateway.http.ports import Handler, Reply
from redrive.gateway.http.server import HttpServer
from redrive.wire.message import HttpRequest, HttpResponse

NOW = parse_instant("2026-11-20T12:00:00Z")
TIMEOUT_S = 10

QUICK = HttpLimits()
CHUNKED = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = "Connection: Upgrade\r\nUpgrade: h2c\r\n"


class Client:
    """A socket, and the answers read from it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, listening: socket.socket) -> None:
        self._reader = reader
        self._writer = writer
        self._listening = listening
        self._others: list[Client] = []

    @classmethod
    async def of(cls, listening: socket.socket) -> Client:
        """A new connection to what listens there."""
        return cls(*await asyncio.open_connection(*listening.getsockname()), listening)

    async def another(self) -> Client:
        """A further connection to the same server."""
        self._others.append(await Client.of(self._listening))
        return self._others[-1]

    @property
    def server(self) -> tuple[str, int]:
        """The address of the server."""
        host, port = self._listening.getsockname()
        return host, port

    def send(self, text: str) -> None:
        self._writer.write(text.encode("latin-1"))

    async def flush(self) -> None:
        """Wait until the server has taken most of what was sent."""
        await self._writer.drain()

    def leave(self) -> None:
        for client in (self, *self._others):
            client._writer.close()  # noqa: SLF001 - a client of this class

    async def head(self) -> str:
        return (await self._reader.readuntil(b"\r\n\r\n")).decode()

    async def answer(self) -> tuple[str, str]:
        """Status line and body of the next answer."""
        head = await self.head()
        length = int(head.lower().partition("content-length: ")[2].partition("\r\n")[0])
        return head.partition("\r\n")[0], (await self._reader.readexactly(length)).decode()

    async def exactly(self, length: int) -> str:
        """As many characters as that."""
        return (await self._reader.readexactly(length)).decode()

    async def rest(self) -> str:
        """What comes until the server closes the connection."""
        return (await self._reader.read()).decode()


Scenario = Callable[[HttpServer, Client], Awaitable[None]]


class Play(Protocol):
    """Runs a scenario against a server with a handler."""

    def __call__(self, handler: Handler, scenario: Scenario, limits: HttpLimits = ...) -> None: ...


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def play(request: pytest.FixtureRequest) -> Play:
    """Runs a scenario against a server with this handler, on each kind of loop that we serve on."""

    async def run(handler: Handler, scenario: Scenario, limits: HttpLimits) -> None:
        server = HttpServer(handler, VirtualClock(NOW), limits)
        listening = socket.create_server(("127.0.0.1", 0))
        await server.start(listening)
        client = await Client.of(listening)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await scenario(server, client)
        finally:
            client.leave()
            await server.stop(grace_s=TIMEOUT_S)

    def play_on_loop(handler: Handler, scenario: Scenario, limits: HttpLimits = QUICK) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(run(handler, scenario, limits))

    return play_on_loop


def echo(request: HttpRequest, reply: Reply) -> None:
    """Answers with what came."""
    reply.send(HttpResponse(200, (("X-Seen", "yes"),), f"{request.method} {request.path} ".encode() + request.body))


class Slow:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.held: list[tuple[HttpRequest, Reply]] = []
        self.came = asyncio.Event()

    def __call__(self, request: HttpRequest, reply: Reply) -> None:
        self.held.append((request, reply))
        self.came.set()

    async def next(self) -> tuple[HttpRequest, Reply]:
        await self.came.wait()
        self.came.clear()
        return self.held.pop()


def test_answer_has_status_date_headers_and_length(play: Play) -> None:
    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")

        assert await client.head() == (
            "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\nX-Seen: yes\r\nContent-Length: 7\r\n\r\n"
        )

    play(echo, scenario)


def test_path_query_and_header_names_are_handed_on(play: Play) -> None:
    seen: list[HttpRequest] = []

    def handler(request: HttpRequest, reply: Reply) -> None:
        seen.append(request)
        echo(request, reply)

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("PUT /a%20b?c=d&e HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nx-two: 2\r\nContent-Length: 2\r\n\r\nhi")
        await client.answer()

    play(handler, scenario)
    assert seen == [HttpRequest("PUT", "/a%20b", "c=d&e", {"host": "x", "x-two": "1, 2", "content-length": "2"}, b"hi")]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")
def test_request_says_from_which_address_it_came(play: Play) -> None:
    seen: list[str] = []

    def handler(request: HttpRequest, reply: Reply) -> None:
        seen.append(request.source_ip)
        echo(request, reply)

    async def scenario(server: HttpServer, client: Client) -> None:
        with socket.socket() as elsewhere:
            elsewhere.bind(("127.0.0.2", 0))
            elsewhere.setblocking(False)
            await asyncio.get_running_loop().sock_connect(elsewhere, client.server)
            reader, writer = await asyncio.open_connection(sock=elsewhere)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readline()
            writer.close()
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.answer()

    play(handler, scenario)
    assert seen == ["127.0.0.2", "127.0.0.1"]


def test_whole_url_as_target_means_its_path(play: Play) -> None:
    """Proxies send absolute URLs. Source: RFC 9112, 3.2.2."""

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET http://sqs.us-east-1.amazonaws.com/a/b HTTP/1.1\r\nHost: x\r\n\r\n")

        assert (await client.answer())[1] == "GET /a/b "

    play(echo, scenario)


def test_request_may_come_in_pieces(play: Play) -> None:
    async def scenario(server: HttpServer, client: Client) -> None:
        for character in "POST /long/path HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello":
            client.send(character)
            await asyncio.sleep(0)

        assert (await client.answer())[1] == "POST /long/path hello"

    play(echo, scenario)


def test_chunked_body_is_put_together(play: Play) -> None:
    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")

        assert (await client.answer())[1] == "POST / abcde"

    play(echo, scenario)


def test_requests_sent_ahead_are_answered_in_order(play: Play) -> None:
    """More of them than are read ahead, and one with a body."""
    slow = Slow()

    async def scenario(server: HttpServer, client: Client) -> None:
        for number in range(100):
            client.send(f"POST /{number} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n.")
        for _ in range(100):
            echo(*await slow.next())

        assert [(await client.answer())[1] for _ in range(100)] == [f"POST /{number} ." for number in range(100)]

    play(slow, scenario)


def test_continue_is_told_to_those_who_wait_for_it(play: Play) -> None:
    """Source: RFC 9110, 10.1.1."""

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("PUT /big HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        assert await client.head() == "HTTP/1.1 100 Continue\r\n\r\n"

        client.send("abc")

        assert (await client.answer())[1] == "PUT /big abc"

    play(echo, scenario)


def test_head_gets_the_length_and_no_body(play: Play) -> None:
    """Source: RFC 9110, 9.3.2."""

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        rest = await client.rest()
        assert "Content-Length: 8\r\n" in rest
        assert rest.endswith("\r\n\r\n")

    play(echo, scenario)


def test_no_content_has_no_length(play: Play) -> None:
    """Source: RFC 9110, 8.6."""

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("DELETE / HTTP/1.1\r\nHost: x\r\n\r\n")

        assert "content-length" not in (await client.head()).lower()

    play(lambda _, reply: reply.send(HttpResponse(204, (), b"")), scenario)


@pytest.mark.parametrize("head", ["GET / HTTP/1.1\r\nHost: x\r\nConnection: close", "GET / HTTP/1.0\r\nHost: x"])
def test_connection_is_closed_for_those_who_want_it_closed(play: Play, head: str) -> None:
    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(head + "\r\n\r\n")

        assert "\r\nConnection: close\r\n" in await client.rest()

    play(echo, scenario)


def test_wish_for_another_protocol_is_ignored(play: Play) -> None:
    """curl and the SDK for Java ask for HTTP/2 so. Source: RFC 9110, 7.8."""

    async def scenario(server: HttpServer, client: Client) -> None:
        upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
        client.send(f"GET /a HTTP/1.1\r\nHost: x\r\n{upgrade}\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n")

        assert [(await client.answer())[1] for _ in range(2)] == ["GET /a ", "GET /b "]

    play(echo, scenario)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("nonsense\r\n\r\n", "400 Bad Request"),
        (f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {BODY_BYTES_MAX + 1}\r\n\r\n", "413 "),
        ("GET / HTTP/1.1\r\nX-Long: " + "x" * HEAD_BYTES_MAX, "431 "),
        ("GET /" + "x" * HEAD_BYTES_MAX, "431 "),
    ],
)
def test_what_cannot_be_read_is_refused_and_never_handled(play: Play, sent: str, status: str) -> None:
    handled: list[HttpRequest] = []

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(sent)

        head = await client.head()
        assert head.startswith(f"HTTP/1.1 {status}")
        assert "\r\nConnection: close\r\n" in head

    play(lambda request, _: handled.append(request), scenario)
    assert handled == []


def test_refusal_waits_for_the_answers_before_it(play: Play) -> None:
    slow = Slow()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n")
        echo(*await slow.next())

        assert (await client.answer())[1] == "GET /a "
        assert (await client.head()).startswith("HTTP/1.1 400 ")

    play(slow, scenario)


def test_handler_that_fails_is_an_internal_error_and_the_connection_goes_on(play: Play) -> None:
    def handler(request: HttpRequest, reply: Reply) -> None:
        if request.path == "/fail":
            raise LookupError("as the test wants")
        echo(request, reply)

    async def scenario(server: HttpServer, client: Client) -> None:
        reported: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
        client.send("GET /fail HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n")

        status, body = await client.answer()
        assert status == "HTTP/1.1 500 Internal Server Error"
        assert json.loads(body)["__type"] == "InternalFailure"
        assert await client.answer() == ("HTTP/1.1 200 OK", "GET /b ")
        assert [type(error) for error in reported] == [LookupError]

    play(handler, scenario)


def test_caller_who_has_gone_is_not_wanted_an_answer_for(play: Play) -> None:
    slow = Slow()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        _, reply = await slow.next()
        was_wanted = reply.is_wanted

        client.leave()
        while reply.is_wanted:  # noqa: ASYNC110 - a connection that has ended tells nobody.
            await asyncio.sleep(0)

        assert was_wanted
        reply.send(HttpResponse(200, (), b"too late"))

    play(slow, scenario)


def test_stopping_server_answers_what_is_under_way_and_closes(play: Play) -> None:
    slow = Slow()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        request, reply = await slow.next()
        stopping = asyncio.create_task(server.stop(grace_s=TIMEOUT_S))
        await asyncio.sleep(0)
        echo(request, reply)

        assert (await client.rest()).endswith("GET /a ")
        await stopping

    play(slow, scenario)


def test_stopping_server_closes_idle_connections(play: Play) -> None:
    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.answer()

        await server.stop(grace_s=TIMEOUT_S)

        assert await client.rest() == ""

    play(echo, scenario)


@pytest.mark.parametrize(
    "framing", ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]
)
def test_body_of_a_request_that_wishes_another_protocol_is_its_body(play: Play, framing: str) -> None:
    """Java's client posts so. The body was once taken for the next request, which let one hide in it."""

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(f"POST /a HTTP/1.1\r\nHost: x\r\n{UPGRADE}{framing}GET /b HTTP/1.1\r\nHost: x\r\n\r\n")

        assert [(await client.answer())[1] for _ in range(2)] == ["POST /a hello", "GET /b "]

    play(echo, scenario)


def test_thousands_of_wishes_for_another_protocol_are_all_answered(play: Play) -> None:
    """Each once took a level of recursion, and those beyond the limit were lost."""

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(f"GET / HTTP/1.1\r\nHost: x\r\n{UPGRADE}\r\n" * 3_000)

        assert [(await client.answer())[0] for _ in range(3_000)] == ["HTTP/1.1 200 OK"] * 3_000

    play(echo, scenario)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET http://me@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc", 400),
        (f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {'0' * 5_000}3\r\n\r\nabc", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        ("POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
        (f"{CHUNKED}0x3\r\nabc\r\n0\r\n\r\n", 400),
        (f"{CHUNKED}-1\r\nabc\r\n0\r\n\r\n", 400),
        (f"{CHUNKED}3\nabc\r\n0\r\n\r\n", 400),
        (f"{CHUNKED}fffffffffffffffff\r\nabc", 400),
        (f"{CHUNKED}3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: x\n\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\n" + "".join(f"X-{n}: y\r\n" for n in range(FIELDS_MAX)) + "\r\n", 431),
        ("GET / HTTP/1.1\r\nHost: x\r\n" + "X: y\r\n" * (FIELDS_MAX + 2) + "\r\n", 431),
        (f"{CHUNKED}1\r\na\r\n0\r\n" + "X: y\r\n" * (FIELDS_MAX + 2), 431),
        (f"{CHUNKED}1\r\na\r\n0\r\nX: " + "y" * (HEAD_BYTES_MAX + 40_000), 431),
        (f"{CHUNKED}1;" + "y" * (HEAD_BYTES_MAX + 40_000), 431),
    ],
)  # fmt: skip
def test_what_two_readers_could_read_as_two_things_is_refused(play: Play, sent: str, status: int) -> None:
    """Ambiguous framing, and heads and trailers without end. Source: RFC 9112, 3.2, 6.1, 6.3 and 7.1."""
    handled: list[HttpRequest] = []

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(sent)

        assert (await client.head()).startswith(f"HTTP/1.1 {status} ")

    play(lambda request, _: handled.append(request), scenario)
    assert handled == []


def test_trailers_are_no_headers(play: Play) -> None:
    """Source: RFC 9110, 6.5.1."""
    seen: list[HttpRequest] = []

    def handler(request: HttpRequest, reply: Reply) -> None:
        seen.append(request)
        echo(request, reply)

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(f"{CHUNKED}3\r\nabc\r\n0\r\nX-Amz-Target: a\r\nHost: evil\r\n\r\n")

        assert (await client.answer())[1] == "POST / abc"

    play(handler, scenario)
    assert seen[0].headers == {"host": "x", "transfer-encoding": "chunked"}


def test_host_of_a_whole_url_is_the_host(play: Play) -> None:
    """Whoever judges by the host judges by what the target names. Source: RFC 9112, 3.2.2."""
    seen: list[str] = []

    def handler(request: HttpRequest, reply: Reply) -> None:
        seen.append(request.headers["host"])
        echo(request, reply)

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET http://evil.example:81/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await client.answer()

    play(handler, scenario)
    assert seen == ["evil.example:81"]


def test_unfinished_bodies_of_all_connections_have_a_limit_together(play: Play) -> None:
    async def scenario(server: HttpServer, client: Client) -> None:
        other = await client.another()
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n" + "." * 600)
        await client.flush()
        while server.held_bytes < 600:  # noqa: ASYNC110 - bytes that have arrived tell nobody.
            await asyncio.sleep(0)

        other.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n" + "." * 600)

        assert (await other.answer())[0].startswith("HTTP/1.1 503 ")
        client.send("." * 300)
        assert (await client.answer())[0] == "HTTP/1.1 200 OK"
        assert server.held_bytes == 0

    play(echo, scenario, HttpLimits(held_bytes=1_000))


def test_bodies_sent_ahead_count_as_well(play: Play) -> None:
    slow = Slow()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\n\r\n".replace("600", "1") + ".")
        client.send(("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\n\r\n" + "." * 600) * 2)
        echo(*await slow.next())
        echo(*await slow.next())

        statuses = [(await client.answer())[0] for _ in range(3)]
        assert statuses == ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 503 Service Unavailable"]
        assert server.held_bytes == 0

    play(slow, scenario, HttpLimits(held_bytes=1_000))


def test_connection_that_is_lost_gives_back_what_it_held(play: Play) -> None:
    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n" + "." * 600)
        while server.held_bytes < 600:  # noqa: ASYNC110 - as above.
            await asyncio.sleep(0)

        client.leave()

        while server.held_bytes:  # noqa: ASYNC110 - as above.
            await asyncio.sleep(0)

    play(echo, scenario)


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ("", ""),
        ("GET / HTTP/1.1\r\nHo", "HTTP/1.1 408 "),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", "HTTP/1.1 408 "),
    ],
)
def test_silent_client_is_not_waited_for_without_end(play: Play, sent: str, answer: str) -> None:
    async def scenario(server: HttpServer, client: Client) -> None:
        client.send(sent)

        assert (await client.rest()).startswith(answer)

    play(echo, scenario, HttpLimits(tick_s=0.01, idle_ticks=3, head_ticks=3, silent_ticks=3))


def test_client_that_waits_for_its_answer_is_not_silent(play: Play) -> None:
    """A long poll, or a long invocation: it is we who are silent. The ticks of others go on meanwhile."""
    slow = Slow()

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET /poll HTTP/1.1\r\nHost: x\r\n\r\n")
        request, reply = await slow.next()
        others = [await client.another() for _ in range(3)]
        for other in others:
            assert await other.rest() == ""

        echo(request, reply)

        assert (await client.answer())[1] == "GET /poll "

    play(slow, scenario, HttpLimits(tick_s=0.01, idle_ticks=3))


def test_client_that_reads_nothing_is_given_up(play: Play) -> None:
    """It pipelines requests for large answers: no more than fit are begun, and then the connection is closed."""
    handled: list[HttpRequest] = []

    def handler(request: HttpRequest, reply: Reply) -> None:
        handled.append(request)
        reply.send(HttpResponse(200, (), bytes(8_000_000)))

    async def scenario(server: HttpServer, client: Client) -> None:
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
        while not handled:  # noqa: ASYNC110 - as above.
            await asyncio.sleep(0)
        while server.unsent_bytes:  # noqa: ASYNC110 - as above.
            await asyncio.sleep(0)

    play(handler, scenario, HttpLimits(tick_s=0.01, unread_ticks=3))
    assert len(handled) < 5


def test_connections_have_a_limit_and_the_idle_ones_make_room(play: Play) -> None:
    slow = Slow()

    async def scenario(server: HttpServer, client: Client) -> None:
        idle = await client.another()
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        request, reply = await slow.next()
        second = await client.another()
        assert await idle.rest() == ""
        second.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
        second_request, second_reply = await slow.next()

        third = await client.another()

        assert (await third.rest()).startswith("HTTP/1.1 503 ")
        echo(request, reply)
        echo(second_request, second_reply)
        assert (await client.answer())[1] == "GET /a "
        assert (await second.answer())[1] == "GET /b "

    play(slow, scenario, HttpLimits(connections=2))


def test_connections_leave_descriptors_to_everything_else() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert 0 < limits_of_process().connections <= max(1, soft - min(256, soft // 2))
