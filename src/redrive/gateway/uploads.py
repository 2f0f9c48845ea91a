"""Bodies of objects on their way in: decoded, digested and written to the store while they come.

    connection ─ feed ─► Upload ─ a thread: aws-chunked ─► digests ─► BodyWriter ─► disk
        ▲ reads no more while `is_full`      │ fails: the rest of the body is dropped, then the request is refused
        └── changed ◄────────────────────────┘ ends: the request goes on, with `received` in place of a body

A body of at most SMALL_BYTES stays in memory: nothing is written before more has come. All of an upload's own state
belongs to the event loop's thread; a thread works on one batch of its pieces at a time.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from redrive.core.clock import Clock
from redrive.core.entropy import Entropy
from redrive.core.errors import Conflict, ServiceError, Unavailable
from redrive.core.log import Log
from redrive.delivery.bodies import SMALL_BYTES, Received, Segment
from redrive.delivery.checksums import Digests
from redrive.gateway.http.ports import Upload
from redrive.store.bodies import Bodies, BodyWriter
from redrive.store.connection import StoreFull
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.s3_form_reader import FormReader
from redrive.wire.signatures.chunk_reader import ChunkReader

T = TypeVar("T")

OBJECT_BYTES_MAX = 5 * 1024**3
"""Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html"""

UPLOADS_MAX = 256
"""How many uploads may be under way; more are told to slow down."""

QUEUED_BYTES_MAX = 1024 * 1024
"""How much of one upload may wait in memory before the server stops reading from its connection."""

ALL_QUEUED_BYTES_MAX = 32 * 1024 * 1024
"""The same of all uploads together."""

_REFUSED, _CLOSED = 300, 499
"""From which status on an answer is a refusal; and a status for the answer that nobody has waited for."""

THREADS_MAX = 8
"""Digests and disks keep no more busy."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to receive a body. `size` is what the request announces, None if it does not. `chunks` decode aws-chunked."""

    size: int | None
    algorithms: Sequence[str] = ()
    chunks: ChunkReader | None = None

    form: FormPlan | None = None


@dataclass(frozen=True, slots=True)
class FormPlan:
    """How to receive the file of a form: `admit` judges the fields, before anything is written.

    It returns the algorithms of the file's digests, and how many bytes the file may have, or raises ServiceError.
    """

    reader: FormReader
    admit: Callable[[FormReader], tuple[Sequence[str], int]]


Judge = Callable[[HttpRequest], "Plan | HttpResponse | None"]
"""Says of a request's head how to receive its body: as an object's; not at all, with the refusal; or None: as usual."""

Refuse = Callable[[HttpRequest, ServiceError], HttpResponse]
"""The answer to a request that is refused, in the form of its protocol."""


class Uploads:
    """The uploads of a server. Lives on its event loop."""

    def __init__(
        self, bodies: Bodies, *, judge: Judge, refuse: Refuse, clock: Clock, entropy: Entropy, log: Log
    ) -> None:  # fmt: skip
        """`entropy` makes the ids of bodies."""
        self.bodies = bodies
        self.refuse = refuse
        self.log = log
        self.threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="redrive-uploads")
        self.queued_bytes = 0
        self.count = 0
        self.is_closed = False
        self._idle: asyncio.Future[None] | None = None
        self._judge = judge
        self._clock = clock
        self._entropy = entropy

    def open(self, head: HttpRequest, changed: Callable[[], None]) -> Upload | HttpResponse | None:
        """Begin to receive the body of this request, unless it is refused, or no object's.

        `changed` is called when the upload is not full any more, and when it has an outcome.
        """
        plan = self._judge(head)
        if plan is None or isinstance(plan, HttpResponse):
            return plan
        if plan.size is not None and plan.size > OBJECT_BYTES_MAX:
            return self.refuse(head, too_large(plan.size))
        if self.count >= UPLOADS_MAX:
            return self.refuse(head, slow_down())
        body_id = self._entropy.ordered(self._clock.now())
        return ObjectUpload(self, head, Intake(body_id, plan, self.bodies), changed)

    def reject(self, body_id: str) -> None:
        """Delete a received body, because its request was refused."""
        if self.is_closed:
            return
        rejected = asyncio.get_running_loop().run_in_executor(self.threads, self.bodies.reject, body_id)
        rejected.add_done_callback(self._rejected)

    def ended(self) -> None:
        """Say that an upload has ended."""
        self.count -= 1
        if not self.count and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def drain(self, *, grace_s: float) -> None:
        """Wait until what lost uploads have written is deleted. The next opening deletes what is left after that."""
        if self.count:
            self._idle = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._idle], timeout=grace_s)

    def close(self) -> None:
        """Shut down the threads without waiting for their work."""
        self.is_closed = True
        self.threads.shutdown(wait=False, cancel_futures=True)

    def _rejected(self, done: asyncio.Future[None]) -> None:
        error = None if done.cancelled() else done.exception()
        if error is not None:
            self.log.warning("rejected body was not deleted", error=error, next="it is deleted later")


