"""An engine in memory and virtual time, made to play many histories: its state can be saved and restored.

It is the engine of `redrive serve`, with its services and workers, except the workers for upkeep. Nothing here knows of
faults.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

from redrive.core.clock import Instant, parse_instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import Bug, ServiceError
from redrive.core.log import SilentLog
from redrive.core.scope import Caller, Scope
from redrive.core.sessions import Issuer
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.invocation import Invocation, InvocationResult, Invoker
from redrive.delivery.worker import ONE, Attempt
from redrive.engine.build import bind_registry
from redrive.engine.engine import Claimed, Engine
from redrive.engine.workers import build_workers
from redrive.gateway.chain import Gateway
from redrive.gateway.identity import DEFAULT_REGION, Identity
from redrive.prove.effects.journal import Trace
from redrive.prove.stage.contents import Asked, Contents
from redrive.prove.stage.ids import Ids, renamed
from redrive.prove.stage.question import Question
from redrive.prove.stage.tape import Answered, Beginning, Mark, Saved, Strayed, Tape
from redrive.services.lambda_.source import SOURCE as LAMBDA_EVENTS
from redrive.services.sqs.model.queue import Queue
from redrive.services.sqs.model.receipts import decode_receipt
from redrive.services.sqs.visibility import next_visible
from redrive.store.api import Step, Transaction
from redrive.store.contents import ContentStore
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models

T = TypeVar("T")

START = parse_instant("2025-01-01T00:00:00Z")
SCOPE = Scope("000000000000", DEFAULT_REGION)
_CLAIM, _NEXT_DUE = Question(("claim",)), Question(("next due",))
_WAITING, _WAITING_EVENTS = Question(("waiting",)), Question(("waiting events",))
ROUNDS_MAX = 10_000
"""After more rounds of claims than this without a run, something is due for ever."""

MADE_UP = frozenset({"stepfunctions"})
"""Services of the engine that it does not answer here: a handler may start any machine, which no template has made."""

DECIDING_TABLES = (
    "activity_tasks", "deliveries", "dedup_receives", "dedup_sends", "executions", "messages", "timers", "tokens",
)  # fmt: skip
"""The store's tables whose rows decide what is delivered next, and the answers to repeated requests."""
LEFT_TABLES = (
    "archived_events", "bodies", "body_pieces", "items", "object_numbers", "objects", "stream_records", "upload_parts",
    "uploads",
)  # fmt: skip
"""The tables whose rows are what runs have left behind."""
_ALIKE_TABLES = (*DECIDING_TABLES, *LEFT_TABLES)
TELLING_TABLES = (
    "alarm_history", "archive_minutes", "attempts", "execution_events", "facts", "links", "log_events", "metrics",
    "moves", "notes", "runs",
)  # fmt: skip
"""The tables whose rows record what happened, and decide nothing."""
SETTLED_TABLES = ("blobs", "resources")
"""The tables whose rows were made before the first history."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whether a queue has a message, visible or not, and how many messages its dead-letter queue has."""

    is_pending: bool
    dead: int


@functools.cache
def models() -> Models:
    """AWS's models, read once: they do not change."""
    return Models()


def is_of_engine(service: str) -> bool:
    """Whether the engine answers the calls of a service; otherwise answers are made up from the service's model."""
    return service in models().specs and service not in MADE_UP


class Attached(Protocol):
    """Another part of the world, which is saved and restored with the engine: databases."""

    def save(self) -> object: ...

    def load(self, saved: object) -> None: ...

    def told(self) -> str:
        """Its whole state as text; equal states give equal texts."""
        ...


class StageClock:
    """A clock that stands still at its set time."""

    is_virtual = True

    def __init__(self, now: Instant) -> None:
        self._now = now

    def now(self) -> Instant:
        return self._now

    def set(self, instant: Instant) -> None:
        """Set the time, later or earlier than before."""
        self._now = instant


