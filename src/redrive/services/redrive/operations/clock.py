"""The operations on a server's clock: read it, and advance virtual time."""

from __future__ import annotations

from redrive.core.clock import format_instant
from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.node import Node, StoppedError
from redrive.delivery.operation import ByNode, IsWanted
from redrive.delivery.surface import STOPPED, own_operation, refusal
from redrive.services.redrive.model.requests import target_of
from redrive.store.api import Transaction


@own_operation("GetClock")
def get_clock(tx: Transaction, caller: Caller) -> ByNode:
    """Return the server's time. Errors: AccessDeniedException."""
    return ByNode(lambda node, _: node.clock())


@own_operation("AdvanceClock")
def advance_clock(
    tx: Transaction, caller: Caller, *, advance_s: float | None = None, to: str | None = None
) -> ByNode:  # fmt: skip
    """Advance virtual time; answer when everything that became due has settled.

    Errors: AccessDeniedException; ValidationException (no target, a target in the past, or the server runs in real
    time); ConflictException (the clock was stopped before the target).
    """
    target = target_of(tx.now, advance_s, to)

    def perform(node: Node, is_wanted: IsWanted) -> Document:
        try:
            node.advance_to(target, is_wanted)
        except StoppedError as stopped:
            what = f"The clock was stopped at {format_instant(stopped.stands_at)}, before {format_instant(target)}."
            next_step = "Everything due until then has settled. Go on from there, or leave it."
            raise refusal(what, next_step, STOPPED) from stopped
        return node.clock()

    return ByNode(perform)


@own_operation("StopClock")
def stop_clock(tx: Transaction, caller: Caller) -> ByNode:
    """Stop a clock that is advancing; it keeps the time that it has reached. Errors: AccessDeniedException."""

    def perform(node: Node, _: IsWanted) -> Document:
        node.stop_clock()
        return node.clock()

    return ByNode(perform)
