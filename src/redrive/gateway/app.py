"""The path of each request through the server: the guard, the chain, the group commit; `/_redrive/` beside them.

request ─► guard.judge ─► chain.open ─► group commit ─► answer after the commit
               │               │ large     decoded in a thread, so that the event loop goes on
               │ refused: 403                  │ Wait      parked until its topic or its deadline, then asked again
                                               │ Outside   performed in a thread, then resumed in a second step

Nearly all answers are documents, which go from the commit straight to the connection; only the others need a
coroutine. Each exception on the way is answered, with a request id that the log has too.
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import cast

from redrive.core.clock import Clock, Instant
from redrive.core.documents import Document
from redrive.core.entropy import Entropy, new_uuid
from redrive.core.errors import ServiceError
from redrive.core.log import Log
from redrive.delivery.digesting import again, digested
from redrive.delivery.operation import Answer, Beforehand, Digesting, EventStream, Outside, StreamedOutside, Wait
from redrive.delivery.outside.invocation import InvocationResult
from redrive.delivery.web import BucketPage, PageHeaders, StreamedWeb
from redrive.engine.engine import Engine
from redrive.gateway.admin import ASSETS_PATH, Admin, is_health
from redrive.gateway.bucket_pages import page_of
from redrive.gateway.chain import Exchange, Gateway
from redrive.gateway.downloads import Downloads
from redrive.gateway.function_urls import UrlExchange, UrlTarget, may_be_url, url_target
from redrive.gateway.guard import Guard, Preflight, Refused
from redrive.gateway.http.ports import Body, Reply, Upload
from redrive.gateway.refusals import OWN_PATH, own_refusal, refusal
from redrive.gateway.storage import Commits
from redrive.gateway.streaming import Streamer, topics_of
from redrive.gateway.uploads import Plan, Uploads
from redrive.gateway.waiters import Waiters
from redrive.store.api import EVERYTHING, Step, Transaction
from redrive.store.bodies import Bodies
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.strangers import errors_for

Parked = asyncio.Future[None]

SYNCHRONOUS_INVOCATIONS_MAX = 128
"""More than `invoke/process.py` admits runs at once, so that a throttled call is answered at once."""

LARGE_BODY_BYTES = 128 * 1024
"""From this size on, decoding a body takes more than about 1 ms: long enough to delay other requests."""

CHUNKED = "aws-chunked"
"""The content coding of a body in chunks, which are never larger than they came."""

BUCKETS_SERVICE = "s3"
"""The service whose resources say themselves which pages may use them."""

LARGE_BODIES_AT_ONCE_MAX = 2

LARGE_BODY_COMMAS_MAX = 2_000_000
"""Each comma may separate values, each an object of 100 bytes or more; a parser holds the interpreter's lock."""

LARGE_BYTES_WAITING_MAX = 256 * 1024 * 1024
"""Bodies to be decoded off the event loop, including those whose callers have gone meanwhile."""

ADMIN_AT_ONCE_MAX = 8
ADMIN_WAITING_MAX = 64
ADMIN_BODY_BYTES_MAX = 1024 * 1024

