"""A node: one engine over the shared store, with slots for attempts, and the moods of a machine."""

from __future__ import annotations

from dataclasses import dataclass, field

from redrive.core.clock import Instant
from redrive.delivery.invocation import InvocationResult
from redrive.delivery.worker import Attempt
from redrive.engine.engine import Engine


@dataclass(slots=True)
class Node:
    """One machine of the fleet.

    `life` counts its starts: what an earlier life had in hand is gone. Until `awake_at` it stands still, and then does
    what it was about to do. `poll_at` is when it means to claim next.
    """

    name: str
    engine: Engine
    slots: int
    life: int = 0
    in_hand: int = 0
    awake_at: Instant = 0
    poll_at: Instant | None = None

    @property
    def free(self) -> int:
        """How many more attempts it can start now."""
        return self.slots - self.in_hand

    def crash(self, restart_at: Instant) -> None:
        """Lose everything in hand; start again at that instant."""
        self.life += 1
        self.in_hand = 0
        self.awake_at = restart_at
        self.poll_at = None


@dataclass(frozen=True, slots=True)
class Poll:
    """The node claims what is due."""

    node: Node
    life: int


@dataclass(frozen=True, slots=True)
class Begin:
    """The node performs an attempt. One that `repeats` is an echo of it, beside the slots."""

    node: Node
    life: int
    attempt: Attempt
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The node settles an attempt. `holds_slot` until its first try; an echo holds none."""

    node: Node
    life: int
    attempt: Attempt
    result: InvocationResult = field(repr=False)
    holds_slot: bool


Beat = Poll | Begin | Answer
