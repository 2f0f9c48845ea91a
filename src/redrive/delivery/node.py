"""The port of a node: what a server offers to the operations of its own surface besides transactions.

A node shows and moves the clock, and works on the whole store. The composition root creates the node. An engine in a
test or in a search has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from redrive.core.clock import Instant
from redrive.core.documents import Document


class StoppedError(Exception):
    """Somebody stopped the clock before it reached its target."""

    def __init__(self, stands_at: Instant) -> None:
        super().__init__(f"the clock was stopped at {stands_at}")
        self.stands_at = stands_at


class Node(Protocol):
    """A server, as the operations of its own surface see it. All methods but `health`, `nodes` and `clock` block."""

    def health(self) -> Document:
        """Facts about the server: its version, account and store."""
        ...

    def nodes(self) -> list[Document]:
        """What the servers on this store say of themselves, this one among them. Does not block."""
        ...

    def clock(self) -> Document:
        """The clock's time and, while it moves, its target."""
        ...

    def advance_to(self, target: Instant, is_wanted: Callable[[], bool]) -> None:
        """Let virtual time pass; returns when all work that came due until `target` has settled.

        Errors: UserError: the server runs in real time, or the target lies in the past. StoppedError: the clock was
        stopped before the target, or the caller no longer waits.
        """
        ...

    def stop_clock(self) -> None:
        """Stop a moving clock."""
        ...

    def reset(self) -> None:
        """Delete all state."""
        ...

    def report_on_store(self) -> Document:
        """Check the whole store and report what is wrong. Errors: UserError: the store is in memory."""
        ...

    def create_backup(self) -> Document:
        """Copy the store. Errors: UserError: another copy is under way, the disk is full, or the store is in memory."""
        ...

    def backup(self) -> Document:
        """The progress of the latest copy."""
        ...

    def backup_content(self, id: int, offset: int) -> bytes | None:
        """A piece of a copy; None if no complete copy has this id. Errors: UserError: the store is in memory."""
        ...

    def delete_backup(self) -> None:
        """Delete the copy. Errors: UserError: the store is in memory."""
        ...