class Intake:
    """What the threads know of one upload."""

    def __init__(self, body_id: str, plan: Plan, bodies: Bodies) -> None:
        self._body_id = body_id
        self._plan = plan
        self._bodies = bodies
        self._digests = Digests(plan.algorithms)
        self._small = bytearray()
        self._writer: BodyWriter | None = None
        self._size = 0
        self._size_max = OBJECT_BYTES_MAX

    @property
    def form_head(self) -> bytes:
        """What a form has before its file; nothing, if the body is no form."""
        return b"" if self._plan.form is None else self._plan.form.reader.head

    def take(self, pieces: Sequence[bytes]) -> None:
        """Take further pieces. Errors: ServiceError; StoreFull, and others of the store."""
        content = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self._plan.chunks is not None:
            content = b"".join(self._plan.chunks.feed(content))
        if self._plan.form is not None:
            content = self._of_form(self._plan.form, content)
        if not content:
            return
        self._size += len(content)
        if self._size > self._size_max:
            raise too_large(self._size, self._size_max)
        self._digests.update(content)
        if self._writer is not None:
            self._writer.write(content)
            return
        self._small += content
        if len(self._small) > SMALL_BYTES:
            self._writer = self._bodies.begin(self._body_id)
            self._writer.write(bytes(self._small))
            self._small.clear()

    def finish(self) -> Received:
        """The received body. Errors: as `take`."""
        trailers: Mapping[str, str] = {}
        if self._plan.chunks is not None:
            self._plan.chunks.finish()
            trailers = self._plan.chunks.trailers
        if self._plan.form is not None:
            self._plan.form.reader.finish()
        if self._writer is None:
            return Received(self._size, bytes(self._small), None, self._digests.values, trailers)
        self._writer.finish()
        stored = Segment(self._body_id, self._size)
        return Received(self._size, None, stored, self._digests.values, trailers)

    def _of_form(self, form: FormPlan, content: bytes) -> bytes:
        """The bytes of the form's file among these. The fields are judged when the last of them has come."""
        had_file = form.reader.has_file
        content = form.reader.feed(content)
        if form.reader.has_file and not had_file:
            algorithms, self._size_max = form.admit(form.reader)
            self._digests = Digests(algorithms)
        return content

    def abort(self) -> None:
        """Delete what was written."""
        if self._writer is not None:
            self._writer.abort()


