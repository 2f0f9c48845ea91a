"""Workers whose modules are imported when there is something of their kind to do: most engines use few services.

A proof, a test or a small project would otherwise import all services at its start, which takes a quarter of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redrive.core.clock import Instant
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots, Worker
from redrive.store.api import Transaction


class LateWorker:
    """Stands for a worker until a timer of its kind is set."""

    upkeep = False

    def __init__(
        self, name: str, make: Callable[[], Worker], *, timer: str | None, waits_for: Callable[[Transaction], object]
    ) -> None:  # fmt: skip
        """`name` and `timer` are those of the worker. While `waits_for` finds None, the worker has nothing to do."""
        self.name = name
        self.timer = timer
        self._make = make
        self._waits_for = waits_for
        self._made: list[Worker] = []

    @property
    def made(self) -> Worker:
        """The worker itself. Imports its module."""
        # Two threads may both make one. All calls reach the first one, which may remember things.
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        if not self._made and self._waits_for(tx) is None:
            return None
        return self.made.next_due(tx, free=free)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        return self.made.claim(tx, free=free)

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        self.made.settle(tx, attempt, result)