class Stage:
    """One engine, its clock and its ids. Time moves only when told to.

    All questions to the engine on a leg go through `_ask`, which can answer from the tape of another leg.
    """

    def __init__(self, invoker: Invoker, *, seed: int) -> None:
        self.clock = StageClock(START)
        self._ids = Ids(seed)
        self._serial = 0
        self._position = 0
        self._asked: dict[object, int] = {}
        """How often each kind of question was asked on this leg: ids are drawn by that."""
        self._tape = Tape()
        self._awaited: Mark | None = None
        self._likenesses: dict[Hashable, bytes] = {}
        self.remembers = False
        """Whether questions are answered by what is known of other histories, where it is the same."""
        self.more_deciding: Step[str] | None = None
        """What else decides what is delivered next, as text: for a mapping from a stream, its positions."""
        self.attached: list[Attached] = []
        """The other parts of the world."""
        self._store = ContentStore(clock=self.clock, entropy=self._ids)
        self.invoker = invoker
        registry = bind_registry(self._store, models())
        workers = build_workers(SilentLog(), has_upkeep=False)
        self.contents = Contents(self._store)
        self.engine = Engine(self.contents.run, registry, workers, invoker, SilentLog())
        self.issuer = Issuer(self._store.secret)
        identity = Identity(self.issuer, account=SCOPE.account, clocks=[self.clock])
        self._gateway = Gateway(self.engine, models(), identity=identity, entropy=self._ids, log=SilentLog())

    @property
    def now(self) -> Instant:
        """The virtual time."""
        return self.clock.now()

    @property
    def tape(self) -> Tape:
        """The questions and answers since the leg began."""
        return self._tape

    @property
    def is_live(self) -> bool:
        """Whether the engine itself answers, and not a tape."""
        return self._awaited is None

    def call(self, service: str, operation: str, **params: object) -> Document:
        """Run one operation as the account itself, without the wire. Errors: ServiceError."""
        return self._ask((service, operation, params), lambda: self._call(service, operation, params))

    def look_up(self, service: str, operation: str, **params: object) -> Document:
        """Run one operation that changes nothing, without the tape. Errors: ServiceError."""
        asked = Question(("look up", service, operation, params))
        return self._answered(asked, lambda: self._call(service, operation, params), ("look up",)).given()

    def send(self, number: int, **params: object) -> None:
        """Send the message with that number in this history; the message has the same id in all histories.

        Errors: ServiceError.
        """
        place = ("message", number)
        self._ask(("send", params), lambda: self._call("sqs", "SendMessage", params), place=place)

    def invoke(self, number: int, function_name: str, payload: str) -> None:
        """Invoke a function asynchronously; the event with that number in this history has the same request id in all.

        Errors: ServiceError.
        """
        params = {"FunctionName": function_name, "InvocationType": "Event", "Payload": payload.encode()}
        place = ("message", number)
        self._ask(("invoke", params), lambda: self._call("lambda", "Invoke", params), place=place)

    def id_for(self, name: str, number: int) -> str:
        """The id with that number in this history; the same in all histories."""
        self._ids.begin(name, number)
        return new_uuid(self._ids)

    def step(self, asked: tuple[object, ...], step: Step[T]) -> T:
        """Run a step. `asked` describes it."""
        return self._ask(asked, lambda: self.engine.run(step))

    def ask(self, asked: tuple[object, ...], ask: Callable[[], T]) -> T:
        """Ask another part of the world, whose answers are not remembered. `asked` describes the question."""
        return self._ask(asked, ask, is_engines=False)

    def respond(self, asked: Question, request: Callable[[], HttpRequest]) -> HttpResponse:
        """Answer a request through the gateway. `asked` describes the request; `request` makes it, only if needed."""
        return self._ask(asked, lambda: self._gateway.respond(request()))

    def refuse(self, asked: Question, request: Callable[[], HttpRequest], error: ServiceError) -> HttpResponse:
        """Answer a request with an error, without any effect."""

        def refuse() -> HttpResponse:
            exchange = self._gateway.open(request())
            return exchange if isinstance(exchange, HttpResponse) else self._gateway.answer(exchange, error)

        return self._ask(asked, refuse)

    def begin_leg(self, beginning: Beginning | None = None) -> None:
        """Begin a tape: a new one, or one that is known up to a mark."""
        self._serial += 1
        self._position = 0
        self._asked = {}
        self._tape = Tape([] if beginning is None else list(beginning.answers[: beginning.mark.position]))
        self._awaited = None if beginning is None else beginning.mark

    def go_on(self, index: int, *, is_after: bool) -> frozenset[Trace] | None:
        """Continue with the engine if the known tape ends at this mark; returns what was left behind until there.

        Errors: Strayed if the handler asked other questions than on the tape.
        """
        mark = self._awaited
        if mark is None or (mark.index, mark.is_after) != (index, is_after):
            return None
        if self._position != mark.position or self.now != mark.saved.now:
            raise Strayed
        self._awaited = None
        self.load(mark.saved)
        return mark.traces

    def save(self) -> Saved:
        """Save the whole state, for `load`."""
        others = tuple(one.save() for one in self.attached)
        return Saved(self.contents.save(), self.now, self._serial, dict(self._asked), others)

    def load(self, saved: Saved) -> None:
        """Restore a saved state. Only this can move time backwards."""
        self.contents.load(saved.world)
        self.clock.set(saved.now)
        self._serial, self._asked = saved.serial, dict(saved.asked)
        for number, one in enumerate(self.attached):
            one.load(saved.others[number] if number < len(saved.others) else None)

    def mark(self, index: int, traces: frozenset[Trace], *, is_after: bool) -> None:
        """Mark this place on the tape, with the whole state.

        A nested question, as when a function invokes itself, is not on the tape in order: after it no place can be
        marked.
        """
        if self._position != len(self._tape.answers):
            return
        latest = self._tape.latest
        is_same = latest is not None and (latest.position, latest.saved.now) == (self._position, self.now)
        saved = latest.saved if latest is not None and is_same else self.save()
        self._tape.latest = Mark(index, is_after, self._position, saved, traces)
        self._tape.marks[index, is_after] = self._tape.latest

    def digest(self) -> bytes:
        """A hash of everything that decides what happens next, except the time."""
        others = [one.told() for one in self.attached]
        return _hashed("".join([*self.contents.told((*DECIDING_TABLES, *LEFT_TABLES)), *others]))

    def likeness(self, *others: Hashable) -> bytes:
        """A hash for deduplication: two moments with the same hash continue alike, as far as the stage's state decides.

        See `renamed`.
        """
        more, attached = self._more_deciding(), tuple([one.told() for one in self.attached])
        moment = (self.contents.numbers(_ALIKE_TABLES), more, attached, others)
        known = self._likenesses.get(moment)
        if known is None:
            held = "".join([*self.contents.told(DECIDING_TABLES), more])
            left = [*self.contents.told(LEFT_TABLES), *map(repr, others), *attached]
            known = self._likenesses[moment] = _hashed(held + renamed(left, held, self._ids.drawn))
        return known

    def settle(self) -> None:
        """Do what is due now."""
        for _ in range(ROUNDS_MAX):
            if not self.turn():
                return
        raise Bug("work is due for ever: a worker is due and makes no progress")

    def turn(self) -> bool:
        """One round of claims, and its runs; returns whether anything was due."""
        claimed: Claimed = self._ask(_CLAIM, lambda: self.engine.claim(ONE))
        for attempt in claimed.attempts:
            self._settle(attempt, self.engine.perform(attempt))
        return claimed.progressed

    def move_to(self, instant: Instant) -> None:
        """Advance time without any delivery: what was due meanwhile is done at the end."""
        if instant > self.now:
            self.clock.set(instant)
            self._serial = 0

    def next_due(self) -> Instant | None:
        """The next instant at which something is due."""
        return self._ask(_NEXT_DUE, lambda: self.engine.next_due(free=ONE))

    def waiting(self, queue_arn: str, dead_letter_arn: str) -> Waiting:
        """What is left in a queue and in its dead-letter queue."""

        def look(tx: Transaction) -> Waiting:
            dead = _message_count(tx, dead_letter_arn.rpartition(":")[2])
            return Waiting(next_visible(tx, queue_arn) is not None, dead)

        return self._ask(_WAITING, lambda: self.engine.run(look))

    def waiting_events(self, function_name: str, dead_letter_arn: str) -> Waiting:
        """What is left of a function's asynchronous events, and in the queue of its dead letters."""
        function_arn = f"arn:aws:lambda:{SCOPE.region}:{SCOPE.account}:function:{function_name}"

        def look(tx: Transaction) -> Waiting:
            dead = _message_count(tx, dead_letter_arn.rpartition(":")[2])
            return Waiting(tx.deliveries.count_of_source(LAMBDA_EVENTS, function_arn) > 0, dead)

        return self._ask(_WAITING_EVENTS, lambda: self.engine.run(look))

    def show_again(self, queue_url: str, handle: str) -> bool:
        """Make a received message visible at once; False if nobody holds it any more."""
        try:
            self.call("sqs", "ChangeMessageVisibility", QueueUrl=queue_url, ReceiptHandle=handle, VisibilityTimeout=0)
        except ServiceError:
            return False
        return True

    def hold_again(self, queue_arn: str, handle: str) -> None:
        """Make the first receipt of a message that was received twice valid again; it deletes the message, too."""

        def hold(tx: Transaction) -> None:
            queue = tx.resources.get(Queue, SCOPE, queue_arn.rpartition(":")[2])
            if queue is not None:
                receipt = decode_receipt(handle, queue.id)
                tx.messages.restore_receipt(queue.id, receipt.seq, receipt.nonce)

        self._ask(("hold again", handle), lambda: self.engine.run(hold))

    def close(self) -> None:
        """Release all resources."""
        self._store.close()

    def _call(self, service: str, operation: str, params: Document) -> Document:
        return self.engine.call(Caller(SCOPE, new_uuid(self._ids)), service, operation, params)

    def _settle(self, attempt: Attempt, result: Result) -> None:
        asked = ("settle", attempt.worker, attempt.key, attempt.fence, *_errand_told(attempt.errand), *_told(result))
        self._ask(asked, lambda: self.engine.settle(attempt, result))

    def _more_deciding(self) -> str:
        # Not as a question: it may decide by more than the tables have.
        return "" if self.more_deciding is None else self.engine.run(self.more_deciding)

    def _ask(
        self, asked: Question | tuple[object, ...], ask: Callable[[], T], *, place: tuple[object, ...] | None = None,
        is_engines: bool = True,
    ) -> T:  # fmt: skip
        """Ask the engine, or the tape while it lasts. Ids are drawn at `place`, or at the current place of the history.

        Errors: ServiceError as `ask`; Strayed if the tape has another question here.
        """
        question = asked if isinstance(asked, Question) else Question(asked)
        position = self._position
        self._position += 1
        nth = self._asked[question.kind] = self._asked.get(question.kind, 0) + 1
        if self._awaited is not None:
            known = self._tape.answers[position] if position < self._awaited.position else None
            if known is None or not known.question.is_the_same(question):
                raise Strayed
            return cast("T", known.given())
        answered = self._answered(question, ask, place, nth) if is_engines else Answered.of(question, ask)
        self._tape.answers.append(answered)
        return answered.given()

    def _answered(
        self, question: Question, ask: Callable[[], T], place: tuple[object, ...] | None, nth: int = 0
    ) -> Answered[T]:
        """The engine's answer; a known one if the search remembers, and what it depends on is the same."""

        def answer() -> Answered[T]:
            self._ids.begin(*(place or (self.now, self._serial, question.kind, nth)))
            return Answered.of(question, ask)

        text = question.text if self.remembers else None
        key = None if text is None else (text, self.now)
        return self.contents.ask(Asked(key, answer, place or (self._serial, nth), self._ids))


def _message_count(tx: Transaction, queue_name: str) -> int:
    queue = tx.resources.get(Queue, SCOPE, queue_name) if queue_name else None
    if queue is None:
        return 0
    counts = tx.messages.counts(queue.contents, tx.now)
    return counts.visible + counts.in_flight + counts.delayed


def _errand_told(errand: Errand) -> tuple[object, ...]:
    return (errand.request_id, errand.payload) if isinstance(errand, Invocation) else (errand,)


def _told(result: Result) -> tuple[object, ...]:
    """A result in plain values, if it says no more than the results of runs do here."""
    if isinstance(result, InvocationResult) and result == InvocationResult(result.status, result.payload):
        return result.status.value, result.payload
    return (result,)


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
