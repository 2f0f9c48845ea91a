"""Answers that go on, from a commit to a client's socket: events as they come, and nothing left behind at the end."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer

from redrive.core.clock import SystemClock
from redrive.core.entropy import SeededEntropy
from redrive.core.scope import Scope
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus, ResponseStream
from redrive.gateway.http.server import HttpServer
from redrive.gateway.streaming import PIECES_BYTES_MAX
from redrive.services.kinesis.model.subscription import Subscription
from redrive.testing.world import World
from tests.unit.gateway.test_app import House
from tests.unit.services.lambda_.functions import ROLE, archive
from tests.unit.services.lambda_.test_wire import TRUST

SCOPE = Scope("000000000000", "us-east-1")
TIMEOUT_S = 20
TURNS_MAX = 10_000


class Steps:
    """An invoker whose functions write a piece each time that a test says so. They end after `finish`."""

    def __init__(self) -> None:
        self.stream: ResponseStream | None = None
        self.begun = threading.Event()
        self.finished = threading.Event()
        self.ended = threading.Event()

    def invoke(self, invocation: Invocation) -> InvocationResult:
        raise AssertionError("these functions stream")

    def invoke_streaming(self, invocation: Invocation, response: ResponseStream) -> InvocationResult:
        self.stream = response
        response.begin("")
        self.begun.set()
        assert self.finished.wait(TIMEOUT_S), "the test ends each run"
        self.ended.set()
        return InvocationResult(InvocationStatus.OK, is_streamed=True)

    def close(self) -> None:
        self.finished.set()


class Place:
    """An app behind a real HTTP server, and raw clients of it."""

    def __init__(self, world: World, house: House, server: HttpServer, address: Any) -> None:
        self.world = world
        self.house = house
        self.server = server
        self._address = address
        self.clients: list[Client] = []

    async def send(self, method: str, path: str, target: str, params: object) -> Client:
        reader, writer = await asyncio.open_connection(*self._address)
        body = json.dumps(params).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.1\r\n"
        target = f"X-Amz-Target: {target}\r\n" if target else ""
        writer.write(f"{head}{target}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.clients.append(Client(reader, writer))
        return self.clients[-1]

    async def subscribe(self, consumer: str) -> Client:
        params = {"ConsumerARN": consumer, "ShardId": "shardId-000000000000", "StartingPosition": {"Type": "LATEST"}}
        return await self.send("POST", "/", "Kinesis_20131202.SubscribeToShard", params)

    async def put(self, data: bytes) -> None:
        """Put a record through the group commit, as requests do."""
        caller = self.world.caller()
        params = {"StreamName": "s", "PartitionKey": "k", "Data": data}
        done = asyncio.get_running_loop().create_future()
        engine = self.world.engine
        self.house.group.submit(
            lambda tx: engine.registry.begin(tx, caller, "kinesis", "PutRecord", params), done.set_result
        )
        await done

    @property
    def left(self) -> tuple[int, int, int, int]:
        """What streams hold: tasks, parked topics, connections, bytes that no client has read."""
        app = self.house.app
        tasks, parked = app._tasks, app._waiters._parked  # noqa: SLF001 - counted, so that nothing is forgotten.
        return len(tasks), len(parked), len(self.server._connections), self.server.unsent_bytes  # noqa: SLF001 - as above.

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Let the loop turn until something is so."""
        for _ in range(TURNS_MAX):
            if is_so():
                return
            await asyncio.sleep(0.001)
        raise AssertionError("it never was so")


