"""A node: a machine with a process and slots for attempts. It crashes, pauses, and starts again."""

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

    `life` counts its starts: events of an earlier life have no effect. The node is paused until `awake_at`, and then
    continues where it was. `in_hand` counts each function's attempts under way. `poll_at` is when the node will claim
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
        """What the node can start now. As on a server, functions share its slots."""
        return FreeSlots(self.slots - self.in_hand.total(), Counter(self.in_hand))

    def take(self, attempt: Attempt) -> None:
        """Give an attempt a slot."""
        self.in_hand[attempt.function] += 1

    def release(self, attempt: Attempt) -> None:
        """Free an attempt's slot."""
        self.in_hand[attempt.function] -= 1
        self.in_hand += Counter()  # Removes functions with no attempt under way.

    def restart(self, start: Callable[[int], Process], *, at: Instant) -> None:
        """Lose all attempts under way. Continue at `at`, with the process that `start` creates for a life."""
        self.life += 1
        self.machine.restart()
        self.process = start(self.life)
        self.in_hand = Counter()
        self.awake_at = at
        self.poll_at = None
        self.is_claiming = False
