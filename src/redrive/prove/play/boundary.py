"""The calls of the runs: answers them, and lets faults strike at them.

It is behind all boto3 clients of the process, requests over HTTP and declared effects, so it sees each call before and
after.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TypeVar

from botocore.client import BaseClient
from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.clock import SECOND_MS
from redrive.core.errors import Bug
from redrive.delivery.outside.invocation import Invocation
from redrive.prove.calls.calls import (
    EFFECT_SERVICE,
    Call,
    Params,
    as_sent,
    call_of,
    kept,
    mapping_of,
    parts_of,
    with_body_read,
)
from redrive.prove.effects.declared import Declared, watched_effects
from redrive.prove.play.asked import Asked, Way
from redrive.prove.play.events import Called, Ending, Sent, Shown
from redrive.prove.play.faults import LETS_IN, Act, Fault, Strike
from redrive.prove.play.reply import CALL_ERRORS, Reply, Told, raising, returning, told_of
from redrive.prove.play.running import Died, Passage, Run
from redrive.prove.play.runs import Runs
from redrive.prove.play.state import Endless, State
from redrive.prove.play.transport import Transport
from redrive.prove.process.aio_clients import answered_clients
from redrive.prove.process.exchange import HttpAnswer, HttpAsked
from redrive.prove.process.http import answered_http
from redrive.prove.process.http_async import answered_libraries
from redrive.prove.process.rds_data import SERVICE as RDS_DATA
from redrive.prove.process.rds_data import DataApi
from redrive.prove.process.sql_drivers import answered_sql
from redrive.prove.process.sql_exchange import SqlAnswer, SqlAsked, SqlRefusal
from redrive.prove.process.subject import Place
from redrive.prove.process.surroundings import replaced
from redrive.prove.process.threads import Unordered
from redrive.prove.process.waiters import ended_waiters
from redrive.prove.stage.stage import is_of_engine
from redrive.prove.stage.tape import Known, Strayed

T = TypeVar("T")

LATE_MARGIN_MS = 1_000
"""How long before the timeout of a run another run overlaps it late."""


class Boundary:
    """What stands between the runs and everything outside of them."""

    def __init__(self, state: State, runs: Runs) -> None:
        self._state = state
        self._runs = runs
        self._transport: Transport | None = None
        self._is_inside = ContextVar("is_inside", default=False)
        self._data = DataApi(self.query, self._connected)

    @contextmanager
    def entered(self, transport: Transport) -> Iterator[None]:
        """While entered, the process's calls come here, and `transport` answers its clients."""
        self._transport = transport

        def ask(client: BaseClient, operation: str, params: Params) -> object:  # Becomes a method of the class.
            return self.ask(client, operation, params)

        with ExitStack() as stack:
            stack.enter_context(replaced(BaseClient, "_make_api_call", ask))
            stack.enter_context(answered_clients())
            stack.enter_context(watched_effects(self._happening))
            stack.enter_context(answered_http(self.request))
            stack.enter_context(answered_libraries(self.request))
            stack.enter_context(self._state.files.entered(self._state.subject.places))
            stack.enter_context(answered_sql(self.query, self._connected, lambda: self.running_number))
            stack.enter_context(ended_waiters(lambda service: not is_of_engine(service)))
            stack.enter_context(transport.entered())
            yield

    @property
    def is_handlers(self) -> bool:
        """Whether the current code is a handler's, and not the inside of one of its calls."""
        return bool(self._state.running) and not self._is_inside.get()

    def sleep(self, seconds: float) -> None:
        """`time.sleep` of a handler: virtual time advances. It does not between two tries of a call."""
        state = self._state
        if not state.threads.is_mine:
            return state.threads.idle(seconds)
        if not self.is_handlers:
            return None
        return self._make(seconds, functools.partial(self._pause, seconds))

    def leave(self) -> None:
        """Nothing, unless the run under way, or the leg, has ended. Errors: Known, Died, or what has ended the leg."""
        state = self._state
        if state.is_over:
            raise Known
        if state.escape is not None:
            raise state.escape
        if state.running and state.running[-1].death is not None:
            raise Died

    def ask(self, client: BaseClient, operation: str, params: Params) -> object:
        """Answer a call of a boto3 client."""
        if self._transport is None:
            raise Bug("a call before the process was entered")
        state, transport = self._state, self._transport
        if client.meta.service_model.service_name == RDS_DATA and state.web.given.reply(RDS_DATA, operation) is None:
            return self._data.answer(client, operation, params)
        params = with_body_read(params)
        sent = with_body_read(as_sent(client, operation, params))
        call = call_of(client.meta.service_model.service_name, operation, sent)
        with self._escaping():
            if not state.threads.is_mine:
                raise state.threads.refuse(f"a thread that goes on by itself calls {call}")
            if state.running and state.improvised is not None:
                state.improvised.provide(state.stage, call)
            if not is_of_engine(call.service):
                self._note_guess(call)
            is_handlers = self.is_handlers
            if is_handlers and self._has_course:
                call = replace(call, params=kept(call.params))
            asked = Asked(
                client, call, params, functools.partial(self._note_guess, call), state.read_json, state.web.given,
                is_handlers and any(map(state.goes_on, parts_of(call))),
            )  # fmt: skip
            if not is_handlers:
                return transport.send(asked, Way.NORMAL, lambda _: None).give()
            return self._make(call, functools.partial(self._send, transport, asked))

    def request(self, asked: HttpAsked) -> HttpAnswer:
        """Answer a request over HTTP. Errors: ConnectionRefusedError; TimeoutError if the answer is lost."""
        state = self._state
        call = state.web.call_of(asked)
        with self._escaping():
            if not state.threads.is_mine:
                raise state.threads.refuse(f"a thread that goes on by itself sends {call}")
            if not self.is_handlers:
                return state.web.answer(asked, call)
            return self._make(asked, functools.partial(self._pass_on, asked, call))

    def query(self, asked: SqlAsked) -> SqlAnswer | SqlRefusal:
        """Answer a statement to a database."""
        state = self._state
        place = (state.running[-1].number if state.running else 0, asked.connection)
        call = state.sql.call_of(place, asked)
        with self._escaping():
            if not state.threads.is_mine:
                raise state.threads.refuse(f"a thread that goes on by itself asks a database: {asked.text}")
            if self.is_handlers:
                self._stop_course()
            if call is None or not self.is_handlers:
                return state.sql.answer(place, asked)
            with (
                self._passed(
                    call, self._note_call(call), is_retried=False, place=state.running[-1].subject.place()
                ) as passage,
                self._inside(),
            ):
                answer = state.sql.pass_on(place, asked, passage)
            return answer

    @property
    def running_number(self) -> int | None:
        """The number of the run whose code is running; None inside its calls, and for any other code."""
        return self._state.running[-1].number if self.is_handlers else None

    def _connected(self) -> int | None:
        """The number of a new connection to a database; None if it is none of the handler's."""
        run = self.running_number
        if run is None:
            return None
        self._stop_course()
        return self._state.sql.connect(run)

    @contextmanager
    def _happening(self, declared: Declared) -> Iterator[Passage]:
        """A declared effect counts as one call; the calls inside it do not count."""
        state = self._state
        call = Call(EFFECT_SERVICE, declared.name, declared.key)

        def note(_: Params) -> None:
            if state.stage.is_live:
                state.journal.note_declared(declared, state.stage.now)

        self._stop_course()
        with (
            self._escaping(),
            self._passed(call, note, is_retried=False, place=self._state.running[-1].subject.place()) as passage,
        ):
            if passage.way is Way.REFUSED:
                raise ConnectionError(f"the downstream of {declared.name} does not answer")
            with self._inside():
                yield passage
            passage.take_effect({})
            if passage.way is Way.LOST:
                raise ConnectionError(f"the answer of {declared.name} is lost")

    def _make(self, asked: object, perform: Callable[[Place | None], Callable[[], T]]) -> T:
        """Make a call or a pause of the current run, whose behaviour may be known.

        An error says no more of what is behind it than that: its traceback is the same, whichever way it came.
        """
        run = self._state.running[-1]
        course, place = run.course, run.subject.place
        give = perform(place()) if course is None else course.make(asked, place, perform)
        try:
            return give()
        except CALL_ERRORS as error:
            raise error.with_traceback(None)  # noqa: B904 - it is the same error.

    @property
    def _has_course(self) -> bool:
        return self._state.running[-1].course is not None

    def _stop_course(self) -> None:
        run = self._state.running[-1] if self._state.running else None
        if run is not None and run.course is not None:
            run.course.stop()

    def _send(self, transport: Transport, asked: Asked, place: Place | None) -> Callable[[], object]:
        """Pass a call of a boto3 client on; returns what gives the answer. Most of a search's time is spent here."""
        state, run = self._state, self._state.running[-1]
        if state.escape is not None:
            raise state.escape
        try:
            note = functools.partial(self._note, asked)
            passage = self._begun(asked.call, note, is_retried=asked.can_retry, place=place)
            token = self._is_inside.set(True)
            try:
                reply = transport.send(asked, passage.way, passage.take_effect)
            except CALL_ERRORS as error:
                reply = Reply.of(raising(error))
            except Exception as error:  # Only the code knows what it makes of that.
                run.meet(state.stage.now, repr(error))
                raise
            finally:
                self._is_inside.reset(token)
            self._ended(run, passage, reply.outcome, reply.told)
        except (Endless, Strayed, Unordered) as error:
            state.escape = error
            raise
        return reply.give

    def _pass_on(self, asked: HttpAsked, call: Call, place: Place | None) -> Callable[[], HttpAnswer]:
        """Pass a request over HTTP on; returns what gives the answer."""
        state = self._state
        note = self._note_call(call)
        try:
            with self._escaping(), self._passed(call, note, is_retried=False, place=place) as passage, self._inside():
                return returning(state.web.pass_on(asked, call, passage, is_outage=call.name == state.outage))
        except CALL_ERRORS as error:
            return raising(error)

    def _pause(self, seconds: float, _: Place | None) -> Callable[[], None]:
        """Virtual time advances, at most to the end of the run."""
        state, run = self._state, self._state.running[-1]
        state.stage.move_to(min(run.deadline_at, state.stage.now + math.ceil(seconds * SECOND_MS)))
        state.surroundings.move_to(state.stage.now)
        if state.stage.now >= run.deadline_at:
            run.die(Ending.TIMED_OUT)
        return returning(None)

    @contextmanager
    def _passed(
        self, call: Call, note: Callable[[Params], None], *, is_retried: bool, place: Place | None
    ) -> Iterator[Passage]:
        """One call of the handler, with the faults that strike at it. The code inside makes the call."""
        state, run = self._state, self._state.running[-1]
        passage = self._begun(call, note, is_retried=is_retried, place=place)
        try:
            yield passage
        except ClientError as error:
            code = str(mapping_of(error.response.get("Error")).get("Code"))
            self._ended(run, passage, code, told_of(error.response))
            raise
        except (BotoCoreError, OSError) as error:
            self._ended(run, passage, type(error).__name__, told_of(type(error).__name__))
            raise
        except Exception as error:  # An exception of the user's effect goes to the handler.
            run.meet(state.stage.now, repr(error))
            raise
        self._ended(run, passage, passage.outcome, told_of(passage.answer))

    def _begun(
        self, call: Call, note: Callable[[Params], None], *, is_retried: bool, place: Place | None
    ) -> Passage:  # fmt: skip
        """A call begins: other runs come in between, and faults strike. Errors: Died; as `leave`."""
        state, run = self._state, self._state.running[-1]
        self.leave()
        index, strikes = self._reach(call)
        is_resumed = False
        while others := [strike for strike in strikes if strike.fault in LETS_IN]:
            self._let_in(run, others[0])
            index, strikes = self._reach(call)  # So that further faults can strike at this same call.
            is_resumed = True
        faults = tuple(strike.fault for strike in strikes)
        if Fault.OUTAGE in faults:
            state.outage = call.name
        way = run.way(call.name, faults, outage=state.outage)
        passage = Passage(call, place, index, faults, way, note, is_retried, is_resumed)
        if Fault.CRASH_BEFORE in faults:
            self._record(run, passage, "")
            run.die()
        return passage

    def _ended(self, run: Run, passage: Passage, outcome: str, told: Told) -> None:
        """A call has ended, and the run is told."""
        self._record(run, passage, outcome)
        run.hear(self._state.stage.now, told)
        self._after(run, passage.index, passage.faults)

    def _record(self, run: Run, passage: Passage, outcome: str) -> None:
        state, call = self._state, passage.call
        state.events.append(
            Called(
                state.stage.now, run.number, passage.index, call, passage.place, outcome, passage.times, passage.faults,
                is_nested=len(state.running) > 1, is_retried=passage.is_retried, is_resumed=passage.is_resumed,
                is_declared=call.matches(state.journal.sorting.effects),
            )
        )  # fmt: skip

    def _reach(self, call: Call) -> tuple[int, Sequence[Strike]]:
        """The next call: its index, and the faults that strike at it."""
        index, strikes = self._state.strikes.reach(call)
        self._pass(index, is_after=False)
        return index, strikes

    def _pass(self, index: int, *, is_after: bool) -> None:
        """Go live at the mark where the known beginning ends; or mark this place for legs with the same beginning."""
        state = self._state
        if not state.stage.is_live:
            traces = state.stage.go_on(index, is_after=is_after)
            state.journal.traces = state.journal.traces if traces is None else traces
            return
        if state.is_marked:
            state.stage.mark(index, state.journal.traces, is_after=is_after)

    def _after(self, run: Run, index: int, faults: tuple[Fault, ...]) -> None:
        state = self._state
        self._pass(index, is_after=True)
        state.after_call()
        if Fault.CRASH_AFTER in faults:
            run.die()
        if state.strikes.is_past(index) and all(one.is_told_all for one in state.running) and state.is_known():
            state.is_over = True
            raise Known

    def _let_in(self, run: Run, strike: Strike) -> None:
        """Pause this run while another begins and ends: with a duplicate, or with this run's own message."""
        state = self._state
        if strike.fault in {Fault.OVERLAP_LATE, Fault.AGAIN_LATE}:
            state.stage.move_to(max(state.stage.now, run.deadline_at - LATE_MARGIN_MS))
        if strike.fault is Fault.BESIDE:
            if state.held:
                state.events.append(Sent(state.stage.now, Act.NEXT, state.trigger.kind, state.told_held))
                state.send_held()
                self._settle_beside()
            return
        if strike.fault in {Fault.OVERLAP, Fault.OVERLAP_LATE}:
            told = state.messages.told(Act.DUPLICATE.value, strike.message)
            state.events.append(Sent(state.stage.now, Act.DUPLICATE, state.trigger.kind, told))
            state.messages.send(strike.message)
            self._settle_beside()
            return
        if run.invocation is not None:
            state.events.append(Shown(state.stage.now, run.number, run.kind))
            self._invoke_beside(run.invocation)
            return
        handle = run.handles[strike.message]
        if state.messages.show_again(handle):
            state.events.append(Shown(state.stage.now, run.number, run.kind))
            self._settle_beside()
            state.messages.hold_again(handle)

    def _invoke_beside(self, invocation: Invocation) -> None:
        """Have the function run once more for the same request. The answer of that run decides nothing."""
        self.beside(lambda: self._runs.invoke(invocation))

    def _settle_beside(self) -> None:
        self.beside(self._state.messages.settle)

    def beside(self, act: Callable[[], object]) -> None:
        """Have other runs begin and end while this one is paused."""
        with self._inside(False), self._state.surroundings.kept():
            self._state.threads.beside(act)
        self._state.surroundings.move_to(self._state.stage.now)

    @contextmanager
    def _escaping(self) -> Iterator[None]:
        """Keep the exception that ends the leg: a task of an event loop, or a thread, may swallow it."""
        if self._state.escape is not None:
            raise self._state.escape
        try:
            yield
        except (Endless, Strayed, Unordered) as error:
            self._state.escape = error
            raise

    def _note_call(self, call: Call) -> Callable[[Params], None]:
        state = self._state

        def note(answer: Params) -> None:
            if not state.stage.is_live:
                return  # The mark's traces include it.
            state.journal.note(call, answer, state.stage.now)

        return note

    def _note(self, asked: Asked, answer: Params) -> None:
        state = self._state
        if state.stage.is_live:
            asked.note(state.journal, answer, state.stage.now)

    def _note_guess(self, call: Call) -> None:
        if not call.changes:
            self._state.web.guesses[f"answer of {call}"] = "made up from the shape of its output"

    @contextmanager
    def _inside(self, inside: bool = True) -> Iterator[None]:
        """While inside a call, the calls and sleeps that it makes itself, in any thread, do not count."""
        before = self._is_inside.set(inside)
        try:
            yield
        finally:
            self._is_inside.reset(before)
