"""A node: one engine over the shared store, with slots for attempts, and the moods of a machine."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.engine.engine import Engine
from redrive.sim.clocks import Machine


@dataclass(slots=True)
class Node:
    """One machine of the fleet.

    `life` counts its starts: what an earlier life had in hand is gone. Until `awake_at` it stands still, and then does
    what it was about to do. `poll_at` is when it means to claim next.
    """

    name: str
    engine: Engine
    machine: Machine
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
        self.machine.restart()
        self.in_hand = 0
        self.awake_at = restart_at
        self.poll_at = None
