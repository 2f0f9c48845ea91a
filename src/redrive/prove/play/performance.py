"""Plays one leg of a history: delivers the message, runs the handler, and lets faults strike at its calls.

It is the engine's invoker, so it performs whatever the engine gives the function to do. It also is behind all boto3
clients of the process, so it sees each call before and after.

The module is longer than a module should be: a leg, its runs and the calls of those runs interrupt each other, and
share state. What does not need that state is elsewhere (messages, strikes, running, threads, tape).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from botocore.client import BaseClient
from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import Bug
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.invoke.runtime.context import LambdaContext
from redrive.invoke.runtime.handlers import Answer, error_answer, run_handler
from redrive.prove.calls.calls import EFFECT_SERVICE, Call, Params, as_sent, call_of, mapping_of, with_body_read
from redrive.prove.calls.given import NOTHING_GIVEN, Given
from redrive.prove.effects.declared import Declared, watched_effects
from redrive.prove.effects.journal import Journal, Trace
from redrive.prove.guess.http_answers import guessed_document
from redrive.prove.play.events import Called, DeadLettered, Ended, Ending, Event, Sent, Shown
from redrive.prove.play.faults import LETS_IN, REDRIVES_MAX, Act, Fault, Leg, Strike
from redrive.prove.play.running import Died, Passage, Run, given, handles_of, told
from redrive.prove.play.sql import Sql
from redrive.prove.play.strikes import Strikes
from redrive.prove.play.transport import Asked, Transport, Way, can_retry
from redrive.prove.play.variables import process_variables, run_variables
from redrive.prove.play.web import Web
from redrive.prove.process.exchange import HttpAnswer, HttpAsked
from redrive.prove.process.files import Files
from redrive.prove.process.http import answered_http
from redrive.prove.process.http_async import answered_libraries
from redrive.prove.process.sql_drivers import answered_sql
from redrive.prove.process.sql_exchange import SqlAnswer, SqlAsked, SqlRefusal
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.process.surroundings import Surroundings, replaced, variables
from redrive.prove.process.threads import Threads, Unordered
from redrive.prove.process.waiters import ended_waiters
from redrive.prove.stage.messages import Left, Messages, StreamRecords, messages_of
from redrive.prove.stage.stage import Stage, Waiting, models
from redrive.prove.stage.tables import Improvised
from redrive.prove.stage.tape import Beginning, Known, Saved, Strayed
from redrive.prove.stage.trigger import Kind, Trigger

LATE_MARGIN_MS = 1_000
"""How long before the timeout of a run another run overlaps it late."""

TRACES_KEPT = 1_024
"""Thousands of histories leave few distinct sets of traces."""

RUNS_MAX = 100
"""A history has at most this many runs more than its queue allows a message; after that it counts as endless."""


_TRACED = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


class Endless(BaseException):
    """A history has had more runs than it can need. Not an Exception, so that the handler does not catch it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The state between two legs, from which a history continues."""

    saved: Saved
    traces: frozenset[Trace]
    runs: int
    outage: str
    messages: Left


class Performance:
    """A handler, its trigger and a stage for them."""

    def __init__(
        self, subject: Subject | None, *, seed: int, improvised: Improvised | None = None, given: Given = NOTHING_GIVEN
    ) -> None:
        """With `improvised`, missing tables and queues are made at their first use.

        The subject may be set later, before the first leg.
        """
        self.stage = Stage(self, seed=seed)
        self._subject = subject
        self.journal = Journal((), self._key_names)
        self.events: list[Event] = []
        self.surroundings = Surroundings()
        self.runs = 0
        self.outage = ""
        self.after_call: Callable[[], None] = lambda: None
        self.is_known: Callable[[], bool] = lambda: False
        """Called after each call once no fault is left to strike: whether the rest of the leg can be skipped."""
        self._improvised = improvised
        self._trigger: Trigger | None = None
        self._messages: Messages | None = None
        self._transport: Transport | None = None
        self._running: list[Run] = []
        self.strikes = Strikes(Leg())
        self._is_marked = False
        self._is_over = False
        self._keys: dict[str, tuple[str, ...]] = {}
        self._contexts: dict[str, dict[str, str]] = {}
        self._is_inside = ContextVar("is_inside", default=False)
        self._threads = Threads(self._is_handlers, lambda: self.stage.now, self._sleep)
        self._escape: BaseException | None = None
        self._read_json = functools.cache(self._guessed_document)
        self.web = Web(given, self._read_json)
        self.made_up = self.web.guesses
        self.files = Files(self._running_number, lambda what, how: self.made_up.update({what: how}))
        self.sql = Sql(self.stage, lambda: self.subject.file, self.made_up)
        """The answers that were made up: of HTTP, and of reads of what the engine does not have."""
        self.failed_at: tuple[str, ...] = ()
        """The lines of the user's code in the traceback of the last run that failed."""
        self.is_endless = False
        """Whether the last leg was ended because the history had too many runs."""

    @property
    def subject(self) -> Subject:
        """The handler."""
        if self._subject is None:
            raise Bug("a performance without a handler")
        return self._subject

    @subject.setter
    def subject(self, subject: Subject) -> None:
        self._subject = subject

    @property
    def trigger(self) -> Trigger:
        """The trigger of the handler."""
        if self._trigger is None:
            raise Bug("a performance without a trigger")
        return self._trigger

    @property
    def messages(self) -> Messages:
        """The messages of the trigger."""
        if self._messages is None:
            raise Bug("a performance without a trigger")
        return self._messages

    def begin(self, trigger: Trigger) -> None:
        """Send the messages of a trigger; every history begins so."""
        self._trigger = trigger
        self._messages = messages_of(self.stage, trigger)
        self.journal = Journal(trigger.work_texts, self._key_names)
        self.stage.begin_leg()
        for number in range(len(trigger.bodies)):
            self._messages.send(number)

    @contextmanager
    def entered(self, transport: Transport) -> Iterator[None]:
        """While entered, the process is prepared for the handler's runs, and `transport` answers its clients."""
        self._transport = transport

        def ask(client: BaseClient, operation: str, params: Params) -> object:  # Becomes a method of the class.
            return self.ask(client, operation, params)

        with ExitStack() as stack:
            stack.enter_context(variables(process_variables(self.stage, self.trigger), self.trigger.variables))
            stack.enter_context(self.surroundings.entered(self.stage.now, self._sleep))
            stack.enter_context(self._threads.entered())
            stack.enter_context(replaced(BaseClient, "_make_api_call", ask))
            stack.enter_context(watched_effects(self._happening))
            stack.enter_context(answered_http(self.request))
            stack.enter_context(answered_libraries(self.request))
            stack.enter_context(self.files.entered(self.subject.file))
            stack.enter_context(answered_sql(self.query, self._connected))
            stack.enter_context(ended_waiters(lambda service: service not in models().specs))
            stack.enter_context(transport.entered())
            yield

    def save(self) -> Moment:
        """Save the state between two legs."""
        return Moment(self.stage.save(), self.journal.traces, self.runs, self.outage, self.messages.save())

    def load(self, moment: Moment) -> None:
        """Restore a saved state."""
        self.stage.load(moment.saved)
        self.journal.traces = moment.traces
        self.runs, self.outage = moment.runs, moment.outage
        self.messages.load(moment.messages)

    @property
    def runs_max(self) -> int:
        """The most runs of a history; a redriven message may come as often again."""
        return RUNS_MAX + self.trigger.receives_max * (1 + REDRIVES_MAX)

    @property
    def sent_at(self) -> Instant:
        """When the message was sent, or redriven from the dead-letter queue: its retention counts from then."""
        return self.messages.sent_at

    @property
    def waiting(self) -> Waiting:
        """The messages left in the queue, and in the dead-letter queue, at the end of the last leg."""
        return self.messages.waiting

    def likeness(self) -> bytes:
        """A hash for deduplication: two moments with the same hash continue alike as long as no fault strikes.

        Within a leg this holds if the current runs have observed the same: then they will make the same calls.
        """
        return self.stage.likeness(
            _told_in_order(self.journal.traces),
            [(run.deadline_at, sorted(run.throttled), sorted(run.unreached), run.met) for run in self._running],
        )

    @property
    def running(self) -> Sequence[Run]:
        """The runs under way: a run, and the runs that overlap it."""
        return self._running

    def play(self, leg: Leg, beginning: Beginning | None = None, *, is_marked: bool = False) -> list[Event]:
        """Play a leg from here, and return its events.

        With `beginning`, known answers come from its tape and not from the engine. Errors: Strayed if the handler then
        makes another call; Known. With `is_marked`, other legs can share this leg's beginning.
        """
        self.events = []
        self._is_marked, self._is_over, self._escape, self.is_endless = is_marked, False, None, False
        self.strikes = Strikes(leg)
        self.stage.begin_leg(beginning)
        dead = 0 if leg.act is Act.REDRIVE else self.waiting.dead
        try:
            self._begin_leg(leg)
            self._deliver()
        except Endless:
            self.is_endless = True
        waiting = self.messages.waiting = self.messages.look()
        if waiting.dead > dead:
            self.events.append(DeadLettered(self.stage.now, waiting.dead - dead, self.trigger.kind))
        if not waiting.is_pending:
            self.outage = ""
        return self.events

    def invoke(self, invocation: Invocation) -> InvocationResult:
        """Run the handler once, in a new environment. Other functions are invoked, and do nothing."""
        if self._trigger is None or invocation.function_name != self._trigger.function_name:
            return InvocationResult(InvocationStatus.OK, b"null")
        if self.runs >= self.runs_max:
            raise Endless
        self.runs += 1
        deadline_at = self.stage.now + invocation.timeout_ms
        if self._trigger.kind is Kind.SQS:
            run = Run(self.runs, deadline_at, handles_of(invocation))
        else:
            run = Run(self.runs, deadline_at, invocation=invocation)
        run.meet(self.stage.now, (invocation.request_id, invocation.payload))
        self._running.append(run)
        self.surroundings.begin(f"run {invocation.request_id}", self.stage.now)
        self.events.append(given(self.stage.now, run.number, invocation, self._trigger.kind))
        try:
            answer = self._run(invocation)
        except (Died, SystemExit):
            run.death = run.death or Ending.DIED
            answer = Answer(b"")
        finally:
            self._running.pop()
            self.surroundings.move_to(self.stage.now)
            self.files.end(run.number)
            if self.sql.has(run.number) and self._escape is None:
                self.sql.end(run.number)
        if self._is_over:
            raise Known
        if self._escape is not None:
            raise self._escape
        return self._result(run, answer)

    def close(self) -> None:
        """Close the stage."""
        self.stage.close()

    def ask(self, client: BaseClient, operation: str, params: Params) -> object:
        """Answer a call of a boto3 client."""
        if self._transport is None:
            raise Bug("a call before the process was entered")
        transport = self._transport
        params = with_body_read(params)
        sent = with_body_read(as_sent(client, operation, params))
        call = call_of(client.meta.service_model.service_name, operation, sent)
        note_guess = functools.partial(self._note_guess, call)
        with self._escaping():
            if not self._threads.is_mine:
                raise self._threads.refuse(f"a thread that goes on by itself calls {call}")
            if self._running and self._improvised is not None:
                self._improvised.provide(self.stage, call)
            if call.service not in models().specs:
                self._note_guess(call)
            if not self._running or self._is_inside.get():
                return transport.send(
                    Asked(client, call, params, Way.NORMAL, lambda _: None, note_guess, self._read_json)
                )
            with self._boundary(call, self._note_call(call), is_retried=can_retry(client)) as passage, self._inside():
                asked = Asked(client, call, params, passage.way, passage.take_effect, note_guess, self._read_json)
                passage.answer = transport.send(asked)
            return passage.answer

    def request(self, asked: HttpAsked) -> HttpAnswer:
        """Answer a request over HTTP. Errors: ConnectionRefusedError; TimeoutError if the answer is lost."""
        call = self.web.call_of(asked)
        with self._escaping():
            if not self._threads.is_mine:
                raise self._threads.refuse(f"a thread that goes on by itself sends {call}")
            if not self._running or self._is_inside.get():
                return self.web.answer(asked, call)
            with self._boundary(call, self._note_call(call), is_retried=False) as passage, self._inside():
                return self.web.pass_on(asked, call, passage, is_outage=call.name == self.outage)

    def query(self, asked: SqlAsked) -> SqlAnswer | SqlRefusal:
        """Answer a statement to a database."""
        place = (self._running[-1].number if self._running else 0, asked.connection)
        call = self.sql.call_of(place, asked)
        with self._escaping():
            if not self._threads.is_mine:
                raise self._threads.refuse(f"a thread that goes on by itself asks a database: {asked.text}")
            if call is None or not self._running or self._is_inside.get():
                return self.sql.answer(place, asked)
            with self._boundary(call, self._note_call(call), is_retried=False) as passage, self._inside():
                answer = self.sql.pass_on(place, asked, passage)
            return answer

    def _running_number(self) -> int | None:
        """The number of the run whose code is running; None inside its calls, and for any other code."""
        return self._running[-1].number if self._running and not self._is_inside.get() else None

    def _connected(self) -> int | None:
        """The number of a new connection to a database; None if it is none of the handler's."""
        run = self._running_number()
        return None if run is None else self.sql.connect(run)

    def _guessed_document(self) -> Document:
        """What answers over HTTP say that nobody has given: what the handler reads of them."""
        return guessed_document(self.subject.file) if isinstance(self.subject, NamedSubject) else {}

    def _run(self, invocation: Invocation) -> Answer:
        context = LambdaContext(
            request_id=invocation.request_id,
            function_arn=invocation.function_arn,
            deadline_at=self._running[-1].deadline_at,
            clock=self.stage.clock,
            environment=self._environment_of(invocation),
        )
        with self.surroundings.silenced():
            try:
                with self.subject.environment() as handler:
                    return run_handler(handler, invocation.payload, context, invocation.request_id)
            except Exception as error:  # noqa: BLE001 - the user's module may raise any exception.
                return error_answer(error, invocation.request_id)

    def _result(self, run: Run, answer: Answer) -> InvocationResult:
        if run.death is not None:
            self.events.append(Ended(self.stage.now, run.number, run.death, "", kind=self.trigger.kind))
            return InvocationResult(InvocationStatus.FUNCTION_ERROR, b'{"errorType":"Runtime.ExitError"}')
        failed = answer.error_type is not None
        self.failed_at = _own_lines(answer, self.subject) if failed else ()
        ending = Ending.FAILED if failed else Ending.RETURNED
        said = self.surroundings.said.rstrip().rpartition("\n")[2]
        self.events.append(Ended(self.stage.now, run.number, ending, told(answer), said, self.trigger.kind))
        status = InvocationStatus.FUNCTION_ERROR if failed else InvocationStatus.OK
        return InvocationResult(status, answer.payload)

    def _begin_leg(self, leg: Leg) -> None:
        if leg.act is Act.DELIVER:
            return
        if leg.delay_ms:
            self.stage.move_to(self.stage.now + leg.delay_ms)
            self.stage.settle()
        self.events.append(Sent(self.stage.now, leg.act, self.trigger.kind))
        match leg.act:
            case Act.DUPLICATE:
                self.messages.send(leg.message)
            case Act.REPUBLISH:
                self.messages.republish(leg.message)
            case Act.REREAD if isinstance(self.messages, StreamRecords):
                self.messages.read_again()
            case _:
                self.messages.redrive()

    def _deliver(self) -> None:
        """Advance time until the handler has run, or nothing is left to deliver to it."""
        runs = self.runs
        while self.runs == runs:
            due = self.stage.next_due()
            if due is None or (due > self.stage.now and not self.messages.look().is_pending):
                return
            self.stage.move_to(due)
            self.stage.turn()

    @contextmanager
    def _boundary(
        self, call: Call, note: Callable[[Params], None], *, is_retried: bool
    ) -> Iterator[Passage]:  # fmt: skip
        """One call of the handler, with the faults that strike at it. The code inside makes the call."""
        run = self._running[-1]
        if self._is_over:
            raise Known
        if run.death is not None:
            raise Died
        index, strikes = self._reach(call)
        place = self.subject.place()
        is_resumed = False
        while others := [strike for strike in strikes if strike.fault in LETS_IN]:
            self._let_in(run, others[0])
            index, strikes = self._reach(call)  # So that further faults can strike at this same call.
            is_resumed = True
        faults = tuple(strike.fault for strike in strikes)
        if Fault.OUTAGE in faults:
            self.outage = call.name
        passage = Passage(run.way(call.name, faults, outage=self.outage), note)

        def record(outcome: str) -> None:
            self.events.append(
                Called(
                    self.stage.now, run.number, index, call, place, outcome, passage.times, faults,
                    is_nested=len(self._running) > 1, is_retried=is_retried, is_resumed=is_resumed,
                    is_declared=call.matches(self.journal.sorting.effects),
                )
            )  # fmt: skip

        if Fault.CRASH_BEFORE in faults:
            record("")
            run.die()
        try:
            yield passage
        except ClientError as error:
            record(str(mapping_of(error.response.get("Error")).get("Code")))
            run.meet(self.stage.now, error.response)
            self._after(run, index, faults)
            raise
        except (BotoCoreError, OSError) as error:
            record(type(error).__name__)
            run.meet(self.stage.now, type(error).__name__)
            self._after(run, index, faults)
            raise
        except Exception as error:  # An exception of the user's effect goes to the handler.
            run.meet(self.stage.now, repr(error))
            raise
        record(passage.outcome)
        run.meet(self.stage.now, passage.answer)
        self._after(run, index, faults)

    def _reach(self, call: Call) -> tuple[int, Sequence[Strike]]:
        """The next call: its index, and the faults that strike at it."""
        index, strikes = self.strikes.reach(call)
        self._pass(index, is_after=False)
        return index, strikes

    def _pass(self, index: int, *, is_after: bool) -> None:
        """Go live at the mark where the known beginning ends; or mark this place for legs with the same beginning."""
        if not self.stage.is_live:
            traces = self.stage.go_on(index, is_after=is_after)
            self.journal.traces = self.journal.traces if traces is None else traces
            return
        if self._is_marked:
            self.stage.mark(index, self.journal.traces, is_after=is_after)

    def _after(self, run: Run, index: int, faults: tuple[Fault, ...]) -> None:
        self._pass(index, is_after=True)
        self.after_call()
        if Fault.CRASH_AFTER in faults:
            run.die()
        if self.strikes.is_past(index) and all(one.is_told_all for one in self._running) and self.is_known():
            self._is_over = True
            raise Known

    def _let_in(self, run: Run, strike: Strike) -> None:
        """Pause this run while another begins and ends: with a duplicate, or with this run's own message."""
        if strike.fault in {Fault.OVERLAP_LATE, Fault.AGAIN_LATE}:
            self.stage.move_to(max(self.stage.now, run.deadline_at - LATE_MARGIN_MS))
        if strike.fault in {Fault.OVERLAP, Fault.OVERLAP_LATE}:
            self.events.append(Sent(self.stage.now, Act.DUPLICATE, self.trigger.kind))
            self.messages.send(strike.message)
            self._settle_beside()
            return
        if run.invocation is not None:
            self.events.append(Shown(self.stage.now, run.number, self.trigger.kind))
            self._invoke_beside(run.invocation)
            return
        handle = run.handles[strike.message]
        if self.messages.show_again(handle):
            self.events.append(Shown(self.stage.now, run.number, self.trigger.kind))
            self._settle_beside()
            self.messages.hold_again(handle)

    def _invoke_beside(self, invocation: Invocation) -> None:
        """Have the function run once more for the same request. The answer of that run decides nothing."""
        with self._inside(False):
            self._threads.beside(lambda: self.invoke(invocation))
        self.surroundings.move_to(self.stage.now)

    def _settle_beside(self) -> None:
        with self._inside(False):
            self._threads.beside(self.stage.settle)
        self.surroundings.move_to(self.stage.now)

    @contextmanager
    def _happening(self, declared: Declared) -> Iterator[Passage]:
        """A declared effect counts as one call; the calls inside it do not count."""
        call = Call(EFFECT_SERVICE, declared.name, declared.key)

        def note(_: Params) -> None:
            if self.stage.is_live:
                self.journal.note_declared(declared, self.stage.now)

        with self._escaping(), self._boundary(call, note, is_retried=False) as passage:
            if passage.way is Way.REFUSED:
                raise ConnectionError(f"the downstream of {declared.name} does not answer")
            with self._inside():
                yield passage
            passage.take_effect({})
            if passage.way is Way.LOST:
                raise ConnectionError(f"the answer of {declared.name} is lost")

    @contextmanager
    def _escaping(self) -> Iterator[None]:
        """Keep the exception that ends the leg: a task of an event loop, or a thread, may swallow it."""
        if self._escape is not None:
            raise self._escape
        try:
            yield
        except (Endless, Strayed, Unordered) as error:
            self._escape = error
            raise

    def _note_call(self, call: Call) -> Callable[[Params], None]:
        def note(answer: Params) -> None:
            if not self.stage.is_live:
                return  # The mark's traces include it.
            self.journal.note(call, answer, self.stage.now)

        return note

    def _note_guess(self, call: Call) -> None:
        if not call.changes:
            self.made_up[f"answer of {call}"] = "made up from the shape of its output"

    def _is_handlers(self) -> bool:
        """Whether the current code is the handler's, and not the inside of one of its calls."""
        return bool(self._running) and not self._is_inside.get()

    def _sleep(self, seconds: float) -> None:
        """`time.sleep` of the handler: virtual time advances. It does not between two tries of a call."""
        if not self._threads.is_mine:
            return self._threads.idle(seconds)
        if not self._is_handlers():
            return None
        run = self._running[-1]
        self.stage.move_to(min(run.deadline_at, self.stage.now + math.ceil(seconds * SECOND_MS)))
        self.surroundings.move_to(self.stage.now)
        if self.stage.now >= run.deadline_at:
            run.die(Ending.TIMED_OUT)
        return None

    @contextmanager
    def _inside(self, inside: bool = True) -> Iterator[None]:
        """While inside a call, the calls and sleeps that it makes itself, in any thread, do not count."""
        before = self._is_inside.set(inside)
        try:
            yield
        finally:
            self._is_inside.reset(before)

    def _key_names(self, table: str) -> tuple[str, ...]:
        if table not in self._keys:
            described = self.stage.look_up("dynamodb", "DescribeTable", TableName=table)["Table"]
            self._keys[table] = tuple(element["AttributeName"] for element in described["KeySchema"])
        return self._keys[table]

    def _environment_of(self, invocation: Invocation) -> dict[str, str]:
        if invocation.function_arn not in self._contexts:
            self._contexts[invocation.function_arn] = run_variables(self.stage, invocation)
        return self._contexts[invocation.function_arn]


def _own_lines(answer: Answer, subject: Subject) -> tuple[str, ...]:
    """The lines of the user's code in the traceback of an answer, innermost last."""
    lines = map(_TRACED.search, map(str, load_json(answer.payload).get("stackTrace") or ()))
    places = [subject.told_line(found["file"], int(found["line"])) for found in lines if found is not None]
    return tuple(place for place in places if place)


@functools.lru_cache(TRACES_KEPT)
def _told_in_order(traces: frozenset[Trace]) -> str:
    """Traces as text; equal traces give equal texts."""
    return repr(sorted(traces, key=repr))
