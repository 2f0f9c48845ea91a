"""The worker of DynamoDB: it deletes items whose time to live has passed.

The worker needs no timer, because the store knows which item expires next. A write of an item does not wake the driver:
the driver looks for work every minute anyway, and AWS promises only days.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.writing import expire
from redrive.store.api import Transaction


class ExpiryWorker:
    """Deletes items a minute after their time to live has passed; until then, reads return them."""

    name = "dynamodb.ttl"
    timer = None
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        expires_at = tx.items.next_expiry()
        return None if expires_at is None else expires_at + limits.EXPIRY_DELAY_MS

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        expire(tx, tx.now - limits.EXPIRY_DELAY_MS, limit=limits.EXPIRED_ITEMS_PER_STEP_MAX)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("items expire inside the store: no attempts are made")
