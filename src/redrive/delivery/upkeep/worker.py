"""The upkeep worker: deletes data that has expired, a bounded number of rows at a time.

This module knows no service: each service provides its sweep. engine/ageing.py lists all of them, and
docs/operating/store.md shows that list. While nothing is due, no statement runs: timers, or a value in memory, hold the
next due instant.
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
"""How long attempts are kept, and runs after their last attempt: as long as a queue can keep a message."""


_EVERYWHERE = "everywhere"


class Sweep(Protocol):
    """Deletes one kind of expired data."""

    @property
    def timer(self) -> str | None:
        """The kind of timer that alone decides when the sweep is due; None if `next_at` decides."""
        ...

    def next_at(self, tx: Transaction) -> Instant | None:
        """When data may expire next; None if there is none. Called often, so implementations cache the answer."""
        ...

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        """Delete up to `limit` rows. Afterwards `next_at` is later, or more rows have expired already."""
        ...


class Ageing(NamedTuple):
    """A row of the table of all data that expires: which data, how long it is kept, and its sweep."""

    what: str
    kept: str
    sweep: Sweep


def will_age(tx: Transaction, timer: str, at: Instant) -> None:
    """Schedule the sweep of this timer, because data was stored that expires at this instant.

    If the timer is not set, the sweep runs within the hour and finds out what else there is. Otherwise this usually
    runs no statement.
    """
    if tx.timers.is_set_by(timer, at + HOUR_MS, tx.now):
        return
    if tx.timers.next(timer) is None:
        wake_sweep(tx, timer)
    else:
        tx.timers.set(timer, _EVERYWHERE, _next_hour(at))
        tx.notify("due")


def wake_sweep(tx: Transaction, timer: str) -> None:
    """Run the sweep of this timer within the hour, because stored data may now expire earlier."""
    at = _next_hour(tx.now)
    if not tx.timers.is_set_by(timer, at, tx.now):
        tx.timers.set(timer, _EVERYWHERE, at)
        tx.notify("due")


def rest_until(tx: Transaction, timer: str, over_at: Instant | None) -> None:
    """Run the sweep of this timer when the next data expires; None: no data is left, and the timer is cleared."""
    if over_at is None:
        tx.timers.clear(timer, _EVERYWHERE)
    else:
        tx.timers.set(timer, _EVERYWHERE, _next_hour(max(over_at, tx.now)))


def _next_hour(at: Instant) -> Instant:
    """The next full hour. Sweeps run once an hour: each is a transaction, and nobody needs exactness."""
    return at - at % HOUR_MS + HOUR_MS


class RunSweep:
    """Deletes old attempts and moves of messages. A run is deleted with its last attempt, its notes and its links."""

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
    """Deletes client tokens that have expired."""

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
        """`per_claim`: the maximum number of rows of each kind that one transaction deletes."""
        self._sweeps = list(dict.fromkeys([row.sweep for row in table]))
        self._per_claim = per_claim
        self._by_asking = [sweep for sweep in self._sweeps if sweep.timer is None]
        self._by_timer = [sweep.timer for sweep in self._sweeps if sweep.timer is not None]
        self._timers: tuple[int | None, Instant | None] = (None, None)

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        found = [self._next_timer(tx)]
        tx.side_by_side(self._by_asking, lambda part, sweep: found.append(sweep.next_at(part)))
        return min([at for at in found if at is not None], default=None)

    def _next_timer(self, tx: Transaction) -> Instant | None:
        """The earliest instant of the sweeps' timers. Cached, because most calls find the timers unchanged."""
        version = tx.timers.version
        if self._timers[0] != version:
            tx.timers.look_up(self._by_timer)
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
