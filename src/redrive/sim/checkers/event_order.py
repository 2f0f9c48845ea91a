"""Checks the order in which a bus fills a FIFO queue."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import Happening, LeftMessage, Lined, Published


class PublishedInOrder:
    """A FIFO queue that is never out of order has the events of a bus in the order in which the bus accepted them."""

    rule = "a FIFO queue has events in the order of their publication"

    def __init__(self, bus: str) -> None:
        self._bus = bus
        self._published: dict[str, int] = {}
        self._sequences: dict[int, str] = {}

    def observe(self, happening: Happening) -> None:
        match happening:
            case Published(event_id, bus=bus) if bus == self._bus:
                self._published[event_id] = len(self._published)
            case Lined(event_id, sequence):
                self._sequences[sequence] = event_id
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        came = [self._published[event_id] for _, event_id in sorted(self._sequences.items())]
        for before, after in pairwise(came):
            if after < before:
                raise RuleBroken(self.rule, f"event number {after} is behind event number {before}")
