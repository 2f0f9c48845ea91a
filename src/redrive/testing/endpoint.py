"""Serves a world on a port of this machine: for child processes, and for clients in other languages.

Uses the same engine and the same virtual time as the test's own process. One thread listens; other threads answer, so
that a function that was invoked from outside can start a process that calls the world.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from redrive.core.clock import SystemClock
from redrive.gateway.chain import Gateway, json_response
from redrive.gateway.guard import HEALTH_PATH, Guard, Refused
from redrive.gateway.http.ports import Reply
from redrive.gateway.http.server import HttpServer
from redrive.gateway.refusals import OWN_PATH, own_refusal, refusal
from redrive.wire.message import HttpRequest, HttpResponse

HOST = "127.0.0.1"
GRACE_S = 1
REQUESTS_AT_ONCE_MAX = 8


class Endpoint:
    """Serves a world's gateway from construction until `close`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._guard = Guard(address=HOST)
        self._socket = socket.create_server((HOST, 0))
        self._threads = ThreadPoolExecutor(REQUESTS_AT_ONCE_MAX, thread_name_prefix="redrive-answer")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self.url = f"http://{HOST}:{self._socket.getsockname()[1]}"
        answering: Future[None] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(answering)), name="redrive-endpoint", daemon=True
        )
        self._thread.start()
        answering.result()

    def close(self) -> None:
        """Stop listening; requests under way have one second to finish."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _serve(self, answering: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        server = HttpServer(self._handle, SystemClock())
        await server.start(self._socket)
        answering.set_result(None)
        await self._stopping.wait()
        await server.stop(grace_s=GRACE_S)

    def _handle(self, request: HttpRequest, reply: Reply) -> None:
        loop = asyncio.get_running_loop()

        def answer() -> None:
            response = self._respond(request)
            if not loop.is_closed():
                loop.call_soon_threadsafe(reply.send, response)

        self._threads.submit(answer)

    def _respond(self, request: HttpRequest) -> HttpResponse:
        verdict = self._guard.judge(request)
        if isinstance(verdict, Refused):
            return refusal(request, 403, verdict.code, verdict.what, verdict.next_step, request_id="in-process")
        if request.path == HEALTH_PATH:
            return json_response(200, {"status": "ok"})
        if request.path.startswith(OWN_PATH):
            return own_refusal(404, "This engine is a test's own.", "The test moves its clock: world.advance(hours=1).")
        try:
            return self._gateway.respond(request)
        except Exception as error:  # noqa: BLE001 - the caller gets an answer to any exception, and the log records it.
            what = f"redrive failed to answer {request.method} {request.path}: {error!r}. This is a defect of redrive."
            return refusal(request, 500, "InternalFailure", what, "", request_id="in-process")
