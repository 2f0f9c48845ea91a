"""The planned events of a simulation, ordered by instant, and the one true clock that follows them."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from redrive.core.clock import Instant, VirtualClock
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.events import Event

TIME_MOVES = "time moves on"

EVENTS_PER_INSTANT_MAX = 20_000


class Entry(NamedTuple):
    """An event with its instant. Events at the same instant happen in the order in which they were planned."""

    at: Instant
    number: int
    event: Event


class Agenda:
    """The events of a simulation: a priority queue, earliest first."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._entries: list[Entry] = []
        self._pushed = 0
        self._events_at_instant = 0

    @property
    def soonest(self) -> Entry | None:
        """The next event; None if nothing is planned."""
        return self._entries[0] if self._entries else None

    def push(self, at: Instant, event: Event) -> None:
        """Plan an event."""
        self._pushed += 1
        heapq.heappush(self._entries, Entry(at, self._pushed, event))

    def take(self, soonest: Entry, *, now: Instant) -> None:
        """Remove the earliest event; move the clock to `now`. Errors: RuleBroken: too many events at one instant."""
        taken = heapq.heappop(self._entries)
        assert taken is soonest, "only the soonest event can be taken"
        self.move_to(now)

    def move_to(self, instant: Instant) -> None:
        """Move the clock. Errors: RuleBroken if it stands still for too many events."""
        if instant > self._clock.now():
            self._events_at_instant = 0
            self._clock.move_to(instant)
        self._events_at_instant += 1
        if self._events_at_instant > EVENTS_PER_INSTANT_MAX:
            raise RuleBroken(TIME_MOVES, "the nodes find something due at this instant over and over again")
