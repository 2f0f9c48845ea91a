"""Deletion of many rows: deleted or purged data is invisible at once, and its rows are deleted in pieces.

A queue, a DynamoDB table, a log group, an archive, a stream and a shard store their rows under an id of their own. When
no resource has this id any more, nobody can see the rows, so it does not matter how long their deletion takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.store.api import Transaction

CLEANING = "cleaning"
"""The kind of the timers, and the worker's name. A timer's name is the kind of rows, a slash, and the owner's id."""

ROWS_PER_STEP_MAX = 500
"""How many rows one transaction deletes. Other writers wait for it, some milliseconds."""

_FORGET: Mapping[str, Callable[[Transaction, str], int]] = {
    "messages": lambda tx, owner: tx.messages.purge(owner, limit=ROWS_PER_STEP_MAX),
    "items": lambda tx, owner: tx.items.drop(owner, limit=ROWS_PER_STEP_MAX),
    "log_events": lambda tx, owner: tx.log_events.delete_group(owner, limit=ROWS_PER_STEP_MAX),
    "archived_events": lambda tx, owner: tx.archives.delete(owner, limit=ROWS_PER_STEP_MAX),
    "streams": lambda tx, owner: tx.streams.drop_all(f"{owner}/", limit=ROWS_PER_STEP_MAX),
    "stream_records": lambda tx, owner: tx.streams.drop(owner, limit=ROWS_PER_STEP_MAX),
}


def forget_rows(tx: Transaction, kind: str, owner: str) -> bool:
    """Delete the rows of a kind (a key of the table above) that an id owns.

    True if all rows are deleted now. Otherwise the worker deletes the others later, and the id must own no new rows.
    """
    if _FORGET[kind](tx, owner) < ROWS_PER_STEP_MAX:
        return True
    tx.timers.set(CLEANING, f"{kind}/{owner}", tx.now)
    tx.notify("due")
    return False


class CleaningWorker:
    """Deletes rows without an owner, a bounded number in each transaction."""

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
