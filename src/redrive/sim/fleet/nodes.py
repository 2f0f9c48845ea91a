"""A node: a machine with a process on it, with slots for attempts; it crashes, stands still, and starts again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from redrive.core.clock import Instant
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.sim.fleet.clocks import Machine
from redrive.sim.fleet.serving import Process


@dataclass(slots=True)
class Node:
    """One machine of the fleet.

    `life` counts its starts: what an earlier life had in hand is gone. Until `awake_at` it stands still, and then does
    what it was about to do. `in_hand` are the attempts under way of each function. `poll_at` is when it means to claim
    next; a node claims in one thread.
    """

    name: str
    machine: Machine
    slots: int
    process: Process
    life: int = 0
    in_hand: Counter[str] = field(default_factory=Counter)
    awake_at: Instant = 0
    poll_at: Instant | None = None
    is_claiming: bool = False

    @property
    def free(self) -> FreeSlots:
        """What it can start now; functions share its slots, as they do those of a server."""
        return FreeSlots(self.slots - self.in_hand.total(), Counter(self.in_hand))

    def take(self, attempt: Attempt) -> None:
        """An attempt has a slot from now on."""
        self.in_hand[attempt.function] += 1

    def release(self, attempt: Attempt) -> None:
        """An attempt has its slot no longer."""
        self.in_hand[attempt.function] -= 1
        self.in_hand += Counter()  # Forgets functions that have nothing under way.

    def restart(self, start: Callable[[int], Process], *, at: Instant) -> None:
        """Lose everything in hand; at that instant go on, with the process that `start` makes for a life."""
        self.life += 1
        self.machine.restart()
        self.process = start(self.life)
        self.in_hand = Counter()
        self.awake_at = at
        self.poll_at = None
        self.is_claiming = False
