"""The upkeep worker: whatever ages is forgotten when its time is over, a bounded number of rows at a time.

It knows no service: each gives its sweep. engine/ageing.py is the table of all that ages, which docs/operating/store.md
shows. While nothing is due, no statement is run: what is due next is remembered, here or by the timers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from redrive.core.clock import DAY_MS, HOUR_MS, Instant
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.store.api import Transaction

RUNS_KEPT_MS = 14 * DAY_MS
"""How long attempts are remembered, and runs after their last attempt: as long as a queue can keep a message."""


_EVERYWHERE = "everywhere"


class Sweep(Protocol):
    """How something that ages is forgotten."""

    @property
    def timer(self) -> str | None:
        """The kind of timer that alone says when it is due; None if there is none, and `next_at` is asked."""
        ...

    def next_at(self, tx: Transaction) -> Instant | None:
        """When there may be something to forget; None if there is nothing. Asked often, so it is remembered."""
        ...

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        """Forget so many rows; `next_at` is later afterwards, or there is more to forget now."""
        ...


class Ageing(NamedTuple):
    """A row of the table of all that ages: what, for how long it is kept, and how it is forgotten."""

    what: str
    kept: str
    sweep: Sweep


def will_age(tx: Transaction, timer: str, at: Instant) -> None:
    """Have the sweep of this timer run in time: something was stored that is over at this instant.

    The first that is stored has the sweep run within the hour: it finds out what else there is. Costs no statement
    once the timer is set.
    """
    known = tx.timers.next(timer)
    if known is None:
        wake_sweep(tx, timer)
    elif known > at + HOUR_MS:
        tx.timers.set(timer, _EVERYWHERE, _next_hour(at))
        tx.notify("due")


def wake_sweep(tx: Transaction, timer: str) -> None:
    """Have the sweep of this timer run within the hour: what was stored may be over sooner than it was."""
    known, at = tx.timers.next(timer), _next_hour(tx.now)
    if known is None or known > at:
        tx.timers.set(timer, _EVERYWHERE, at)
        tx.notify("due")


def rest_until(tx: Transaction, timer: str, over_at: Instant | None) -> None:
    """Have the sweep of this timer run when the next thing is over; not at all if nothing ages."""
    if over_at is None:
        tx.timers.clear(timer, _EVERYWHERE)
    else:
        tx.timers.set(timer, _EVERYWHERE, _next_hour(max(over_at, tx.now)))


def _next_hour(at: Instant) -> Instant:
    """Sweeps run once an hour: exactness helps nobody, and each of them is a transaction."""
    return at - at % HOUR_MS + HOUR_MS


class RunSweep:
    """Attempts and moves of messages; a run goes with its last attempt, and takes its notes and links along."""

    timer = None

    def next_at(self, tx: Transaction) -> Instant | None:
        oldest, moved_at = tx.attempts.oldest(), tx.runs.oldest_move()
        if moved_at is not None and (oldest is None or moved_at < oldest):
            oldest = moved_at
        return None if oldest is None else _next_hour(oldest + RUNS_KEPT_MS)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        before = tx.now - RUNS_KEPT_MS
        tx.attempts.sweep(before, limit=limit)
        tx.runs.sweep_moves(before, limit=limit)


class TokenSweep:
    """Client tokens, when they have expired."""

    timer = None

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.tokens.next()

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        tx.tokens.sweep(tx.now, limit)


class UpkeepWorker:
    """Runs the sweeps that are due."""

    name = "upkeep"
    timer = None
    upkeep = True

    def __init__(self, table: Sequence[Ageing], *, per_claim: int = PRODUCTION.rows_swept_per_claim) -> None:
        """`per_claim`: how many rows of each kind are forgotten in one transaction."""
        self._sweeps = list(dict.fromkeys([row.sweep for row in table]))
        self._per_claim = per_claim
        self._by_asking = [sweep for sweep in self._sweeps if sweep.timer is None]
        self._by_timer = [sweep.timer for sweep in self._sweeps if sweep.timer is not None]
        self._timers: tuple[int | None, Instant | None] = (None, None)

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        due_at = self._next_timer(tx)
        for sweep in self._by_asking:
            at = sweep.next_at(tx)
            if at is not None and (due_at is None or at < due_at):
                due_at = at
        return due_at

    def _next_timer(self, tx: Transaction) -> Instant | None:
        """When the first timer of a sweep is set for. Most looks find them as the one before has left them."""
        version = tx.timers.version
        if self._timers[0] != version:
            found = [at for timer in self._by_timer if (at := tx.timers.next(timer)) is not None]
            self._timers = (version, min(found, default=None))
        return self._timers[1]

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for sweep in self._sweeps:
            due_at = sweep.next_at(tx)
            if due_at is not None and due_at <= tx.now:
                sweep.sweep(tx, limit=self._per_claim)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("upkeep makes no attempts")
