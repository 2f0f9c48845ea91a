"""The upkeep worker: whatever ages is forgotten when its time is over, a bounded number of rows at a time.

It knows no service. What ages is a `Sweep`, and says itself how long it is kept; services give theirs. `bounds` is the
table of all of them, which docs/operating shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from redrive.core.clock import DAY_MS, HOUR_MS, Instant
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.delivery.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.store.api import Transaction

RUNS_KEPT_MS = 14 * DAY_MS
"""How long attempts are remembered, and runs after their last attempt: as long as a queue can keep a message."""


class Sweep(Protocol):
    """Something that ages."""

    @property
    def what(self) -> str:
        """What is forgotten, in words: `attempts`."""
        ...

    @property
    def kept(self) -> str:
        """For how long it is kept, in words: `14 days`."""
        ...

    def next_at(self, tx: Transaction) -> Instant | None:
        """When there may be something to forget; None if there is nothing. Asked often, so it is remembered."""
        ...

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        """Forget so many rows; `next_at` is later afterwards, or there is more to forget now."""
        ...


class RunSweep:
    """Attempts and moves of messages, 14 days after they happened; a run goes with its last attempt.

    Once an hour: exactness helps nobody, and each sweep is a transaction.
    """

    what = "runs, attempts and moves"
    kept = "14 days"

    def next_at(self, tx: Transaction) -> Instant | None:
        found = [at for at in (tx.attempts.oldest(), tx.runs.oldest_move()) if at is not None]
        if not found:
            return None
        over_at = min(found) + RUNS_KEPT_MS
        return over_at - over_at % HOUR_MS + HOUR_MS

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        before = tx.now - RUNS_KEPT_MS
        tx.attempts.sweep(before, limit=limit)
        tx.runs.sweep_moves(before, limit=limit)


class TokenSweep:
    """Client tokens, when they have expired."""

    what = "client tokens of requests"
    kept = "until they expire, as their service says"

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.tokens.next()

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        tx.tokens.sweep(tx.now, limit)


class UpkeepWorker:
    """Runs the sweeps that are due."""

    name = "upkeep"
    timer = None
    upkeep = True

    def __init__(self, sweeps: Sequence[Sweep], *, per_claim: int = PRODUCTION.rows_swept_per_claim) -> None:
        self._sweeps = sweeps
        self._per_claim = per_claim

    @property
    def bounds(self) -> Sequence[tuple[str, str]]:
        """What ages, and for how long it is kept."""
        return [(sweep.what, sweep.kept) for sweep in self._sweeps]

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return min((at for sweep in self._sweeps if (at := sweep.next_at(tx)) is not None), default=None)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for sweep in self._sweeps:
            due_at = sweep.next_at(tx)
            if due_at is not None and due_at <= tx.now:
                sweep.sweep(tx, limit=self._per_claim)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("upkeep makes no attempts")
