"""What the server does with each request: the chain in front of the group commit, and our own surface beside it.

request ─► chain.open ─► group commit ─► answer after the commit
                              │ Wait      parked until its topic or its deadline, then asked again
                              │ Outside   performed in a thread, then resumed in a second step

A document, which nearly all answers are, goes from the commit straight to the connection. Only the other two need a
coroutine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import cast

from redrive.core.clock import Clock, Instant
from redrive.core.documents import Document
from redrive.delivery.operation import Outside, Wait
from redrive.engine.engine import Engine
from redrive.gateway.admin import Admin
from redrive.gateway.chain import Exchange, Gateway
from redrive.gateway.http import Reply
from redrive.gateway.waiters import Waiters
from redrive.store.api import Step
from redrive.store.group import GroupCommit
from redrive.wire.message import HttpRequest, HttpResponse

Parked = asyncio.Future[None]

SYNCHRONOUS_INVOCATIONS_MAX = 64

VIRTUAL_WAIT_MS = 1_000
"""How long a poll for what may never come lasts while virtual time stands still, in real time."""


class App:
    """The handler of every request: AWS's port, with our own surface under `/_redrive/`. Lives on one event loop."""

    def __init__(self, gateway: Gateway, engine: Engine, group: GroupCommit, admin: Admin, clock: Clock) -> None:
        self._gateway = gateway
        self._engine = engine
        self._group = group
        self._admin = admin
        self._clock = clock
        self._waiters = Waiters()
        self._threads = ThreadPoolExecutor(SYNCHRONOUS_INVOCATIONS_MAX, thread_name_prefix="redrive-invoke")
        self._tasks: set[asyncio.Task[None]] = set()

    def wake_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[frozenset[str]], None]:
        """A listener for commits, callable from any thread, that wakes long polls on this loop."""

        def wake(topics: frozenset[str]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._waiters.wake, topics)

        return wake

    def handle(self, request: HttpRequest, reply: Reply) -> None:
        """Begin to answer a request."""
        if request.path.startswith("/_redrive/"):
            self._spawn(self._administer(request, reply))
            return
        exchange = self._gateway.open(request)
        if isinstance(exchange, HttpResponse):
            reply.send(exchange)
        else:
            self._group.submit(exchange.step, partial(self._answered, exchange, reply))

    def _answered(self, exchange: Exchange, reply: Reply, answer: object) -> None:
        """Take the answer of the operation's step, which is on the disk now."""
        if isinstance(answer, Wait):
            self._spawn(self._await(exchange, reply, answer, self._waiters.park(answer.topics)))
        elif isinstance(answer, Outside):
            self._spawn(self._perform(exchange, reply, answer))
        else:
            reply.send(self._gateway.answer(exchange, cast("Document | BaseException", answer)))

    async def _administer(self, request: HttpRequest, reply: Reply) -> None:
        reply.send(await asyncio.get_running_loop().run_in_executor(None, self._admin.respond, request))

    async def _await(self, exchange: Exchange, reply: Reply, wait: Wait, parked: Parked) -> None:
        """Ask again whenever it is worth it, until there is an answer, or the first one's deadline has come.

        A caller who has gone is given nothing: a message would be out of sight with nobody to delete it.
        """
        deadline = wait.until
        while await self._is_worth_asking(wait, parked, deadline):
            if not reply.is_wanted:
                return
            answer, parked_again = await self._submit(exchange.step)
            if parked_again is None:
                self._answered(exchange, reply, answer)
                return
            wait, parked = cast(Wait, answer), parked_again
        reply.send(self._gateway.answer(exchange, wait.result))

    async def _is_worth_asking(self, wait: Wait, parked: Parked, deadline: Instant) -> bool:
        """Wait until it is worth asking again; False once the deadline has come.

        A virtual clock stands still, so there the deadline is at most a real second away.
        """
        now = self._clock.now()
        if now >= deadline:
            parked.cancel()
            return False
        is_virtual = self._clock.is_virtual
        wait_ms = min(deadline, wait.again_at or deadline) - now
        if is_virtual and not wait.is_under_way:
            wait_ms = min(wait_ms, VIRTUAL_WAIT_MS)
        woken, _ = await asyncio.wait([parked], timeout=wait_ms / 1000)
        parked.cancel()
        return bool(woken) or not is_virtual

    async def _perform(self, exchange: Exchange, reply: Reply, outside: Outside) -> None:
        answer: object
        try:
            result = await asyncio.get_running_loop().run_in_executor(
                self._threads, self._engine.invoker.invoke, outside.invocation
            )
            answer, _ = await self._submit(lambda tx: outside.resume(tx, result))
        except Exception as error:  # noqa: BLE001 - the chain turns whatever was raised into AWS's answer, and logs it.
            answer = error
        self._answered(exchange, reply, answer)

    async def _submit(self, step: Step[object]) -> tuple[object, Parked | None]:
        """Run a step through the group commit. An answer that waits is parked before any later commit is announced."""
        future: asyncio.Future[tuple[object, Parked | None]] = asyncio.get_running_loop().create_future()

        def answered(answer: object) -> None:
            if not future.cancelled():
                future.set_result((answer, self._waiters.park(answer.topics) if isinstance(answer, Wait) else None))

        self._group.submit(step, answered)
        return await future

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        """Go on in a task, which is held until it is done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