_OUT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""Errors of the operating system that say that a resource is exhausted for now."""

VIRTUAL_WAIT_MS = 1_000
"""How long a long poll lasts, in real time, while virtual time stands still."""


class App:
    """The handler of every request: AWS's port, and our own surface under `/_redrive/`. Lives on one event loop."""

    def __init__(
        self, gateway: Gateway, engine: Engine, group: Commits, admin: Admin, clock: Clock,
        *, bodies: Bodies, guard: Guard, entropy: Entropy, log: Log,
    ) -> None:  # fmt: skip
        """`entropy` makes the ids of requests that fail before they have one, and of bodies that are received."""
        self._gateway = gateway
        self._engine = engine
        self._group = group
        self._admin = admin
        self._clock = clock
        self._guard = guard
        self._entropy = entropy
        self._log = log
        self._waiters = Waiters()
        self._threads = ThreadPoolExecutor(SYNCHRONOUS_INVOCATIONS_MAX, thread_name_prefix="redrive-invoke")
        self._streamer = Streamer(gateway, engine.invoker, clock, submit=self._submit, threads=self._threads)
        self._uploads = Uploads(
            bodies, judge=self._judge_upload, refuse=self._refuse, clock=clock, entropy=entropy.fork("bodies"), log=log
        )
        self._bodies = bodies
        self._downloads = Downloads(bodies, log)
        self._large = ThreadPoolExecutor(LARGE_BODIES_AT_ONCE_MAX, thread_name_prefix="redrive-decode")
        self._admin_threads = ThreadPoolExecutor(ADMIN_AT_ONCE_MAX, thread_name_prefix="redrive-admin")
        self._admin_count = 0
        self._large_bytes = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def wake_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[frozenset[str]], None]:
        """A listener for commits that wakes long polls on this loop. Callable from any thread."""

        def wake(topics: frozenset[str]) -> None:
            if loop.is_closed():
                return
            if EVERYTHING in topics:
                loop.call_soon_threadsafe(self._waiters.wake_all)
            else:
                loop.call_soon_threadsafe(self._waiters.wake, topics)

        return wake

    def close(self) -> None:
        """Shut down the threads without waiting for their work."""
        for threads in (self._threads, self._large, self._admin_threads):
            threads.shutdown(wait=False, cancel_futures=True)
        self._uploads.close()
        self._downloads.close()

    async def drain(self, *, grace_s: float) -> None:
        """Wait until what lost uploads have written is deleted, after all connections are closed."""
        await self._uploads.drain(grace_s=grace_s)

    def open_upload(self, head: HttpRequest, changed: Callable[[], None]) -> Upload | HttpResponse | None:
        """See OpenUpload in gateway/http/ports.py."""
        return self._uploads.open(head, changed)

    def _judge_upload(self, head: HttpRequest) -> Plan | HttpResponse | None:
        """How to receive a large body, or one of unknown length: what may not come at all is not written first."""
        plan = self._gateway.plan_upload(head)
        if isinstance(plan, Plan) and isinstance(verdict := self._guard.judge(head), Refused):
            # Browsers ask before a page's PUT: what comes here has passed the bucket's rules, which are asked again.
            is_asked_again = verdict.is_by_origin and page_of(head) is not None
            return plan if is_asked_again else self._refused(head, verdict)
        return plan

    def _refuse(self, request: HttpRequest, error: ServiceError) -> HttpResponse:
        return errors_for(request).encode_error(error, new_uuid(self._entropy))

    def handle(self, request: HttpRequest, reply: Reply) -> None:
        """Begin to answer a request."""
        try:
            target = self._url_target(request)
            verdict = self._guard.judge(request) if target is None else self._guard.judge_url(target.host)
            if verdict is not None:
                if isinstance(verdict, Refused):
                    self._refuse_page(request, verdict, reply)
                    return
                if isinstance(verdict, Preflight):
                    reply.send(HttpResponse(204, verdict.headers, b""))
                    return
                reply = _SharedReply(reply, verdict.headers)
            self._open(request, reply)
        except Exception as error:  # noqa: BLE001 - the caller gets an answer to any exception, and the log records it.
            reply.send(self._failed(request, error))

    def _refuse_page(self, request: HttpRequest, refused: Refused, reply: Reply) -> None:
        """Refuse a request, unless it is a page's and the bucket that it is for lets the page in."""
        page = page_of(request) if refused.is_by_origin else None
        if page is None:
            reply.send(self._refused(request, refused))
        else:
            judge = partial(_judged, self._engine, page)
            self._group.submit(judge, partial(self._page_judged, request, refused, reply))

    def _page_judged(self, request: HttpRequest, refused: Refused, reply: Reply, verdict: object) -> None:
        """Go on with the request of a page as the rules of the bucket say. Only S3 is open to pages in this way."""
        try:
            if isinstance(verdict, ServiceError):
                reply.send(self._refuse(request, verdict))
            elif not isinstance(verdict, tuple):
                reply.send(self._refused(request, refused))
            elif request.method == "OPTIONS":
                reply.send(HttpResponse(200, verdict, b""))
            elif self._gateway.is_for(request, BUCKETS_SERVICE):
                self._open(request, _SharedReply(reply, verdict))
            else:
                reply.send(self._refused(request, refused))
        except Exception as error:  # noqa: BLE001 - as in handle.
            reply.send(self._failed(request, error))

    def _url_target(self, request: HttpRequest) -> UrlTarget | None:
        """The function URL that a request is for. A Host that the guard has cached is never that of a URL."""
        if request.path == "/" and request.headers.get("host") in self._guard.known_hosts:
            return None
        return url_target(request) if may_be_url(request) else None

    def _open(self, request: HttpRequest, reply: Reply) -> None:
        if request.path.startswith(OWN_PATH) and not may_be_url(request):
            self._administer(request, reply)
        elif len(request.body) > LARGE_BODY_BYTES or request.headers.get("content-encoding", CHUNKED) != CHUNKED:
            self._admit_large(request, reply)
        else:
            self._opened(self._gateway.open(request), reply)

    def _opened(self, exchange: Exchange | UrlExchange | HttpResponse, reply: Reply) -> None:
        if isinstance(exchange, HttpResponse):
            reply.send(exchange)
        else:
            self._group.submit(exchange.step, partial(self._answered, exchange, reply))

    def _admit_large(self, request: HttpRequest, reply: Reply) -> None:
        """Decode off the event loop a body that is large, or that may become large when it is decompressed."""
        refused = None
        # Commas separate the values of JSON; each percent sign of a form is a step of its decoding.
        if request.body.count(b",") + request.body.count(b"%") > LARGE_BODY_COMMAS_MAX:
            what = f"The body has more than {LARGE_BODY_COMMAS_MAX} values."
            refused = refusal(
                request, 413, "RequestEntityTooLargeException", what, "Send less.", request_id=new_uuid(self._entropy)
            )
        elif self._large_bytes + len(request.body) > LARGE_BYTES_WAITING_MAX:
            what = "The server has as many large requests to read as it may."
            refused = refusal(
                request, 503, "ServiceUnavailable", what, "Try again.", request_id=new_uuid(self._entropy)
            )
        if refused is not None:
            reply.send(refused)
            return
        self._large_bytes += len(request.body)
        self._spawn(self._open_large(request, reply))

    async def _open_large(self, request: HttpRequest, reply: Reply) -> None:
        opened: Exchange | UrlExchange | HttpResponse
        try:
            opened = await asyncio.get_running_loop().run_in_executor(self._large, self._gateway.open, request)
        except Exception as error:  # noqa: BLE001 - as in handle.
            opened = self._failed(request, error)
        finally:
            self._large_bytes -= len(request.body)
        if reply.is_wanted:
            self._opened(opened, reply)

    def _answered(self, exchange: Exchange | UrlExchange, reply: Reply, answer: object) -> None:
        """Take the answer of the operation's step, which is committed to disk now. Most answers are documents."""
        if type(answer) is dict:
            response = self._gateway.answer(exchange, answer)
            if response.content is None:
                reply.send(response)
            else:
                failed = partial(self._gateway.answer, exchange)
                self._spawn(self._downloads.send(response, response.content, reply, failed))
        elif isinstance(answer, Wait):
            self._spawn(self._await(exchange, reply, answer, self._waiters.park(answer.topics)))
        elif isinstance(answer, Outside | Beforehand | Digesting):
            self._spawn(self._perform(exchange, reply, answer))
        elif isinstance(answer, EventStream | StreamedOutside | StreamedWeb):
            self._go_on(exchange, reply, answer)
        else:
            reply.send(self._gateway.answer(exchange, cast("Document | BaseException", answer)))

    def _go_on(
        self, exchange: Exchange | UrlExchange, reply: Reply, answer: EventStream | StreamedOutside | StreamedWeb
    ) -> None:  # fmt: skip
        """Send an answer that goes on."""
        if isinstance(exchange, UrlExchange):
            assert isinstance(answer, StreamedWeb), "a URL answers no events"
            self._spawn(self._streamer.run_url(exchange, reply, answer))
        elif isinstance(answer, EventStream):
            topics = topics_of(answer)
            parked = None if topics is None else self._waiters.park(topics)
            self._spawn(self._streamer.follow(exchange, reply, answer, parked))
        else:
            assert isinstance(answer, StreamedOutside), "only a URL answers to the Web"
            self._spawn(self._streamer.run(exchange, reply, answer))

    def _administer(self, request: HttpRequest, reply: Reply) -> None:
        """Answer on our own surface, in a thread because the work blocks. Health does not block and needs no thread."""
        if is_health(request):
            reply.send(self._admin.respond(request))
        elif len(request.body) > ADMIN_BODY_BYTES_MAX and not request.path.startswith(ASSETS_PATH):
            what = f"The body has {len(request.body)} bytes; it may have {ADMIN_BODY_BYTES_MAX}."
            reply.send(own_refusal(413, what, "Send less."))
        elif self._admin_count >= ADMIN_AT_ONCE_MAX + ADMIN_WAITING_MAX:
            what = f"{self._admin_count} requests to {OWN_PATH} are under way or wait already."
            reply.send(own_refusal(503, what, "Wait for their answers, and ask again."))
        else:
            self._admin_count += 1
            self._spawn(self._administer_in_thread(request, reply))

    async def _administer_in_thread(self, request: HttpRequest, reply: Reply) -> None:
        try:
            loop = asyncio.get_running_loop()
            respond = partial(self._admin.respond, request, is_wanted=lambda: reply.is_wanted)
            answer = await loop.run_in_executor(self._admin_threads, respond)
        except Exception as error:  # noqa: BLE001 - as in handle.
            answer = self._failed(request, error)
        finally:
            self._admin_count -= 1
        reply.send(answer)

    def _refused(self, request: HttpRequest, refused: Refused) -> HttpResponse:
        answer = refusal(
            request, 403, refused.code, refused.what, refused.next_step, request_id=new_uuid(self._entropy)
        )
        return HttpResponse(answer.status, answer.headers + refused.headers, answer.body)

    def _failed(self, request: HttpRequest, error: Exception) -> HttpResponse:
        """The answer to an unexpected exception. An exhausted resource is a passing state: 503."""
        request_id = new_uuid(self._entropy)
        called = f"{request.method} {request.path}"
        self._log.error("request failed", request_id=request_id, request=called, error=repr(error))
        if isinstance(error, OSError) and error.errno in _OUT_OF:
            what, next_step = f"The server is out of resources: {error.strerror}.", "Try again."
            return refusal(request, 503, "ServiceUnavailable", what, next_step, request_id=request_id)
        what = f"redrive failed to answer {called}: {error!r}. This is a defect of redrive."
        next_step = f"Its log has more under the id {request_id}."
        return refusal(request, 500, "InternalFailure", what, next_step, request_id=request_id)

    async def _await(self, exchange: Exchange | UrlExchange, reply: Reply, wait: Wait, parked: Parked) -> None:
        """Ask again each time an answer may have come, until there is one or the first wait's deadline has passed.

        If the caller has gone, no message is received: the message would be invisible with nobody to delete it.
        """
        deadline = wait.until
        answer: object
        try:
            while await self._is_worth_asking(wait, parked, deadline):
                if not reply.is_wanted:
                    return
                answer, parked_again = await self._submit(exchange.step)
                if parked_again is None:
                    break
                wait, parked = cast(Wait, answer), parked_again
            else:
                answer = wait.result
        except Exception as error:  # noqa: BLE001 - as in _perform.
            answer = error
        self._answered(exchange, reply, answer)

    async def _is_worth_asking(self, wait: Wait, parked: Parked, deadline: Instant) -> bool:
        """Wait until an answer may have come; False once the deadline has passed.

        In virtual time, which stands still, the deadline is at most one real second away.
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

    async def _perform(
        self, exchange: Exchange | UrlExchange, reply: Reply, pending: Outside | Beforehand | Digesting
    ) -> None:  # fmt: skip
        """Do what an answer needs in a thread, without a transaction; then run the step that answers."""
        answer: object
        loop = asyncio.get_running_loop()
        step: Step[object] = exchange.step
        try:
            if isinstance(pending, Outside):
                result = await loop.run_in_executor(self._threads, self._engine.invoker.invoke, pending.invocation)
                step = partial(_resumed, pending, result)
            elif isinstance(pending, Digesting):
                digests = await loop.run_in_executor(self._threads, digested, self._bodies, pending)
                step = again(cast("Step[Answer]", exchange.step), pending, digests)
            else:
                await loop.run_in_executor(self._threads, pending.work)
            answer, _ = await self._submit(step)
        except Exception as error:  # noqa: BLE001 - the chain turns any exception into AWS's answer, and logs it.
            answer = error
        self._answered(exchange, reply, answer)

    async def _submit(self, step: Step[object]) -> tuple[object, Parked | None]:
        """Run a step through the group commit. A `Wait` is parked before any later commit is announced."""
        future: asyncio.Future[tuple[object, Parked | None]] = asyncio.get_running_loop().create_future()

        def answered(answer: object) -> None:
            if not future.cancelled():
                topics = answer.topics if isinstance(answer, Wait) else topics_of(answer)
                future.set_result((answer, None if topics is None else self._waiters.park(topics)))

        self._group.submit(step, answered)
        return await future

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run a coroutine in a task, and keep a reference to the task until it is done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _resumed(outside: Outside, result: InvocationResult, tx: Transaction) -> object:
    return outside.resume(tx, result)


def _judged(engine: Engine, page: BucketPage, tx: Transaction) -> PageHeaders | ServiceError | None:
    return engine.judge_page(tx, page)


class _SharedReply:
    """The reply to an allowed page: the browser shows the page an answer only if the answer has the CORS headers."""

    def __init__(self, reply: Reply, headers: tuple[tuple[str, str], ...]) -> None:
        self._reply = reply
        self._headers = headers

    @property
    def is_wanted(self) -> bool:
        """See Reply."""
        return self._reply.is_wanted

    def send(self, response: HttpResponse) -> None:
        """See Reply."""
        self._reply.send(dataclasses.replace(response, headers=response.headers + self._headers))

    def begin(self, head: HttpResponse, *, length: int | None = None) -> Body:
        """See Reply."""
        shared = HttpResponse(head.status, head.headers + self._headers, head.body)
        return self._reply.begin(shared, length=length)
