"""The rounds of a node: one claim after the other, and the wait between them.

Real time and the simulator use them. Virtual time does not wait.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Clock
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.engine.engine import Claimed, Engine

IDLE_MS_MAX = 60_000
"""How long a node waits at most. This bounds the delay after a lost wake-up."""

_NOTHING = Claimed((), progressed=False)


class Rounds:
    """Claims for one node, in one thread.

    Workers that are known to be due next are not asked again when that instant comes, because asking runs statements.
    """

    def __init__(self, engine: Engine, clock: Clock, *, idle_ms_max: int = IDLE_MS_MAX) -> None:
        self._engine = engine
        self._clock = clock
        self._idle_ms_max = idle_ms_max
        self._latest = _NOTHING

    @property
    def latest(self) -> Claimed:
        """The result of the latest claim; empty if it failed."""
        return self._latest

    def claim(self, free: FreeSlots) -> Sequence[Attempt]:
        """Claim due work for these free slots. Errors: Conflict; the defect of a worker."""
        before, self._latest = self._latest, _NOTHING
        is_due = before.next_due is not None and before.next_due <= self._clock.now()
        self._latest = self._engine.claim(free, expected=before.expected if is_due else ())
        return self._latest.attempts

    def took(self, claimed: Claimed) -> None:
        """Note a claim that was made elsewhere for this node."""
        self._latest = claimed

    def wait_ms(self) -> int:
        """How long until work is due, according to the latest claim; 0 if work may be due now."""
        due = self._latest.next_due
        if due is None:
            return 0 if self._latest.progressed else self._idle_ms_max
        return max(0, min(self._idle_ms_max, due - self._clock.now()))
