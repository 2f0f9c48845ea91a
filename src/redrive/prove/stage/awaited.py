"""Invocations whose answers somebody awaits: a task of Step Functions, or a client of an API.

This is a small model of the caller's due work, with what decides in values (`Awaiting`): which attempt is due when, and
which were given up. The function is run as the engine runs it, without the engine's Invoke, because what a run asks
comes before the answer to whoever invoked it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar, cast

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.delivery.outside.invocation import Invocation
from redrive.prove.stage.messages import Left, Messages
from redrive.prove.stage.retriers import Awaiting, Used
from redrive.prove.stage.stage import SCOPE, Stage, Waiting
from redrive.prove.stage.trigger import Trigger
from redrive.services.lambda_.model.function import Function, function_invocation
from redrive.store.api import Transaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt at the work with this number, and the retries used before it."""

    number: int
    due_at: Instant
    used: Used


@dataclass(frozen=True, slots=True)
class _Calls:
    """Who is awaited, and who was given up.

    `used` has the retries of each piece of work that was sent, by its number; `awaited` the run, counted from 1, whose
    answer is awaited, or 0.
    """

    pending: tuple[_Attempt, ...] = ()
    dead: tuple[int, ...] = ()
    used: tuple[tuple[int, Used], ...] = ()
    awaited: tuple[tuple[int, int], ...] = ()

    @property
    def deciding(self) -> str:
        """What decides what comes next, as a text: of a run under way, that it is awaited."""
        return repr((self.pending, self.dead, self.used, [number for number, run in self.awaited if run]))


class AwaitedCalls(Messages):
    """The calls of a function whose answers somebody awaits."""

    def __init__(self, stage: Stage, trigger: Trigger) -> None:
        super().__init__(stage, trigger)
        if trigger.awaiting is None:
            raise Bug("nobody awaits the answers")
        self._awaiting: Awaiting = trigger.awaiting
        self._calls = _Calls()
        self._runs = 0
        self._invocation = _invocation(stage, trigger.function_name)
        stage.more_deciding = lambda _: self._calls.deciding

    def save(self) -> Left:
        return *super().save()[:3], (self._calls, self._runs)

    def load(self, left: Left) -> None:
        super().load(left)
        self._calls, self._runs = cast("tuple[_Calls, int]", left[3])

    def send(self, number: int) -> None:
        """Send the work with this number; once more, if it was sent before: then its answer is lost."""
        used = dict(self._calls.used).get(number)
        if number in self._calls.dead and not self._awaiting.is_repeated:
            return  # It was given up, and no answer is awaited that could be lost.
        is_running = bool(dict(self._calls.awaited).get(number))
        self._calls = replace(self._calls, awaited=_with(self._calls.awaited, number, 0))
        self._sent += 1
        if used is None or (self._awaiting.is_repeated and not is_running):
            self._add(_Attempt(number, self._stage.now, self._awaiting.unused))
        elif not any(one.number == number for one in self._calls.pending):
            self._fail(number, used, self._awaiting.lost, is_at_once=is_running)

    def look(self) -> Waiting:
        return Waiting(bool(self._calls.pending), len(self._calls.dead))

    def next_due(self) -> Instant | None:
        due = [one.due_at for one in self._calls.pending]
        engines = self._stage.next_due()
        return min([*due, *([] if engines is None else [engines])], default=None)

    def turn(self) -> bool:
        return self._run_one() or self._stage.turn()

    def settle(self) -> None:
        while self._run_one():
            self._stage.settle()
        self._stage.settle()

    def show_again(self, handle: str) -> bool:
        return False

    def hold_again(self, handle: str) -> None:
        """Nobody holds a receipt."""

    def _send(self, body: str, number: int) -> None:
        raise Bug("an awaited call is no message")

    def _redrive(self) -> None:
        """Run again what was given up, with all its retries."""
        dead, self._calls = self._calls.dead, replace(self._calls, dead=())
        for number in dead:
            self._add(_Attempt(number, self._stage.now, self._awaiting.unused))

    def _add(self, attempt: _Attempt) -> None:
        calls = self._calls
        dead = tuple(one for one in calls.dead if one != attempt.number)
        self._calls = replace(
            calls, pending=(*calls.pending, attempt), dead=dead, used=_with(calls.used, attempt.number, attempt.used)
        )  # fmt: skip

    def _run_one(self) -> bool:
        """Make the first attempt that is due now; returns whether there is one."""
        now = self._stage.now
        attempt = next((one for one in self._calls.pending if one.due_at <= now), None)
        if attempt is None:
            return False
        number, run = attempt.number, self._runs + 1
        pending = tuple(one for one in self._calls.pending if one is not attempt)
        self._calls = replace(self._calls, pending=pending, awaited=_with(self._calls.awaited, number, run))
        self._runs = run
        result = self._stage.invoker.invoke(self._invocation_of(number, run))
        if dict(self._calls.awaited).get(number) != run:
            return True  # Its caller has given it up, and asked again meanwhile: nobody reads this answer.
        self._calls = replace(self._calls, awaited=_with(self._calls.awaited, number, 0))
        errors = self._awaiting.errors_of(result)
        if errors:
            self._fail(number, attempt.used, errors)
        return True

    def _fail(self, number: int, used: Used, errors: frozenset[str], *, is_at_once: bool = False) -> None:
        """Retry, or give up. With `is_at_once` the wait has passed while the run went on."""
        again = self._awaiting.retry(errors, used)
        if again is None:
            self._calls = replace(self._calls, dead=(*self._calls.dead, number))
            return
        wait_ms, used = again
        self._add(_Attempt(number, self._stage.now + (0 if is_at_once else wait_ms), used))

    def _invocation_of(self, number: int, run: int) -> Invocation:
        """A run of its own: another request id, and for a request another id of it in the event."""
        body, event_id = self._trigger.bodies[number], self._trigger.event_id(number)
        if event_id:
            body = body.replace(event_id, self._stage.id_for("asked", run))
        return replace(self._invocation, request_id=self._stage.id_for("message", run), payload=body.encode())


def _invocation(stage: Stage, function_name: str) -> Invocation:
    """An invocation of the function, without a request."""

    def read(tx: Transaction) -> Invocation:
        function = tx.resources.get(Function, SCOPE, function_name)
        if function is None:
            raise Bug("a trigger without its function")
        return function_invocation(function, "", b"", function_arn=function.arn)

    return stage.engine.run(read)


def _with(pairs: tuple[tuple[int, T], ...], number: int, value: T) -> tuple[tuple[int, T], ...]:
    changed = {**dict(pairs), number: value}
    return tuple((one, changed[one]) for one in sorted(changed))
