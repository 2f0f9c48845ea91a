"""The port of a node: what a server can do for operations of its own surface beside running transactions.

It moves and shows the clock, and it has the store as a whole. The composition root makes one; an engine in a test or in
a search has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from redrive.core.clock import Instant
from redrive.core.documents import Document


class StoppedError(Exception):
    """The clock was stopped on its way."""

    def __init__(self, stands_at: Instant) -> None:
        super().__init__(f"the clock was stopped at {stands_at}")
        self.stands_at = stands_at


class Node(Protocol):
    """A server, as the operations of its own surface see it. All of it blocks, but for `health` and `clock`."""

    def health(self) -> Document:
        """What the server says of itself: its version, account and store."""
        ...

    def clock(self) -> Document:
        """Where the clock stands, and where it is going."""
        ...

    def advance_to(self, target: Instant, is_wanted: Callable[[], bool]) -> None:
        """Let virtual time pass; ends when everything that came due until then has settled.

        Errors: UserError: the server runs in real time, or the target lies in the past. StoppedError: it was stopped on
        its way, or nobody waits for it any more.
        """
        ...

    def stop_clock(self) -> None:
        """Have a clock that moves stand still."""
        ...

    def reset(self) -> None:
        """Forget all state."""
        ...

    def report_on_store(self) -> Document:
        """Read the whole store and say what is wrong with it. Errors: UserError: it is in memory."""
        ...

    def create_backup(self) -> Document:
        """Copy the store. Errors: UserError: one is being made, the disk is full, or the store is in memory."""
        ...

    def backup(self) -> Document:
        """How far the latest copy is."""
        ...

    def backup_content(self, id: int, offset: int) -> bytes | None:
        """A piece of a copy; None if there is no whole copy of this id. Errors: UserError: the store is in memory."""
        ...

    def delete_backup(self) -> None:
        """Forget the copy. Errors: UserError: the store is in memory."""
        ...
