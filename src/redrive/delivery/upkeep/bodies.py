"""Deletes large bodies that nobody has: objects were overwritten or deleted, uploads were given up."""

from __future__ import annotations

from redrive.core.clock import MINUTE_MS, Instant
from redrive.store.api import Transaction

GRACE_MS = 15 * MINUTE_MS
"""How long a body stays after its last use: who reads or writes a large one uses it again every few minutes."""

BODIES_PER_STEP_MAX = 20
"""How many bodies one transaction deletes. Other writers wait for it."""


class BodySweep:
    """Deletes bodies that have been unreferenced, and unused, for a while."""

    timer = None

    def next_at(self, tx: Transaction) -> Instant | None:
        oldest = tx.bodies.next_unreferenced()
        return None if oldest is None else _next_minute(oldest + GRACE_MS)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        for body in tx.bodies.unreferenced(now=tx.now - GRACE_MS, limit=min(limit, BODIES_PER_STEP_MAX)):
            if not tx.bodies.delete(body):
                return  # A large body, which takes several steps.


def _next_minute(at: Instant) -> Instant:
    """The next full minute, so that what was released together is deleted together."""
    return at - at % MINUTE_MS + MINUTE_MS
