"""Large bodies through the server: they come and go in pieces, and nobody waits for what will not come.

The handler here keeps what was put by its path, as an operation does, and answers GET with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvloop

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.errors import ServiceError
from redrive.core.log import SilentLog
from redrive.delivery.bodies import SMALL_BYTES, Content, Received, Segment
from redrive.gateway.downloads import Downloads
from redrive.gateway.http.limits import HttpLimits
from redrive.gateway.http.ports import Reply
from redrive.gateway.http.server import HttpServer
from redrive.gateway.object_bodies import plan_of
from redrive.gateway.uploads import OBJECT_BYTES_MAX, QUEUED_BYTES_MAX, UPLOADS_MAX, Uploads
from redrive.store.bodies import Bodies, BodyReader, BodyWriter, DiskBodies, RowBodies
from redrive.store.connection import StoreFull
from redrive.store.sqlite import SqliteStore
from redrive.wire.message import HttpRequest, HttpResponse
from tests.unit.store.conftest import open_store

TIMEOUT_S = 20
TURNS_MAX = 1_000_000
LARGE = bytes(range(251)) * 20_000  # 5 MB.


@dataclass
class House:
    """A server, its store, and what was put."""

    server: HttpServer
    uploads: Uploads
    store: SqliteStore
    bodies: Bodies
    listening: socket.socket
    objects: dict[str, Received] = field(default_factory=dict)
    heads: list[HttpRequest] = field(default_factory=list)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.listening.getsockname())

    async def ask(self, head: str, *pieces: bytes) -> tuple[str, bytes]:
        """Status line and body of the answer to one request."""
        reader, writer = await self.connect()
        try:
            await send(writer, head, *pieces)
            return await answer(reader)
        finally:
            writer.close()

    def files(self) -> list[str]:
        assert self.store.files is not None
        folder = self.store.files.folder
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def send(writer: asyncio.StreamWriter, head: str, *pieces: bytes) -> None:
    writer.write(f"{head}\r\nHost: x\r\n\r\n".encode())
    for piece in pieces:
        writer.write(piece)
        await writer.drain()


async def answer(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int(head.lower().partition("content-length: ")[2].partition("\r\n")[0])
    return head.partition("\r\n")[0], await reader.readexactly(length)


async def until(condition: Callable[[], object]) -> None:
    """Let the server's threads go on until this is true."""
    for _ in range(TURNS_MAX):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not become true")


Scenario = Callable[[House], Awaitable[None]]


class Play:
    """Runs scenarios on one kind of loop and one kind of store."""

    def __init__(self, loop: Callable[[], asyncio.AbstractEventLoop], path: Path | None) -> None:
        self._loop = loop
        self._path = path

    def __call__(
        self,
        scenario: Scenario,
        *,
        limits: HttpLimits | None = None,
        wrap: Callable[[Bodies], Bodies] = lambda same: same,
    ) -> None:
        async def run() -> None:
            house = self._house(limits, wrap)
            await house.server.start(house.listening)
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    await scenario(house)
            finally:
                await house.server.stop(grace_s=TIMEOUT_S)
                await house.uploads.drain(grace_s=TIMEOUT_S)
                house.uploads.close()
                house.store.close()

        with asyncio.Runner(loop_factory=self._loop) as runner:
            runner.run(run())

    def _house(self, limits: HttpLimits | None, wrap: Callable[[Bodies], Bodies] | None) -> House:
        store = open_store(self._path)
        rows = RowBodies(store.run)
        bodies: Bodies = rows if store.files is None else DiskBodies(store.files, rows)
        bodies = bodies if wrap is None else wrap(bodies)
        log = SilentLog()
        uploads = Uploads(
            bodies, judge=lambda head: plan_of(head) if head.method == "PUT" else None, refuse=refusal,
            clock=VirtualClock(1), entropy=SeededEntropy(1), log=log,
        )  # fmt: skip
        downloads = Downloads(bodies, log)
        tasks: set[asyncio.Task[None]] = set()

        def handle(request: HttpRequest, reply: Reply) -> None:
            house.heads.append(request)
            if request.method == "PUT":
                reply.send(put(house, request))
                return
            received = house.objects[request.path]
            assert received.stored is not None
            first, _, size = request.query.partition("+")
            content = Content((received.stored,), int(first or 0), int(size or received.size))
            response = HttpResponse(200, (("ETag", "x"), ("Content-Length", "7")), b"", content)
            task = asyncio.get_running_loop().create_task(downloads.send(response, content, reply, failed))
            tasks.add(task)

        server = HttpServer(handle, VirtualClock(1), limits, open_upload=uploads.open)
        house = House(server, uploads, store, bodies, socket.create_server(("127.0.0.1", 0)))
        return house


