"""A node: a machine with a process on it, with slots for attempts; it crashes, stands still, and starts again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.sim.clocks import Machine
from redrive.sim.serving import Process


@dataclass(slots=True)
class Node:
    """One machine of the fleet.

    `life` counts its starts: what an earlier life had in hand is gone. Until `awake_at` it stands still, and then does
    what it was about to do. `poll_at` is when it means to claim next; a node claims in one thread.
    """

    name: str
    machine: Machine
    slots: int
    process: Process
    life: int = 0
    in_hand: int = 0
    awake_at: Instant = 0
    poll_at: Instant | None = None
    is_claiming: bool = False

    @property
    def free(self) -> int:
        """How many more attempts it can start now."""
        return self.slots - self.in_hand

    def restart(self, start: Callable[[int], Process], *, at: Instant) -> None:
        """Lose everything in hand; at that instant go on, with the process that `start` makes for a life."""
        self.life += 1
        self.machine.restart()
        self.process = start(self.life)
        self.in_hand = 0
        self.awake_at = at
        self.poll_at = None
        self.is_claiming = False
