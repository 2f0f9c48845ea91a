"""The token worker: used tokens are forgotten when they have expired, whichever service they were for."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.delivery.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.store.api import Transaction


class TokenWorker:
    """Forgets tokens, a bounded number at a time."""

    name = "tokens"
    timer = None
    upkeep = True

    def __init__(self, *, per_claim: int = PRODUCTION.tokens_per_claim) -> None:
        self._per_claim = per_claim

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.tokens.next()

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        tx.tokens.sweep(tx.now, self._per_claim)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("tokens make no attempts")