def put(house: House, request: HttpRequest) -> HttpResponse:
    """As an operation: adopt the body, unless the caller's digest is another."""
    received = request.received or Received(len(request.body), request.body)
    given = request.headers.get("x-amz-checksum-sha256")
    if given is not None and received.digests["SHA256"].hex() != given:
        return refusal(request, ServiceError("BadDigest", "another", http_status=400))
    if received.stored is not None:
        stored = received.stored
        house.store.run(lambda tx: tx.bodies.adopt(stored.body_id, stored.size, now=tx.now))
    house.objects[request.path] = received
    return HttpResponse(200, (), b"")


def refusal(head: HttpRequest, error: ServiceError) -> HttpResponse:
    return HttpResponse(error.http_status or 500, (), error.code.encode())


def failed(error: Exception) -> HttpResponse:
    return HttpResponse(500, (), type(error).__name__.encode())


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_factory(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    return asyncio.new_event_loop if request.param == "asyncio" else uvloop.new_event_loop


@pytest.fixture(params=["file", "memory"])
def play(request: pytest.FixtureRequest, loop_factory: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path) -> Play:
    return Play(loop_factory, tmp_path / "redrive.sqlite" if request.param == "file" else None)


@pytest.fixture
def play_on_disk(tmp_path: Path) -> Play:
    return Play(uvloop.new_event_loop, tmp_path / "redrive.sqlite")


def test_large_body_is_received_and_sent_in_pieces(play: Play) -> None:
    async def scenario(house: House) -> None:
        status, _ = await house.ask(f"PUT /a HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE)
        received = house.objects["/a"]

        assert status == "HTTP/1.1 200 OK"
        assert (received.size, received.content) == (len(LARGE), None)
        assert received.digests["MD5"] == hashlib.md5(LARGE, usedforsecurity=False).digest()
        assert house.heads[0].body == b""
        assert await house.ask("GET /a HTTP/1.1") == ("HTTP/1.1 200 OK", LARGE)
        assert (await house.ask("GET /a?1000+2000000 HTTP/1.1"))[1] == LARGE[1_000:2_001_000]
        assert house.uploads.queued_bytes == house.uploads.count == 0
        assert house.server.held_bytes == 0

    play(scenario)


def test_connection_goes_on_after_large_bodies_both_ways(play: Play) -> None:
    async def scenario(house: House) -> None:
        reader, writer = await house.connect()

        for path in ("/a", "/b"):
            await send(writer, f"PUT {path} HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE)
            assert (await answer(reader))[0] == "HTTP/1.1 200 OK"
        await send(writer, "GET /a HTTP/1.1")
        assert (await answer(reader))[1] == LARGE
        await send(writer, "GET /b HTTP/1.1")
        assert (await answer(reader))[1] == LARGE
        writer.close()

    play(scenario)


def test_requests_sent_ahead_of_an_upload_are_answered_after_it(play: Play) -> None:
    async def scenario(house: House) -> None:
        reader, writer = await house.connect()

        await send(writer, f"PUT /a HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE)
        await send(writer, "GET /a?0+5 HTTP/1.1")
        await send(writer, f"PUT /b HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE)
        await send(writer, "GET /b?5+5 HTTP/1.1")

        assert [(await answer(reader))[1] for _ in range(4)] == [b"", LARGE[:5], b"", LARGE[5:10]]
        writer.close()

    play(scenario)


def test_body_without_a_length_is_received_and_a_small_one_is_not_written(play: Play) -> None:
    async def scenario(house: House) -> None:
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (LARGE[:70_000], LARGE[70_000:200_000]))
        await house.ask("PUT /large HTTP/1.1\r\nTransfer-Encoding: chunked", chunks + b"0\r\n\r\n")
        await house.ask("PUT /small HTTP/1.1\r\nTransfer-Encoding: chunked", b"3\r\nabc\r\n0\r\n\r\n")

        assert (await house.ask("GET /large HTTP/1.1"))[1] == LARGE[:200_000]
        assert house.objects["/small"].content == b"abc"
        assert house.objects["/small"].stored is None

    play(scenario)


def test_aws_chunks_are_decoded_and_their_trailers_are_kept(play: Play) -> None:
    async def scenario(house: House) -> None:
        framed = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (LARGE[:100_000], LARGE[100_000:180_000]))
        framed += b"0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n"
        head = (
            f"PUT /a HTTP/1.1\r\nContent-Length: {len(framed)}\r\nContent-Encoding: aws-chunked\r\n"
            "X-Amz-Content-SHA256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\nX-Amz-Decoded-Content-Length: 180000\r\n"
            "X-Amz-Trailer: x-amz-checksum-crc32"
        )

        await house.ask(head, framed)

        assert house.objects["/a"].trailers == {"x-amz-checksum-crc32": "AAAA"}
        assert (await house.ask("GET /a HTTP/1.1"))[1] == LARGE[:180_000]

    play(scenario)


@pytest.mark.parametrize(
    "framed",
    [
        b"10000\r\n" + LARGE[:65_536] + b"xx0\r\n\r\n",
        b"zz\r\n" + LARGE[:70_000],
        b"11171\r\n" + LARGE[:70_001] + b"\r\n0\r\n\r\n",
    ],
    ids=["no line end", "no size", "more than announced"],
)
def test_wrong_framing_is_refused_after_the_body_and_nothing_is_left(play_on_disk: Play, framed: bytes) -> None:
    async def scenario(house: House) -> None:
        reader, writer = await house.connect()
        head = (
            f"PUT /a HTTP/1.1\r\nContent-Length: {len(framed)}\r\n"
            "X-Amz-Content-SHA256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\nX-Amz-Decoded-Content-Length: 70000"
        )

        await send(writer, head, framed)

        assert await answer(reader) == ("HTTP/1.1 400 Bad Request", b"IncompleteBody")
        await send(writer, f"PUT /b HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE)
        assert (await answer(reader))[0] == "HTTP/1.1 200 OK", "the connection goes on"
        writer.close()
        assert len(house.files()) == 1
        assert house.uploads.count == 0

    play_on_disk(scenario)


def test_body_whose_request_is_refused_is_deleted(play_on_disk: Play) -> None:
    async def scenario(house: House) -> None:
        head = f"PUT /a HTTP/1.1\r\nX-Amz-Checksum-SHA256: 00\r\nContent-Length: {len(LARGE)}"

        assert (await house.ask(head, LARGE))[1] == b"BadDigest"
        await until(lambda: not house.files())

    play_on_disk(scenario)


def test_client_that_goes_in_the_middle_leaves_nothing(play_on_disk: Play) -> None:
    async def scenario(house: House) -> None:
        _, writer = await house.connect()
        await send(writer, f"PUT /a HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE[:2_000_000])
        await until(house.files)

        writer.transport.abort()

        await until(lambda: not house.files() and not house.uploads.count)
        assert house.uploads.queued_bytes == 0
        assert house.objects == {}

    play_on_disk(scenario)


def test_stopping_server_deletes_what_unfinished_uploads_have_written(play_on_disk: Play) -> None:
    async def scenario(house: House) -> None:
        _, writer = await house.connect()
        await send(writer, f"PUT /a HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE[:2_000_000])
        await until(house.files)

        await house.server.stop(grace_s=TIMEOUT_S)
        await house.uploads.drain(grace_s=TIMEOUT_S)

        assert house.files() == []
        writer.close()

    play_on_disk(scenario)


def test_too_large_a_body_is_refused_before_it_comes(play: Play) -> None:
    async def scenario(house: House) -> None:
        head = f"PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {OBJECT_BYTES_MAX + 1}"

        assert await house.ask(head) == ("HTTP/1.1 400 Bad Request", b"EntityTooLarge")
        assert house.uploads.count == 0

    play(scenario)


def test_client_that_expects_a_continue_is_told_to(play: Play) -> None:
    async def scenario(house: House) -> None:
        reader, writer = await house.connect()
        await send(writer, f"PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {len(LARGE)}")
        told = await reader.readuntil(b"\r\n\r\n")
        writer.write(LARGE)

        assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert (await answer(reader))[0] == "HTTP/1.1 200 OK"
        writer.close()

    play(scenario)


def test_more_uploads_than_may_be_are_told_to_slow_down(play: Play) -> None:
    async def scenario(house: House) -> None:
        house.uploads.count = UPLOADS_MAX
        head = f"PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {len(LARGE)}"

        assert await house.ask(head) == ("HTTP/1.1 503 Service Unavailable", b"SlowDown")
        house.uploads.count = 0

    play(scenario)


def test_silent_client_is_told_in_the_words_of_s3(play_on_disk: Play) -> None:
    async def scenario(house: House) -> None:
        head = f"PUT /a HTTP/1.1\r\nContent-Length: {len(LARGE)}"

        assert await house.ask(head, LARGE[:100_000]) == ("HTTP/1.1 400 Bad Request", b"RequestTimeout")
        await until(lambda: not house.files() and not house.uploads.count)

    play_on_disk(scenario, limits=HttpLimits(tick_s=0.01, silent_ticks=3))


@dataclass
class Broken:
    """Bodies of which nothing can be written after some bytes, or nothing be read; what is written waits for `gate`."""

    bodies: Bodies
    room: int = 1 << 40
    writers: list[BodyWriter] = field(default_factory=list)

    def begin(self, body_id: str) -> BodyWriter:
        return _BrokenWriter(self, self.bodies.begin(body_id))

    def open(self, body_id: str) -> BodyReader:
        return self.bodies.open(body_id)

    def hold(self, body_ids: object) -> None:
        raise AssertionError("nothing is held here")

    def reject(self, body_id: str) -> None:
        self.bodies.reject(body_id)


class _BrokenWriter:
    def __init__(self, broken: Broken, writer: BodyWriter) -> None:
        self._broken = broken
        self._writer = writer
        self.body_id = writer.body_id

    def write(self, piece: bytes) -> None:
        self._broken.room -= len(piece)
        if self._broken.room < 0:
            raise StoreFull("The disk is full.")
        self._writer.write(piece)

    def finish(self) -> None:
        self._writer.finish()

    def abort(self) -> None:
        self._writer.abort()


def test_full_disk_in_the_middle_is_said_and_the_server_goes_on(play_on_disk: Play) -> None:
    async def scenario(house: House) -> None:
        reader, writer = await house.connect()

        await send(writer, f"PUT /a HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE)

        assert await answer(reader) == ("HTTP/1.1 507 Insufficient Storage", b"InsufficientStorage")
        assert house.files() == []
        assert isinstance(house.bodies, Broken)
        house.bodies.room = len(LARGE)
        await send(writer, f"PUT /a HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE)
        assert (await answer(reader))[0] == "HTTP/1.1 200 OK"
        writer.close()

    play_on_disk(scenario, wrap=lambda bodies: Broken(bodies, room=2_000_000))


def test_no_more_is_read_than_may_wait_in_memory(play_on_disk: Play) -> None:
    """The threads do nothing, as with a disk that hangs: the server stops reading, and says no more."""

    async def scenario(house: House) -> None:
        blocked = [house.uploads.threads.submit(gate.wait) for gate in gates]
        _, writer = await house.connect()
        writer.write(f"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: {100 * len(LARGE)}\r\n\r\n".encode())
        while house.uploads.queued_bytes < QUEUED_BYTES_MAX:
            writer.write(LARGE[:500_000])
            await asyncio.sleep(0)
        for _ in range(20):
            writer.write(LARGE)
            await asyncio.sleep(0)

        assert house.uploads.queued_bytes < 2 * QUEUED_BYTES_MAX
        for gate in gates:
            gate.set()
        assert all(one.result() for one in blocked)
        writer.transport.abort()

    gates = [threading.Event() for _ in range(8)]
    play_on_disk(scenario)


def test_body_that_is_gone_is_an_error_and_one_that_goes_cuts_the_answer_off(play: Play) -> None:
    async def scenario(house: House) -> None:
        await house.ask(f"PUT /a HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE)
        stored = house.objects["/a"].stored
        assert stored is not None
        house.objects["/longer"] = Received(len(LARGE) * 2, None, Segment(stored.body_id, len(LARGE) * 2))
        house.objects["/gone"] = Received(len(LARGE), None, Segment("nobody", len(LARGE)))

        assert await house.ask("GET /gone HTTP/1.1") == ("HTTP/1.1 500 Internal Server Error", b"BodyGone")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await house.ask("GET /longer HTTP/1.1")

    play(scenario)


def test_head_has_the_length_and_no_body(play: Play) -> None:
    async def scenario(house: House) -> None:
        await house.ask(f"PUT /a HTTP/1.1\r\nContent-Length: {len(LARGE)}", LARGE)
        reader, writer = await house.connect()

        await send(writer, "HEAD /a HTTP/1.1")
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        await send(writer, "GET /a?0+3 HTTP/1.1")

        assert head.count("Content-Length") == 1
        assert f"Content-Length: {len(LARGE)}\r\n" in head
        assert (await answer(reader))[1] == LARGE[:3]
        writer.close()

    play(scenario)


def test_slow_reader_is_waited_for_and_holds_two_pieces(play_on_disk: Play) -> None:
    async def scenario(house: House) -> None:
        await house.ask(f"PUT /a HTTP/1.1\r\nContent-Length: {4 * len(LARGE)}", *[LARGE] * 4)
        reader, writer = await house.connect()

        await send(writer, "GET /a HTTP/1.1")
        head = await reader.readuntil(b"\r\n\r\n")
        held = []
        left = 4 * len(LARGE)
        while left:
            left -= len(await reader.read(100_000))
            held.append(house.server.unsent_bytes)

        assert b"200 OK" in head
        assert max(held) <= 2 * 512 * 1024
        writer.close()

    play_on_disk(scenario)


def test_small_bodies_are_collected_as_ever(play: Play) -> None:
    async def scenario(house: House) -> None:
        await house.ask(f"PUT /a HTTP/1.1\r\nContent-Length: {SMALL_BYTES}", LARGE[:SMALL_BYTES])

        assert house.heads[0].body == LARGE[:SMALL_BYTES]
        assert house.heads[0].received is None

    play(scenario)