class Client:
    """A connection whose answer is a chunked stream of events."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer
        self._buffer = EventStreamBuffer()
        self._found: list[Any] = []

    async def head(self) -> str:
        return (await self.reader.readuntil(b"\r\n\r\n")).decode()

    async def chunk(self) -> bytes:
        """The next chunk; empty for the last one."""
        size = int(await self.reader.readline(), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def event(self) -> Any:
        """The next event."""
        while not self._found:
            self._buffer.add_data(await self.chunk())
            self._found += [*self._buffer]
        return self._found.pop(0)

    async def record(self) -> Any:
        """The next event of a subscription, read."""
        message = await self.event()
        assert message.headers[":event-type"] == "SubscribeToShardEvent"
        return json.loads(message.payload)

    def leave(self) -> None:
        """Close the connection as a killed process does."""
        self._writer.transport.abort()


Play = Callable[[Callable[[Place], Awaitable[None]]], None]


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
def world(steps: Steps) -> Iterator[World]:
    world = World(seed=1, invoker=steps)
    yield world
    world.close()


@pytest.fixture
def play(world: World) -> Play:
    """Runs a scenario against an app behind a real server."""

    async def run(scenario: Callable[[Place], Awaitable[None]]) -> None:
        house = House(world, run=None, entropy=SeededEntropy(3))
        world.store.on_commit(house.app.wake_from(asyncio.get_running_loop()))
        server = HttpServer(house.app.handle, SystemClock())
        listening = socket.create_server(("127.0.0.1", 0))
        await server.start(listening)
        place = Place(world, house, server, listening.getsockname())
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await scenario(place)
        finally:
            for client in place.clients:
                client.leave()
            await server.stop(grace_s=TIMEOUT_S)
            await house.close()

    return lambda scenario: asyncio.run(run(scenario))


@pytest.fixture
def consumer(world: World) -> str:
    world.call("kinesis", "CreateStream", StreamName="s", ShardCount=1)
    arn = "arn:aws:kinesis:us-east-1:000000000000:stream/s"
    made = world.call("kinesis", "RegisterStreamConsumer", StreamARN=arn, ConsumerName="c")
    return str(made["Consumer"]["ConsumerARN"])


def subscriptions(world: World) -> int:
    return world.store.run(lambda tx: tx.resources.count(Subscription, SCOPE))


def test_record_reaches_its_subscriber_by_the_commit_that_holds_it(play: Play, consumer: str) -> None:
    async def scenario(place: Place) -> None:
        client = await place.subscribe(consumer)
        head = await client.head()
        initial = await client.event()
        quiet = await client.record()

        await place.put(b"a")
        event = await client.record()

        assert "Transfer-Encoding: chunked" in head
        assert initial.headers[":event-type"] == "initial-response"
        assert (quiet["Records"], event["Records"][0]["Data"]) == ([], "YQ==")

    play(scenario)


def test_killed_subscriber_leaves_nothing(play: Play, world: World, consumer: str) -> None:
    async def scenario(place: Place) -> None:
        client = await place.subscribe(consumer)
        await client.head()
        await client.event()
        await client.record()
        before = place.left
        world.clock.move_to(world.clock.now() + 5_000)

        client.leave()
        await place.until(lambda: place.left == (0, 0, 0, 0) and not subscriptions(world))

        assert before == (1, 1, 1, 0)

    play(scenario)


def test_each_event_leaves_one_parked_topic(play: Play, consumer: str) -> None:
    async def scenario(place: Place) -> None:
        client = await place.subscribe(consumer)
        await client.head()
        await client.event()
        await client.record()
        for _ in range(5):
            await place.put(b"a")
            await client.record()

        (parked,) = place.house.app._waiters._parked.values()  # noqa: SLF001 - counted, as above.
        assert len(parked) == 1

    play(scenario)


def test_server_that_ends_ends_its_streams_in_order(play: Play, world: World, consumer: str) -> None:
    async def scenario(place: Place) -> None:
        client = await place.subscribe(consumer)
        await client.head()
        await client.event()
        await client.record()

        await place.server.stop(grace_s=TIMEOUT_S)

        assert await client.chunk() == b""
        await place.until(lambda: place.left == (0, 0, 0, 0))

    play(scenario)


def test_newer_subscription_ends_the_earlier_with_an_exception(play: Play, world: World, consumer: str) -> None:
    async def scenario(place: Place) -> None:
        first = await place.subscribe(consumer)
        await first.head()
        await first.event()
        await first.record()
        world.clock.move_to(world.clock.now() + 5_000)

        await place.subscribe(consumer)
        message = await first.event()
        while message.headers[":message-type"] == "event":
            message = await first.event()

        assert message.headers[":exception-type"] == "ResourceInUseException"
        assert await first.chunk() == b""

    play(scenario)


def test_refusal_of_a_subscription_is_a_plain_answer(play: Play, consumer: str) -> None:
    async def scenario(place: Place) -> None:
        client = await place.subscribe(consumer + "9")

        head = await client.head()

        assert head.startswith("HTTP/1.1 400 ")
        assert "Content-Length" in head

    play(scenario)


@pytest.fixture
def function(world: World) -> str:
    """The path at which a function is invoked with a stream."""
    world.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))
    world.call(
        "lambda", "CreateFunction", FunctionName="worker", Runtime="nodejs22.x", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": archive()},
    )  # fmt: skip
    return "/2021-11-15/functions/worker/response-streaming-invocations"


def test_piece_reaches_the_caller_while_the_function_runs(play: Play, steps: Steps, function: str) -> None:
    async def scenario(place: Place) -> None:
        client = await place.send("POST", function, "", {})
        await client.head()
        assert steps.stream is not None
        steps.stream.write(b"one")
        piece = await client.event()

        assert not steps.ended.is_set()
        steps.finished.set()
        complete = await client.event()

        assert (piece.headers[":event-type"], piece.payload) == ("PayloadChunk", b"one")
        assert (complete.headers[":event-type"], await client.chunk()) == ("InvokeComplete", b"")

    play(scenario)


def test_function_outlives_a_caller_who_has_gone_and_leaves_nothing(play: Play, steps: Steps, function: str) -> None:
    async def scenario(place: Place) -> None:
        client = await place.send("POST", function, "", {})
        await client.head()
        stream = steps.stream
        assert stream is not None
        client.leave()
        await place.until(lambda: place.left[2] == 0)

        for _ in range(100):
            stream.write(bytes(64 * 1024))
        await place.until(lambda: not stream.is_full)
        assert not steps.ended.is_set()
        steps.finished.set()

        await place.until(lambda: place.left == (0, 0, 0, 0))
        assert steps.ended.is_set()

    play(scenario)


def test_function_is_held_back_by_a_caller_who_does_not_read(play: Play, steps: Steps, function: str) -> None:
    async def scenario(place: Place) -> None:
        client = await place.send("POST", function, "", {})
        await client.head()
        stream = steps.stream
        assert stream is not None
        written = 0
        while not stream.is_full and written < TURNS_MAX:
            stream.write(bytes(64 * 1024))
            written += 1
            await asyncio.sleep(0)
        was_held_back = stream.is_full

        received = 0
        while received < written * 64 * 1024:
            message = await client.event()
            received += len(message.payload)
        steps.finished.set()

        assert was_held_back
        assert written * 64 * 1024 > PIECES_BYTES_MAX
        await client.event()
        assert not stream.is_full

    play(scenario)
