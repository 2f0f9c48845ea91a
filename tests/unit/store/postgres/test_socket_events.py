"""The events of a socket: what has failed is reported until somebody has read it to its end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable

import pytest
import uvloop

from redrive.store.postgres.socket_events import SocketEvents

LOOPS = [uvloop.new_event_loop, asyncio.new_event_loop]


async def read_to_its_end(mine: socket.socket) -> list[bytes]:
    """What a reader gets that reads a little at each call; the last piece is empty, also after a failure."""
    loop = asyncio.get_running_loop()
    pieces: list[bytes] = []
    ended = loop.create_future()

    def ready() -> None:
        try:
            pieces.append(mine.recv(4))
        except ConnectionError:
            pieces.append(b"")
        if not pieces[-1] and not ended.done():
            ended.set_result(None)

    events = SocketEvents(loop, mine.fileno(), ready)
    try:
        await asyncio.wait_for(ended, 10)
    finally:
        events.close()
    return pieces


def fill(mine: socket.socket) -> None:
    """Send until there is no more room."""
    with contextlib.suppress(BlockingIOError):
        while True:
            mine.send(b"x" * 65_536)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_reader_is_called_until_it_has_seen_the_failure(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    mine, others = socket.socketpair()
    mine.setblocking(False)
    mine.send(b"never read")  # The kernel reports a connection as failed that is closed with something unread.
    others.send(b"farewell")
    others.close()

    with asyncio.Runner(loop_factory=new_loop) as runner, mine:
        pieces = runner.run(read_to_its_end(mine))

    assert pieces[:2] == [b"fare", b"well"]
    assert pieces[-1] == b""


@pytest.mark.parametrize("new_loop", LOOPS)
def test_writer_is_called_once_there_is_room(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    mine, others = socket.socketpair()
    mine.setblocking(False)
    fill(mine)

    async def wait_for_room() -> None:
        loop = asyncio.get_running_loop()
        room = loop.create_future()

        def ready() -> None:
            if not room.done():
                room.set_result(None)

        events = SocketEvents(loop, mine.fileno(), ready)
        events.set_writing(True)
        await asyncio.sleep(0)
        assert not room.done()
        others.recv(1 << 20)
        await asyncio.wait_for(room, 10)
        events.set_writing(False)
        events.close()

    with asyncio.Runner(loop_factory=new_loop) as runner, mine, others:
        runner.run(wait_for_room())
