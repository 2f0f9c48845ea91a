"""Plays one leg of a history: delivers the message, and lets the handler run.

It is the engine's invoker, so it performs whatever the engine gives the functions to do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.prove.calls.given import NOTHING_GIVEN, Given
from redrive.prove.effects.journal import Journal, Trace
from redrive.prove.guess.http_answers import guessed_document
from redrive.prove.play.behaviour import Behaviour
from redrive.prove.play.boundary import Boundary
from redrive.prove.play.environments import Environments, Idle
from redrive.prove.play.events import DeadLettered, Event, Sent
from redrive.prove.play.faults import Act, Leg, Reuse
from redrive.prove.play.running import Run
from redrive.prove.play.runs import Runs
from redrive.prove.play.sql import Sql
from redrive.prove.play.state import Endless, State
from redrive.prove.play.strikes import Strikes
from redrive.prove.play.transport import Transport
from redrive.prove.play.variables import process_variables
from redrive.prove.play.web import Web
from redrive.prove.process.files import Files
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.process.surroundings import Surroundings, variables
from redrive.prove.process.threads import Threads
from redrive.prove.stage.messages import Left, Messages
from redrive.prove.stage.sources import messages_of
from redrive.prove.stage.stage import Stage, Waiting
from redrive.prove.stage.tables import Improvised
from redrive.prove.stage.tape import Beginning, Saved
from redrive.prove.stage.trigger import Trigger

TRACES_KEPT = 1_024
"""Thousands of histories leave few distinct sets of traces."""

NO_OTHERS: Mapping[str, Subject] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Moment:
    """The state between two legs, from which a history continues."""

    saved: Saved
    traces: frozenset[Trace]
    runs: int
    outage: str
    messages: Left
    held: tuple[int, ...] = ()
    """The numbers of messages that have not come yet."""
    idle: tuple[Idle, ...] = ()
    """The execution environments in which no run is under way."""


class Performance:
    """A handler, its trigger and a stage for them."""

    def __init__(
        self, subject: Subject | None, *, seed: int, improvised: Improvised | None = None, given: Given = NOTHING_GIVEN,
        others: Mapping[str, Subject] = NO_OTHERS, is_warm: bool = False,
    ) -> None:  # fmt: skip
        """With `improvised`, missing tables and queues are made at their first use.

        The subject may be set later, before the first leg. `others` are the handlers of other functions than the
        trigger's, by the names of the functions; a function without a handler does nothing. With `is_warm`, execution
        environments are kept for legs that use them again.
        """
        self.stage = Stage(self, seed=seed)
        self.surroundings = Surroundings()
        self._keys: dict[str, tuple[str, ...]] = {}
        threads = Threads(self._is_handlers, lambda: self.stage.now, self._sleep, self._leave)
        read_json = functools.cache(self._guessed_document)
        web = Web(given, read_json)
        self.web = web
        """The servers of the world."""
        self.made_up = web.guesses
        """The answers that were made up: of HTTP, and of reads of what the engine does not have."""
        self._state = State(
            self.stage, Journal((), self._key_names), self.surroundings, threads, web,
            Files(lambda: self._boundary.running_number, lambda what, how: self.made_up.update({what: how})),
            Sql(self.stage, lambda: self.subject.file, self.made_up), read_json,
            Environments(are_kept=is_warm), improvised, subject, dict(others),
        )  # fmt: skip
        self._runs = self._runs_of(self._state)
        self._boundary = Boundary(self._state, self._runs)
        self.is_endless = False
        """Whether the last leg was ended because the history had too many runs."""

    @property
    def subject(self) -> Subject:
        """The handler."""
        return self._state.subject

    @subject.setter
    def subject(self, subject: Subject) -> None:
        self._state.main = subject

    @property
    def trigger(self) -> Trigger:
        """The trigger of the handler."""
        return self._state.trigger

    @property
    def journal(self) -> Journal:
        """The effects of the history so far."""
        return self._state.journal

    @property
    def events(self) -> list[Event]:
        """The events of the last leg."""
        return self._state.events

    @property
    def running(self) -> Sequence[Run]:
        """The runs under way: a run, and the runs that overlap it."""
        return self._state.running

    @property
    def strikes(self) -> Strikes:
        """The faults of the last leg, and the calls that it has reached."""
        return self._state.strikes

    @property
    def runs(self) -> int:
        """The number of runs of the history so far."""
        return self._state.runs

    @property
    def runs_max(self) -> int:
        """The most runs of a history."""
        return self._state.runs_max

    @property
    def outage(self) -> str:
        """The calls that fail until no message is left, by their name; empty if none do."""
        return self._state.outage

    @property
    def failed_at(self) -> tuple[str, ...]:
        """The lines of the user's code in the traceback of the last run that failed."""
        return self._state.failed_at

    @property
    def sent_at(self) -> Instant:
        """When the message was sent, or redriven from the dead-letter queue: its retention counts from then."""
        return self._state.messages.sent_at

    @property
    def waiting(self) -> Waiting:
        """The messages left, and the dead ones, at the end of the last leg. What is held back is left."""
        waiting = self._state.messages.waiting
        return replace(waiting, is_pending=True) if self._state.held else waiting

    @property
    def is_holding(self) -> bool:
        """Whether another message has not come yet."""
        return bool(self._state.held)

    @property
    def may_come_between(self) -> bool:
        """Whether another message has not come yet, and an earlier one waits to be tried again."""
        return self.is_holding and self._state.messages.waiting.is_pending

    @property
    def reusable(self) -> Sequence[Reuse]:
        """Which execution environments the next leg can use, besides a new one."""
        return self._state.environments.choices()

    @property
    def unkept(self) -> str:
        """Why an execution environment could not be kept; empty if each could."""
        return self._state.environments.unkept

    @property
    def after_call(self) -> Callable[[], None]:
        """Called after each call of a run."""
        return self._state.after_call

    @after_call.setter
    def after_call(self, act: Callable[[], None]) -> None:
        self._state.after_call = act

    @property
    def is_known(self) -> Callable[[], bool]:
        """Called after each call once no fault is left to strike: whether the rest of the leg can be skipped."""
        return self._state.is_known

    @is_known.setter
    def is_known(self, ask: Callable[[], bool]) -> None:
        self._state.is_known = ask

    def begin(self, trigger: Trigger) -> None:
        """Send the messages of a trigger; every history begins so."""
        self._state.sent_by = trigger
        self._state.sent = self._messages_of(trigger)
        self._state.journal = Journal(trigger.work_texts, self._key_names)
        self.stage.begin_leg()
        count = 1 if trigger.is_concurrent else len(trigger.bodies)
        for number in range(count):
            self._state.messages.send(number)
        self._state.held = tuple(range(count, len(trigger.bodies)))

    @contextmanager
    def entered(self, transport: Transport) -> Iterator[None]:
        """While entered, the process is prepared for the handler's runs, and `transport` answers its clients."""
        with ExitStack() as stack:
            stack.enter_context(variables(self._variables(), self.trigger.variables))
            stack.enter_context(self.surroundings.entered(self.stage.now, self._sleep))
            stack.enter_context(self._state.threads.entered())
            stack.enter_context(self._boundary.entered(transport))
            yield

    def save(self) -> Moment:
        """Save the state between two legs."""
        state = self._state
        return Moment(
            self.stage.save(), state.journal.traces, state.runs, state.outage, state.messages.save(), state.held,
            state.environments.idle,
        )  # fmt: skip

    def load(self, moment: Moment) -> None:
        """Restore a saved state."""
        state = self._state
        self.stage.load(moment.saved)
        state.journal.traces = moment.traces
        state.runs, state.outage = moment.runs, moment.outage
        state.messages.load(moment.messages)
        state.held, state.environments.idle = moment.held, moment.idle

    def likeness(self) -> bytes:
        """A hash for deduplication: two moments with the same hash continue alike as long as no fault strikes.

        Within a leg this holds if the current runs have observed the same: then they will make the same calls.
        """
        return self.stage.likeness(
            _told_in_order(self.journal.traces),
            tuple(
                [
                    (run.deadline_at, *sorted(run.throttled), None, *sorted(run.unreached), None, *run.met)
                    for run in self.running
                ]
            ),
            *filter(None, [self._state.environments.told()]),
        )

    def play(self, leg: Leg, beginning: Beginning | None = None, *, is_marked: bool = False) -> list[Event]:
        """Play a leg from here, and return its events.

        With `beginning`, known answers come from its tape and not from the engine. Errors: Strayed if the handler then
        makes another call; Known. With `is_marked`, other legs can share this leg's beginning.
        """
        state = self._state
        state.events, state.strikes = [], Strikes(leg)
        state.environments.reuse = leg.reuse
        state.is_marked, state.is_over, state.escape, self.is_endless = is_marked, False, None, False
        self.stage.begin_leg(beginning)
        dead = 0 if leg.act is Act.REDRIVE else self.waiting.dead
        try:
            self._begin_leg(leg)
            self._deliver()
        except Endless:
            self.is_endless = True
        waiting = state.messages.waiting = state.messages.look()
        if waiting.dead > dead:
            count = waiting.dead - dead
            told = state.messages.told_given_up(count)
            state.events.append(DeadLettered(self.stage.now, count, self.trigger.kind, told))
        if not self.waiting.is_pending:
            state.outage = ""
        return state.events

    def invoke(self, invocation: Invocation) -> InvocationResult:
        """Run a function's handler once, in a new environment. Functions without a handler do nothing."""
        return self._runs.invoke(invocation)

    def remember(self) -> None:
        """From now on, answers and runs are taken from what is known of other histories, where they are the same."""
        self.stage.remembers = True
        self._runs.behaviour = Behaviour() if self.stage.remembers else None

    def close(self) -> None:
        """Close the stage."""
        self.stage.close()

    def _begin_leg(self, leg: Leg) -> None:
        if leg.act is Act.DELIVER and (not self.is_holding or self._state.messages.look().is_pending):
            return
        if leg.act in {Act.DELIVER, Act.NEXT}:
            if self.is_holding:
                self.events.append(Sent(self.stage.now, Act.NEXT, self.trigger.kind, self._state.told_held))
                self._state.send_held()
            return
        if leg.delay_ms:
            self.stage.move_to(self.stage.now + leg.delay_ms)
            self._state.messages.settle()
        messages = self._state.messages
        told = messages.told(leg.act.value, leg.message)
        self.events.append(Sent(self.stage.now, leg.act, self.trigger.kind, told))
        match leg.act:
            case Act.DUPLICATE:
                messages.send(leg.message)
            case Act.REPUBLISH:
                messages.republish(leg.message)
            case Act.REREAD:
                messages.read_again(leg.message)
            case _:
                messages.redrive()

    def _deliver(self) -> None:
        """Advance time until the handler has run, or nothing is left to deliver to it."""
        runs = self.runs
        while self.runs == runs:
            due = self._state.messages.next_due()
            if due is None or (due > self.stage.now and not self._state.messages.look().is_pending):
                return
            self.stage.move_to(due)
            self._state.messages.turn()

    def _runs_of(self, state: State) -> Runs:
        """What runs the handlers."""
        return Runs(state)

    def _messages_of(self, trigger: Trigger) -> Messages:
        """The messages of a trigger."""
        return messages_of(self.stage, trigger)

    def _variables(self) -> Mapping[str, str]:
        """The environment variables of the process."""
        return process_variables(self.stage, self.trigger)

    def _is_handlers(self) -> bool:
        return self._boundary.is_handlers

    def _sleep(self, seconds: float) -> None:
        self._boundary.sleep(seconds)

    def _leave(self) -> None:
        self._boundary.leave()

    def _guessed_document(self) -> Document:
        """What answers over HTTP say that nobody has given: what the handler reads of them."""
        return guessed_document(self.subject.file) if isinstance(self.subject, NamedSubject) else {}

    def _key_names(self, table: str) -> tuple[str, ...]:
        if table not in self._keys:
            described = self.stage.look_up("dynamodb", "DescribeTable", TableName=table)["Table"]
            self._keys[table] = tuple(element["AttributeName"] for element in described["KeySchema"])
        return self._keys[table]


@functools.lru_cache(TRACES_KEPT)
def _told_in_order(traces: frozenset[Trace]) -> str:
    """Traces as text; equal traces give equal texts."""
    return repr(sorted(traces, key=repr))
