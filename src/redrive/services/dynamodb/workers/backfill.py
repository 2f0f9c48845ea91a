"""The worker that goes through many items, some in each transaction: fills indexes, exports tables, imports them."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.dynamodb.indexes import BACKFILLS, go_on_filling
from redrive.services.dynamodb.transfers import go_on_transferring, is_transfer
from redrive.store.api import Transaction


class BackfillWorker:
    """Writes the entries of items that were there before their index; goes on with exports and imports."""

    name = timer = BACKFILLS
    upkeep = False

    def __init__(self, *, per_claim: int) -> None:
        self._per_claim = per_claim

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(BACKFILLS)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for name, _ in tx.timers.due(BACKFILLS, tx.now, 1):
            if is_transfer(name):
                go_on_transferring(tx, name)
            else:
                go_on_filling(tx, name, self._per_claim)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("items are gone through inside the store: no attempts are made")
