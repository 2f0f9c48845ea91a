"""Forgetting a lot: what was deleted or purged at once is out of sight at once, and its rows go in pieces.

A queue, a table of DynamoDB and a log group store their rows under ids of their own. Once no resource has the id any
more, nobody can see the rows: how long it takes until the last has gone is nobody's business but the disk's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.store.api import Transaction

CLEANING = "cleaning"
"""The kind of the timers, and the name of the worker. A timer's name is the kind of rows and their owner's id."""

ROWS_PER_STEP_MAX = 500
"""How many rows are forgotten in one transaction: everybody else waits for it, some milliseconds."""

_FORGET: Mapping[str, Callable[[Transaction, str], int]] = {
    "messages": lambda tx, owner: tx.messages.purge(owner, limit=ROWS_PER_STEP_MAX),
    "items": lambda tx, owner: tx.items.drop(owner, limit=ROWS_PER_STEP_MAX),
    "log_events": lambda tx, owner: tx.log_events.delete_group(owner, limit=ROWS_PER_STEP_MAX),
}


def forget_rows(tx: Transaction, kind: str, owner: str) -> bool:
    """Forget the rows of a kind (`messages`, `items`, `log_events`) that an id owns.

    True if all have gone: few go at once. Else the id must own nothing new from now on, for the others follow.
    """
    if _FORGET[kind](tx, owner) < ROWS_PER_STEP_MAX:
        return True
    tx.timers.set(CLEANING, f"{kind}/{owner}", tx.now)
    tx.notify("due")
    return False


class CleaningWorker:
    """Forgets rows that nobody owns any more, a bounded number in each transaction."""

    name = timer = CLEANING
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(CLEANING)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for name, _ in tx.timers.due(CLEANING, tx.now, 1):
            kind, _, owner = name.partition("/")
            if _FORGET[kind](tx, owner) < ROWS_PER_STEP_MAX:
                tx.timers.clear(CLEANING, name)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("cleaning makes no attempts")
