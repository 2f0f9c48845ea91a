"""Virtual time: the clock jumps from one due instant to the next. All work of an instant is done before it moves on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from redrive.core.clock import Instant, VirtualClock
from redrive.core.errors import Bug, Conflict, UserError
from redrive.core.knobs import PRODUCTION
from redrive.delivery.worker import ONE, Worker
from redrive.engine.engine import Claimed, Engine, Runner
from redrive.store.api import Transaction

ROUNDS_PER_INSTANT_MAX = 100_000
"""More rounds at one instant mean that a worker reports due work and makes no progress."""

Keep = Callable[[Transaction, Instant], None]
"""Stores the clock's time, in the transaction that moved the clock."""


class VirtualTime:
    """Drives an engine with a virtual clock. One thread, one attempt at a time: same input, same history."""

    def __init__(
        self, engine: Engine, clock: VirtualClock, *, keep: Keep | None = None,
        stops_max: int = PRODUCTION.stops_per_transaction, run_between: Runner | None = None,
    ) -> None:  # fmt: skip
        """`stops_max`: how many instants share one transaction at most.

        `run_between` runs all steps of an advance except the last. They need not wait for the disk; the last one does.
        """
        self._run_between = run_between or engine.run
        self._stops_max = stops_max
        self._engine = engine
        self._clock = clock
        self._keep = keep

    def settle_due(self, *, expected: Sequence[Worker] = ()) -> Claimed:
        """Do all work that is due now, and what follows from it now. Returns what is due next, for which workers.

        `expected` are the workers that are known to have due work.
        """
        for _ in range(ROUNDS_PER_INSTANT_MAX):
            claimed = self._engine.claim(free=ONE, expected=expected)
            expected = claimed.expected
            for attempt in claimed.attempts:
                self._engine.settle(attempt, self._engine.perform(attempt))
            is_over = claimed.next_due is not None and claimed.next_due > self._clock.now()
            if is_over or not claimed.progressed:
                return claimed
        raise Bug("work that is due for ever: a worker is due and makes no progress")

    def advance_to(
        self, target: Instant, *, moved: Callable[[Instant], None] | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Instant:  # fmt: skip
        """Move time to `target`. All work that comes due on the way is done, each at its own instant.

        `moved` is called with each instant at which the clock stops, before the work there. Time stops early if
        `is_wanted` returns False between two transactions. Returns the clock's time. Errors: ValueError if the target
        lies in the past.
        """
        if target < self._clock.now():
            raise ValueError("virtual time does not run backwards")
        ahead = self.settle_due()
        while (due := ahead.next_due) is not None and due <= target and is_wanted():
            if moved is None:
                ahead = self._travel(ahead, target)
            else:
                moved(self._move_to(due))
                ahead = self.settle_due(expected=ahead.expected)
        if is_wanted():
            self._clock.move_to(target)
        stands_at = self._clock.now()
        if self._keep is not None:
            keep = self._keep
            self._engine.run(lambda tx: keep(tx, stands_at))
        return stands_at

    def _travel(self, ahead: Claimed, target: Instant) -> Claimed:
        """Go from one due instant to the next in one transaction, until an attempt outside is needed."""
        passed = self._passed(ahead, target, self._stops_max) or self._passed(ahead, target, 1)
        if passed is None:
            return self.settle_due(expected=ahead.expected)
        for attempt in passed.attempts:
            self._engine.settle(attempt, self._engine.perform(attempt))
        is_standing = passed.next_due == ahead.next_due
        return self.settle_due(expected=passed.expected) if passed.attempts or is_standing else passed

    def _passed(self, ahead: Claimed, target: Instant, stops_max: int) -> Claimed | None:
        """What is due after up to `stops_max` instants; None if a worker had a defect: then nothing was done.

        The clock moves no further than to the defect. Errors: Conflict, UserError (the store is full).
        """
        try:
            return self._run_between(lambda tx: self._pass(tx, ahead, target, stops_max))
        except (Conflict, UserError):
            raise
        except Exception:  # noqa: BLE001 - repeated with fewer instants, until it is clear which worker has the defect.
            return None

    def _pass(self, tx: Transaction, ahead: Claimed, target: Instant, stops_max: int) -> Claimed:
        """Do the work of several instants in one transaction.

        The step may run twice: it starts at the first instant again, even if the clock has moved on. Upkeep starts a
        new transaction, because it measures committed data.
        """
        next_due = ahead.next_due
        for _ in range(stops_max):
            if next_due is None or next_due > target:
                break
            tx.move_to(next_due)
            self._move_to(next_due)
            ahead = self._engine.claim_in(tx, ONE, expected=ahead.expected)
            next_due = None if ahead.next_due is None else max(ahead.next_due, tx.now)
            if any(worker.upkeep for worker in ahead.expected):
                break
        if self._keep is not None:
            self._keep(tx, tx.now)
        return replace(ahead, next_due=next_due)

    def _move_to(self, at: Instant) -> Instant:
        """Move the clock to an instant, unless it is already there or later. Returns the clock's time."""
        if at > self._clock.now():
            self._clock.move_to(at)
        return self._clock.now()
