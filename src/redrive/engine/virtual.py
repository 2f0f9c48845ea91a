"""Virtual time: the clock jumps from one due instant to the next, and everything due is done before it moves on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redrive.core.clock import Instant, VirtualClock
from redrive.core.errors import Bug
from redrive.delivery.worker import Worker
from redrive.engine.engine import Claimed, Engine

ROUNDS_PER_INSTANT_MAX = 100_000
"""More rounds than this without time moving means that a worker claims to be due and does nothing."""


class VirtualTime:
    """Drives an engine on a clock that stands still. One thread, one attempt at a time: same input, same history."""

    def __init__(self, engine: Engine, clock: VirtualClock) -> None:
        self._engine = engine
        self._clock = clock

    def settle_due(self, *, expected: Sequence[Worker] = ()) -> Claimed:
        """Do everything that is due now, and what follows from it now; answers what is due next, and whose it is.

        `expected` are the workers that are known to have something due.
        """
        for _ in range(ROUNDS_PER_INSTANT_MAX):
            claimed = self._engine.claim(free=1, expected=expected)
            expected = claimed.expected
            for attempt in claimed.attempts:
                self._engine.settle(attempt, self._engine.perform(attempt))
            is_over = claimed.next_due is not None and claimed.next_due > self._clock.now()
            if is_over or not claimed.progressed:
                return claimed
        raise Bug("work that is due for ever: a worker is due and makes no progress")

    def advance_to(self, target: Instant, *, moved: Callable[[Instant], None] | None = None) -> None:
        """Move time to `target`, doing everything that comes due on the way, each thing at its own instant.

        `moved` is told of each instant at which the clock stops. Errors: ValueError if the target lies in the past.
        """
        if target < self._clock.now():
            raise ValueError("virtual time does not run backwards")
        ahead = self.settle_due()
        while ahead.next_due is not None and ahead.next_due <= target:
            self._clock.move_to(max(ahead.next_due, self._clock.now()))
            if moved is not None:
                moved(self._clock.now())
            ahead = self.settle_due(expected=ahead.expected)
        self._clock.move_to(target)