class ObjectUpload:
    """One upload; see `Upload` in gateway/http/ports.py."""

    def __init__(self, uploads: Uploads, head: HttpRequest, intake: Intake, changed: Callable[[], None]) -> None:
        self._uploads = uploads
        self._head = head
        self._intake = intake
        self._changed = changed
        self._pieces: list[bytes] = []
        self._queued = 0
        self._failure: HttpResponse | None = None
        self._is_working = self._has_ended = self._is_lost = self._is_over = False
        self.outcome: HttpRequest | HttpResponse | None = None
        uploads.count += 1

    @property
    def is_full(self) -> bool:
        """See Upload."""
        if self._queued >= QUEUED_BYTES_MAX:
            return True
        return bool(self._queued) and self._uploads.queued_bytes >= ALL_QUEUED_BYTES_MAX

    def feed(self, piece: bytes) -> None:
        """See Upload."""
        if self._failure is None:
            self._pieces.append(piece)
            self._queued += len(piece)
            self._uploads.queued_bytes += len(piece)
            self._go_on()

    def end(self) -> None:
        """See Upload."""
        self._has_ended = True
        self._go_on()

    def lose(self) -> None:
        """See Upload."""
        self._is_lost = True
        if self._is_over:
            self.answered(_CLOSED)
        self._go_on()

    def timed_out(self) -> HttpResponse:
        """See Upload."""
        self.lose()
        return self._uploads.refuse(self._head, timed_out())

    def answered(self, status: int) -> None:
        """See Upload."""
        request = self.outcome
        if status >= _REFUSED and isinstance(request, HttpRequest) and request.received is not None:
            stored = request.received.stored
            if stored is not None:
                self._uploads.reject(stored.body_id)

    def _go_on(self) -> None:
        """Let a thread do the next thing, unless one is at work or nothing is to do."""
        if self._is_working or self._is_over:
            return
        if self._is_lost:
            self._drop_pieces()
            self._work(self._intake.abort, lambda _: self._end())
        elif self._failure is not None:
            if self._has_ended:
                self._end(self._failure)
        elif self._pieces:
            pieces, self._pieces = self._pieces, []
            size = sum(map(len, pieces))
            self._work(lambda: self._intake.take(pieces), lambda _: None, size)
        elif self._has_ended:
            self._work(self._intake.finish, self._receive)

    def _work(self, work: Callable[[], T], then: Callable[[T], None], size: int = 0) -> None:
        """Do work in a thread, then go on here. `size`: how many bytes have been taken by that."""
        if self._uploads.is_closed:
            return
        self._is_working = True

        def worked(done: asyncio.Future[T]) -> None:
            self._is_working = False
            self._give_back(size)
            error = None if done.cancelled() else done.exception()
            if error is not None:
                self._fail(error)
            elif not done.cancelled():
                then(done.result())
                self._go_on()
            self._changed()

        asyncio.get_running_loop().run_in_executor(self._uploads.threads, work).add_done_callback(worked)

    def _receive(self, received: Received) -> None:
        self._end(dataclasses.replace(self._head, body=self._intake.form_head, received=received))
        if self._is_lost:
            self.answered(_CLOSED)

    def _fail(self, error: BaseException) -> None:
        """Drop what has come, and what will come; then the request is refused."""
        self._failure = self._uploads.refuse(self._head, self._told(error))
        self._drop_pieces()
        self._work(self._intake.abort, lambda _: None)

    def _told(self, error: BaseException) -> ServiceError:
        """What the caller is told of a failure."""
        if isinstance(error, ServiceError):
            return error
        if isinstance(error, StoreFull):
            return ServiceError("InsufficientStorage", str(error), http_status=507, fault="server")
        self._uploads.log.error("upload failed", request=f"{self._head.method} {self._head.path}", error=repr(error))
        if isinstance(error, Conflict | Unavailable):
            return ServiceError("ServiceUnavailable", "The store is busy; try again.", http_status=503, fault="server")
        message = "We encountered an internal error. Please try again."
        return ServiceError("InternalError", message, http_status=500, fault="server")

    def _end(self, outcome: HttpRequest | HttpResponse | None = None) -> None:
        self._is_over = True
        self._uploads.ended()
        self.outcome = outcome

    def _drop_pieces(self) -> None:
        self._give_back(sum(map(len, self._pieces)))
        self._pieces.clear()

    def _give_back(self, size: int) -> None:
        self._queued -= size
        self._uploads.queued_bytes -= size


def too_large(size: int, size_max: int = OBJECT_BYTES_MAX) -> ServiceError:
    """The refusal of a body that is larger than a single PUT may be, or than its sender may bring."""
    return ServiceError(
        "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", http_status=400,
        members={"ProposedSize": size, "MaxSizeAllowed": size_max},
    )  # fmt: skip


def slow_down() -> ServiceError:
    """The refusal of an upload beside too many others."""
    return ServiceError("SlowDown", "Please reduce your request rate.", http_status=503, fault="server")


def timed_out() -> ServiceError:
    """The refusal of an upload whose client is silent, or slower than it may be."""
    message = (
        "Your socket connection to the server was not read from or written to within the timeout period. "
        "Idle connections will be closed."
    )
    return ServiceError("RequestTimeout", message, http_status=400)
