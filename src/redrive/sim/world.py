"""The simulation: one database, one true clock, several nodes. Every beat is an event of its own.

    Poll(node) ──► claim      its commit may conflict, or its answer be lost: then nobody performs the attempts
    Begin(node, attempt) ──► the function runs, at its own instant; perhaps twice
    Answer(node, attempt) ──► settle      late, repeated, or never, if the node has crashed by then

Between any two beats anything else may happen: another node's beat, a client's call, a crash, a pause, even of all
nodes at once. This module knows no service: the users of the engine are in `users`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar, assert_never

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant, VirtualClock, format_instant, parse_instant
from redrive.core.entropy import SeededEntropy
from redrive.core.errors import Conflict
from redrive.core.knobs import PRODUCTION, Knobs
from redrive.delivery.deliver import INTERNAL_FAILURE
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.invocation import InvocationResult, InvocationStatus
from redrive.delivery.worker import Attempt
from redrive.engine.driver import FAILED_ROUND_PAUSE_MS
from redrive.sim.agenda import Agenda
from redrive.sim.checkers.failures import RuleBroken, told_on_failure
from redrive.sim.checkers.happenings import Happening, LeftMessage
from redrive.sim.checkers.rules import Checker
from redrive.sim.events import Act, Actor, Answer, Beat, Begin, Event, Poll, Strike
from redrive.sim.fleet.beats import Beats
from redrive.sim.fleet.clients import Client
from redrive.sim.fleet.fleet import Fleet
from redrive.sim.fleet.nodes import Node
from redrive.sim.fleet.serving import Process, Serving
from redrive.sim.strikes import Strikes
from redrive.sim.trace import Trace, TraceLog
from redrive.sim.users.functions import Functions, failure
from redrive.sim.users.sites import NO_ANSWER, Sites
from redrive.sim.weather import AnswerLost, Hazard, Weather
from redrive.store.api import Step, Transaction
from redrive.store.tables.attempts import AttemptRecord
from redrive.wire.model.files import Models

T = TypeVar("T")

START = parse_instant("2025-03-29T12:00:00Z")
"""The day before European time zones skip an hour."""

NO_DEFECTS = "no target fails by a defect of ours"
QUIET = "in good weather everything comes to its end"

QUIET_CHECK_MS = 5 * MINUTE_MS
REACTION_MS_MAX = 20
EARLY_MS_MAX = 2 * SECOND_MS
"""How much too early an event may happen while a step waits for its answer."""
RUN_MS_MAX = 400


class Undone(Exception):
    """A request failed after it had written."""


class Simulation:
    """A fleet of nodes over one store, in the given weather."""

    def __init__(
        self, *, seed: int, weather: Weather, nodes: int, slots: int, models: Models,
        knobs: Knobs = PRODUCTION, replay: str = "", echo: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        """Many simulations may share `models`. `replay` is the command that runs this one again.

        Nodes do nothing before `start`.
        """
        self._seed = seed
        self._replay = replay
        self.weather = weather
        self._dice = weather.dice
        self.clock = VirtualClock(START)
        self.trace = Trace(echo=echo)
        self.events_max: int | None = None
        self.knobs = knobs
        self.functions = Functions(weather)
        self.sites = Sites(weather)
        self._serving = Serving(weather, go_on=self._go_on, crash=self._crash_process)
        self._running = False
        self._fleet = Fleet(
            self._serving, clock=self.clock, models=models, functions=self.functions, sites=self.sites,
            entropy=SeededEntropy(seed), knobs=knobs, log=TraceLog(self.clock, self.trace), wake=self._wake,
        )  # fmt: skip
        self._fleet.add_nodes(nodes, slots=slots)
        self.nodes = self._fleet.nodes
        self.reliable = self._fleet.reliable
        self._checkers: list[Checker] = []
        self.beats = Beats(self._serving, self.clock, self.trace, self.observe)
        self._agenda = Agenda(self.clock)
        self._strikes = Strikes(
            self._fleet, weather, self._agenda, self.clock, self.trace, observe=self.observe, plan_poll=self._plan_poll
        )
        self._in_hand = 0
        self._acting = 0
        self._is_under_way = False

    @property
    def now(self) -> Instant:
        """The one true time."""
        return self.clock.now()

    @property
    def is_quiet(self) -> bool:
        """Whether no work that a user waits for is due or under way, and no user has anything left to do."""
        return not self._acting and not self._in_hand and self._fleet.next_due() is None

    @property
    def awake_at(self) -> Instant:
        """When the last paused node wakes up: each node then writes down its counts."""
        return max([self.now, *(node.awake_at for node in self.nodes)])

    def run(self, step: Step[T]) -> T:
        """Run a step without hazards."""
        return self._fleet.run(step)

    def undo(self, step: Step[object]) -> None:
        """Add requests that run this step and then fail. Nothing of the step may ever be visible."""

        def run(tx: Transaction) -> None:
            step(tx)
            raise Undone

        self._serving.undone.append(run)

    def history(self, source_arn: str) -> list[AttemptRecord]:
        """All records of the deliveries of a schedule or a function."""
        return self.run(lambda tx: tx.attempts.of_source(source_arn))

    def client(self, name: str) -> Client:
        """A client in the weather."""
        return self._fleet.client(name)

    def watch(self, *checkers: Checker) -> None:
        """Add checkers."""
        self._checkers += checkers

    def observe(self, happening: Happening) -> None:
        """Pass a happening to the checkers."""
        for checker in self._checkers:
            checker.observe(happening)

    def add(self, actor: Actor, *, at: Instant) -> None:
        """Add a user who acts from this instant on."""
        self._acting += 1
        self._agenda.push(at, Act(actor))

    def start(self) -> None:
        """Start the nodes' claims and the weather."""
        self._running = True
        for node in self.nodes:
            self._plan_poll(node, self.now + self._dice.between(0, SECOND_MS))
            self._strikes.set_clock(node)
        self._strikes.plan()

    def run_until(self, instant: Instant) -> None:
        """Let all events up to this instant happen. Errors: SimulationFailed."""
        with self._told_on_failure():
            self._is_under_way = True
            while (soonest := self._agenda.soonest) is not None and soonest.at <= instant and not self.is_over:
                self._agenda.take(soonest, now=soonest.at)
                self._happen(soonest.event, soonest.at)
                self._serving.finish_tasks()
            self._is_under_way = False
            if not self.is_over:
                self._agenda.move_to(instant)

    def heal(self) -> None:
        """End the weather: from now on no hazard makes anything fail."""
        self.trace.write(self.now, "healed")
        self.weather.clear()
        for node in self.nodes:
            node.machine.set_right()

    def run_until_quiet(self, *, within_ms: int) -> None:
        """Let the fleet finish. Errors: SimulationFailed, if work is still due after `within_ms`."""
        deadline = self.now + within_ms
        while not self.is_over:
            self.run_until(self.now + QUIET_CHECK_MS)
            with self._told_on_failure():
                if self.is_quiet:
                    return
                if self.now > deadline:
                    due = self._fleet.next_due()
                    raise RuleBroken(
                        QUIET,
                        f"{self._acting} users busy, {self._in_hand} attempts in hand, "
                        f"next due at {'no time' if due is None else format_instant(due)}",
                    )

    def finish(self, left: Sequence[LeftMessage], told: Sequence[Happening] = ()) -> None:
        """Pass the last happenings to the checkers; let them judge the remaining messages. Errors: SimulationFailed."""
        with self._told_on_failure():
            self._check_for_defects()
            for happening in told:
                self.observe(happening)
            for checker in self._checkers:
                checker.finish(left)

    def _check_for_defects(self) -> None:
        """The engine turns a defect in a target into a failed attempt. Here such a defect breaks a rule."""
        for record in self.run(lambda tx: tx.attempts.with_code(INTERNAL_FAILURE)):
            raise RuleBroken(NO_DEFECTS, f"{record.delivery_id}: {record.message}")

    def close(self) -> None:
        """Close the database."""
        self._fleet.close()

    def _happen(self, event: Event, at: Instant) -> None:
        match event:
            case Poll() | Begin() | Answer():
                self._beat(event, at)
            case Act(actor):
                self._act(actor)
            case Strike(hazard):
                self._strikes.strike(hazard)
            case _:
                assert_never(event)

    def _beat(self, event: Beat, at: Instant) -> None:
        """Run one beat of a node. Skipped if the node has restarted since; delayed while the node is paused."""
        node = event.node
        is_poll = isinstance(event, Poll)
        if event.life != node.life or (is_poll and node.poll_at != at):
            self._in_hand -= not is_poll
            return
        if node.awake_at > self.now:
            node.poll_at = node.awake_at if is_poll else node.poll_at
            self._agenda.push(node.awake_at, event)
            return
        if not is_poll and self._is_struck_at_work(event):
            return
        match event:
            case Poll():
                self._poll(node)
            case Begin():
                self._begin(node, event)
            case Answer():
                self._answer(node, event)
            case _:
                assert_never(event)

    def _is_struck_at_work(self, event: Beat) -> bool:
        """Whether the node crashes or pauses now, so that this beat is lost or delayed."""
        node = event.node
        if self.weather.strikes(Hazard.CRASH_AT_WORK):
            self._in_hand -= 1
            self._strikes.crash_for_a_while(node)
            return True
        if self.weather.strikes(Hazard.PAUSE_AT_WORK):
            self._strikes.pause_for_a_while(node)
            self._agenda.push(node.awake_at, event)
            return True
        return False

    def _poll(self, node: Node) -> None:
        node.poll_at = None
        life = node.life
        try:
            claimed = self.beats.claim(node)
        except (Conflict, AnswerLost) as error:
            self.trace.write(self.now, "claim failed", node=node.name, error=type(error).__name__)
            if node.life == life:
                self._plan_poll(node, self.now + FAILED_ROUND_PAUSE_MS)
            return
        for attempt in claimed.attempts:
            self._in_hand += 1
            self._agenda.push(self.now + self._dice.between(0, REACTION_MS_MAX), Begin(node, node.life, attempt))
        wait_ms = node.process.rounds.wait_ms()
        if self.weather.strikes(Hazard.LATE):
            wait_ms += self._dice.between(0, 2 * MINUTE_MS)
        self._plan_poll(node, self.now + wait_ms)

    def _begin(self, node: Node, event: Begin) -> None:
        attempt = event.attempt
        try:
            result = self.beats.perform(node, attempt)
        except (Conflict, AnswerLost) as error:
            self._in_hand -= 1
            if node.life == event.life and not event.repeats:
                node.release(attempt)
                self._plan_poll(node, self.now)
            self.trace.write(self.now, "perform failed", node=node.name, error=type(error).__name__)
            return
        timeout_ms = attempt.errand.timeout_ms
        run_ms, result = self._lasting(result, timeout_ms)
        self._agenda.push(self.now + run_ms, Answer(node, event.life, attempt, result, holds_slot=not event.repeats))
        if not event.repeats and self.weather.strikes(Hazard.DUPLICATE):
            self._in_hand += 1
            again_at = self.now + self._dice.between(0, 2 * timeout_ms)
            self._agenda.push(again_at, Begin(node, event.life, attempt, repeats=True))

    def _lasting(self, result: Result, timeout_ms: int) -> tuple[int, Result]:
        """How long an errand takes, and its result: another one if the errand hangs until its timeout."""
        run_ms = self._dice.between(1, min(RUN_MS_MAX, timeout_ms))
        if isinstance(result, InvocationResult) and result.status is InvocationStatus.THROTTLED:
            return run_ms, result
        if self.weather.strikes(Hazard.HUNG):
            is_run = isinstance(result, InvocationResult)
            return timeout_ms, failure("Sandbox.Timedout", "Task timed out") if is_run else NO_ANSWER
        if self.weather.strikes(Hazard.SLOW):
            run_ms = self._dice.between(timeout_ms // 2, timeout_ms)
        return run_ms, result

    def _answer(self, node: Node, event: Answer) -> None:
        self._in_hand -= 1
        if event.holds_slot:
            node.release(event.attempt)
        try:
            self.beats.settle(node, event.attempt, event.result)
        except (Conflict, AnswerLost) as error:
            self.trace.write(self.now, "settle failed", node=node.name, error=type(error).__name__)
            if self._dice.chance(0.5):
                self._in_hand += 1
                again = Answer(node, event.life, event.attempt, event.result, holds_slot=False)
                self._agenda.push(self.now + FAILED_ROUND_PAUSE_MS, again)
        if node.life == event.life:
            self._plan_poll(node, self.now)

    def _act(self, actor: Actor) -> None:
        again_at = actor.act()
        if again_at is None:
            self._acting -= 1
        else:
            self._agenda.push(max(again_at, self.now), Act(actor))

    def crash(self, node: Node, *, for_ms: int) -> None:
        """Make a node lose all attempts under way, and start again after `for_ms`."""
        self._strikes.crash(node, for_ms=for_ms)

    def pause(self, node: Node, *, for_ms: int) -> None:
        """Pause a node. It then continues as if nothing had happened."""
        self._strikes.pause(node, for_ms=for_ms)

    def _wake(self) -> None:
        """Work may be due: wake the nodes, unless the wake-up is lost."""
        for node in self.nodes:
            if not self.weather.strikes(Hazard.WAKEUP_LOST):
                self._plan_poll(node, self.now + self._dice.between(1, REACTION_MS_MAX))

    def _plan_poll(self, node: Node, at: Instant) -> None:
        """Let the node claim at this instant, unless it will claim earlier."""
        if self._running and (node.poll_at is None or at < node.poll_at):
            node.poll_at = at
            self._agenda.push(at, Poll(node, node.life))

    @property
    def is_over(self) -> bool:
        return self.events_max is not None and self.trace.length >= self.events_max

    def records(self, attempt: Attempt) -> list[AttemptRecord]:
        """The history of an attempt's delivery."""
        return self.run(lambda tx: tx.attempts.of_delivery(attempt.key))

    def _go_on(self) -> bool:
        """Let the next event happen now, a little early, if its node or user is free. Returns whether it happened."""
        soonest = self._agenda.soonest
        if not self._is_under_way or soonest is None or self.is_over:
            return False
        if soonest.at > self.now + EARLY_MS_MAX or not self._is_free(soonest.event):
            return False
        self._agenda.take(soonest, now=self.now)
        self._happen(soonest.event, soonest.at)
        return True

    def _is_free(self, event: Event) -> bool:
        """Whether an event can happen while others wait for answers: its node is awake, and is not claiming."""
        match event:
            case Strike():
                return False
            case Act():
                return True
            case Poll(node):
                return node.awake_at <= self.now and not node.is_claiming
            case Begin(node) | Answer(node):
                return node.awake_at <= self.now
            case _:
                assert_never(event)

    def _crash_process(self, process: Process) -> None:
        for node in self.nodes:
            if node.process is process:
                self._strikes.crash_for_a_while(node)

    def _told_on_failure(self) -> AbstractContextManager[None]:
        return told_on_failure(self.trace, setting=self._setting, replay=self._replay)

    def _setting(self) -> str:
        return f"seed {self._seed}, {self.trace.length} events, {len(self.nodes)} nodes; {self.weather.forecast}"
