"""The engine: runs operations, and the three beats of all work that starts by itself.

The engine has no loop and no clock of its own. Drivers run it: `driver.py` in production, `virtual.py` in virtual time,
`prove` in a search, `sim` in bad weather. They call `claim`, or `claim_in` inside a transaction of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar, assert_never

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import Bug, Conflict, ServiceError, Unavailable
from redrive.core.log import Log
from redrive.core.scope import Caller
from redrive.delivery.digesting import again, digested
from redrive.delivery.operation import (
    Answer,
    Beforehand,
    ByNode,
    Digesting,
    EventStream,
    Outside,
    StreamedOutside,
    Wait,
)
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.http_call import NO_HTTP, HttpCall, HttpCaller
from redrive.delivery.outside.invocation import Invocation, InvocationStatus, Invoker, invoke_streaming
from redrive.delivery.outside.kept_pieces import KeptPieces
from redrive.delivery.outside.reading import Reading, ReadingResult
from redrive.delivery.web import JudgePage, ServeUrl, StreamedWeb, WebAnswer, no_pages, no_urls
from redrive.delivery.worker import ONE, Attempt, FreeSlots, Worker
from redrive.engine.registry import Registry
from redrive.store.api import Step, Transaction
from redrive.store.bodies import RowBodies

T = TypeVar("T")


class Runner(Protocol):
    """Runs a step and returns after its commit: a store, or the group commit in front of a store."""

    def __call__(self, step: Step[T]) -> T: ...


@dataclass(frozen=True, slots=True)
class Claimed:
    """The result of a round of claims: attempts to perform, and whether anything was due (`progressed`).

    Without attempts, and from `claim_whole`, `next_due` is the next due instant, and `expected` are the workers that
    have work at that instant.
    """

    attempts: Sequence[Attempt]
    progressed: bool
    next_due: Instant | None = None
    expected: Sequence[Worker] = ()


class Engine:
    """Services and workers over one store."""

    def __init__(
        self, run: Runner, registry: Registry, workers: Sequence[Worker], invoker: Invoker, log: Log, *,
        http: HttpCaller = NO_HTTP, serve_url: ServeUrl = no_urls, judge_page: JudgePage = no_pages,
    ) -> None:  # fmt: skip
        self.run = run
        self.registry = registry
        self.invoker = invoker
        self.serve_url = serve_url
        self.judge_page = judge_page
        self._http = http
        self._workers: Mapping[str, Worker] = {worker.name: worker for worker in workers}
        self._places = {worker.name: place for place, worker in enumerate(workers)}
        self._by_timer = [(worker.timer, worker) for worker in workers if worker.timer is not None]
        self._by_asking = [worker for worker in workers if worker.timer is None]
        self._timers: tuple[int | None, Sequence[tuple[Instant, Worker]]] = (None, ())
        self._log = log

    def call(self, caller: Caller, service: str, operation: str, params: Mapping[str, object]) -> Document:
        """Run one operation to its end, in this thread. A long poll does not wait: it answers what is there now.

        Errors: ServiceError.
        """
        return self.conclude(self.awaited(lambda tx: self.registry.begin(tx, caller, service, operation, params)))

    def begun(self, step: Step[Answer]) -> Answer:
        """Run the step of an operation, after the work that it asks for. Errors: ServiceError."""
        answer = self.run(step)
        while isinstance(answer, Beforehand | Digesting):
            if isinstance(answer, Digesting):
                answer = self.run(again(step, answer, digested(RowBodies(self.run), answer)))
            else:
                answer.work()
                answer = self.run(step)
        return answer

    def awaited(self, step: Step[Answer]) -> Answer:
        """Run the step of an operation; the due work that it has begun is done before it answers. Errors: ServiceError.

        For callers in this process: nobody else does the work while they wait, and no time passes.
        """
        answer = self.begun(step)
        while isinstance(answer, Wait) and answer.is_of_caller:
            claimed = self.claim(ONE)
            for attempt in claimed.attempts:
                self.settle(attempt, self.perform(attempt))
            answer = self.begun(step)
            if not claimed.progressed:
                break
        return answer

    def conclude(self, answer: Answer) -> Document:
        """The document of an answer. Performs the outside part first, if there is one. Errors: a returned error."""
        match answer:
            case ServiceError():
                raise answer
            case Wait(result=result):
                return result
            case Outside(invocation, resume):
                ran = self.invoker.invoke(invocation)
                resumed = self.run(lambda tx: resume(tx, ran))
                if isinstance(resumed, ServiceError):
                    raise resumed
                return resumed
            case Beforehand() | Digesting():
                raise Bug("work that comes before an answer is done by `begun`")
            case EventStream() as stream:
                return self.finished(stream).document
            case StreamedOutside() as streamed:
                return self.streamed(streamed).document
            case ByNode():
                message = "This is about a server as a whole, and there is none around this engine."
                raise ServiceError("ValidationException", message)
            case _:
                return answer

    def finished(self, stream: EventStream) -> EventStream:
        """A stream with all events that there are without waiting. Nobody listens after that.

        What comes at once ends with a step that gives no event, or that ends the stream by an error.
        """
        events = list(stream.events)
        more = stream.more
        while more is not None:
            further = self.run(more.resume)
            if isinstance(further, ServiceError) or not further.events:
                break
            events += further.events
            more = further.more
        if more is not None:
            self.run(more.leave)
        return EventStream(stream.name, stream.members, tuple(events))

    def streamed(self, streamed: StreamedOutside) -> EventStream:
        """The whole answer of a run that answers in pieces. Errors: an error that the call is refused with."""
        pieces = KeptPieces()
        ran = invoke_streaming(self.invoker, streamed.invocation, pieces)
        resumed = self.run(lambda tx: streamed.resume(tx, ran))
        if isinstance(resumed, ServiceError):
            raise resumed
        events = (*(streamed.event_of(piece) for piece in pieces.kept), *resumed.events)
        return EventStream(resumed.name, streamed.members, events)

    def served(self, streamed: StreamedWeb) -> WebAnswer:
        """The whole response of a function that answers a request at its URL in pieces."""
        kept = KeptPieces()
        ran = invoke_streaming(self.invoker, streamed.invocation, kept)
        answer = self.run(lambda tx: streamed.resume(tx, ran))
        if not ran.is_streamed or ran.status is not InvocationStatus.OK:
            return answer
        streamed.pieces.begin(kept.content_type)
        parts = [*map(streamed.pieces.feed, kept.kept), streamed.pieces.end()]
        head = next((head for head, _ in parts if head is not None), answer)
        return {**head, "Body": b"".join(piece for _, piece in parts)}

    def claim(self, free: FreeSlots, *, expected: Sequence[Worker] = ()) -> Claimed:
        """First beat, for every worker with due work: does inside work and returns outside work as attempts.

        All workers share one transaction. After a defect in a worker, each worker gets its own transaction. Workers in
        `expected` have work at this instant; they are not asked again.
        """
        try:
            return self.run(lambda tx: self.claim_in(tx, free, expected=expected))
        except (Conflict, Unavailable):
            raise
        except Exception:  # noqa: BLE001 - repeated worker by worker, so that the others can go on.
            return self._claim_apart(free)

    def claim_in(self, tx: Transaction, free: FreeSlots, *, expected: Sequence[Worker] = ()) -> Claimed:
        """Claim as `claim` does, inside the caller's transaction. A defect rolls all of it back.

        Work that one claim creates for another worker is done, too. Each worker claims once, which bounds how long
        others wait for the writer. Upkeep runs first or not at all, because it measures committed data.
        """
        if not expected:
            next_due, expected = self._look(tx, free)
            if next_due is None or next_due > tx.now:
                return Claimed((), progressed=False, next_due=next_due, expected=expected)
        if len(expected) > 1:
            expected = sorted(expected, key=lambda one: not one.upkeep)
        ahead = self._round(tx, expected, free)
        asked: set[str] = set()
        while ahead.next_due is not None and ahead.next_due <= tx.now:
            asked = asked or {one.name for one in expected}
            fresh = [one for one in ahead.expected if one.name not in asked and not one.upkeep]
            if not fresh:
                break
            asked.update([one.name for one in fresh])
            ahead = self._round(tx, fresh, free)
        return ahead

    def claim_whole(self, tx: Transaction, free: FreeSlots) -> Claimed:
        """As `claim_in`; tells what is due next also if there are attempts, so that no other claim has to ask."""
        claimed = self.claim_in(tx, free)
        if not claimed.attempts:
            return claimed
        left = free.without(attempt.function for attempt in claimed.attempts)
        next_due, expected = self._look(tx, left)
        return Claimed(claimed.attempts, True, next_due, expected)

    def _round(self, tx: Transaction, workers: Sequence[Worker], free: FreeSlots) -> Claimed:
        """One claim for each of these workers, and the next due instant after them."""
        attempts: list[Attempt] = []
        left = free
        for worker in workers:
            taken = worker.claim(tx, free=left)
            if taken:
                attempts += taken
                left = left.without(attempt.function for attempt in taken)
        if attempts:
            return Claimed(attempts, progressed=True)
        next_due, expected = self._look(tx, free)
        return Claimed((), True, next_due, expected)

    def _claim_apart(self, free: FreeSlots) -> Claimed:
        """Claim with one transaction for each worker. Errors: the first defect, if no worker made progress."""
        next_due, due = self.run(lambda tx: self._due(tx, free))
        if not due:
            return Claimed((), progressed=False, next_due=next_due)
        attempts: list[Attempt] = []
        ahead = Claimed((), progressed=False)
        failed: Exception | None = None
        left = free
        for worker in due:
            claim = partial(self._round, workers=[worker], free=left)
            try:
                ahead = self.run(claim)
            except (Conflict, Unavailable):
                if not attempts:
                    raise
                break  # Attempts that are already claimed must be performed; the rest is due in the next round.
            except Exception as error:  # noqa: BLE001 - logged; raised only if no other worker made progress.
                self._log.error("claim failed", worker=worker.name, error=repr(error))
                failed = failed or error
                continue  # A defect in one worker must not stop the others.
            attempts += ahead.attempts
            left = left.without(attempt.function for attempt in ahead.attempts)
        if failed is not None and not ahead.progressed:
            raise failed
        if failed is not None or attempts:  # The failed worker still has due work, so the next due instant is unknown.
            return Claimed(attempts, progressed=True)
        return ahead

    def _look(self, tx: Transaction, free: FreeSlots) -> tuple[Instant | None, Sequence[Worker]]:
        """The first due instant, and the workers with work that is due now or, if none is, at that instant."""
        asked: list[tuple[Instant, Worker]] = []

        def ask(part: Transaction, worker: Worker) -> None:
            at = worker.next_due(part, free=free)
            if at is not None:
                asked.append((at, worker))

        tx.side_by_side(self._by_asking, ask)
        asked += self._by_timers(tx)
        if not asked:
            return None, ()
        first_at = min([at for at, _ in asked])
        until = max(first_at, tx.now)
        expected = [worker for at, worker in asked if at <= until]
        if len(expected) > 1:
            expected.sort(key=lambda worker: self._places[worker.name])
        return first_at, expected

    def _due(self, tx: Transaction, free: FreeSlots) -> tuple[Instant | None, Sequence[Worker]]:
        """The first due instant, and the workers with work that is due now."""
        next_due, expected = self._look(tx, free)
        return next_due, expected if next_due is not None and next_due <= tx.now else ()

    def _by_timers(self, tx: Transaction) -> Sequence[tuple[Instant, Worker]]:
        """The workers with a timer, and when it is due. Cached, because most calls find the timers unchanged."""
        version = tx.timers.version
        if self._timers[0] != version:
            tx.timers.look_up([timer for timer, _ in self._by_timer])
            due = [(at, worker) for timer, worker in self._by_timer if (at := tx.timers.next(timer)) is not None]
            self._timers = (version, due)
        return self._timers[1]

    def take_over(self) -> None:
        """End the leases that an earlier process left. Only for a node that is alone on the store."""
        self.run(lambda tx: tx.deliveries.end_leases(tx.now))

    def perform(self, attempt: Attempt) -> Result:
        """Second beat: perform the errand outside. May take as long as the errand's timeout."""
        match attempt.errand:
            case Invocation() as invocation:
                return self.invoker.invoke(invocation)
            case HttpCall() as call:
                return self._http.call(call)
            case Reading():
                return ReadingResult(attempt.errand.perform(self.run))
            case _:
                assert_never(attempt.errand)

    def settle(self, attempt: Attempt, result: Result) -> None:
        """Third beat: record the answer, and do what follows."""
        worker = self._workers[attempt.worker]
        self.run(lambda tx: worker.settle(tx, attempt, result))

    def next_due(self, free: FreeSlots, *, upkeep: bool = True) -> Instant | None:
        """The next due instant. Without `upkeep`, only work that a user waits for counts."""
        workers = [worker for worker in self._workers.values() if upkeep or not worker.upkeep]
        found = self.run(lambda tx: [worker.next_due(tx, free=free) for worker in workers])
        return min((at for at in found if at is not None), default=None)
