"""Sizes that decide how work is split into transactions, but never change the result.

Each knob is declared once, with its value in production and the range from which the simulator draws. Small values make
boundary cases frequent: a full batch, a claim that leaves work for the next claim, a cache that is emptied. Code gets
its sizes as arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

_SIMULATED = "simulated"


def _knob(default: int, *, simulated: tuple[int, int]) -> int:
    """A field of Knobs; the simulator draws its value from `simulated`, both ends included."""
    made: int = field(default=default, metadata={_SIMULATED: simulated})
    return made


@dataclass(frozen=True, slots=True)
class Knobs:
    """All knobs, with their values in production."""

    steps_per_commit: int = _knob(256, simulated=(1, 8))
    """How many steps share a commit at most."""

    deliveries_per_claim: int = _knob(200, simulated=(1, 20))
    """How many deliveries inside the store share one transaction. This bounds how long others wait for the writer."""

    occurrences_per_claim: int = _knob(200, simulated=(1, 10))
    """How many schedules fire in one transaction at most."""

    rows_swept_per_claim: int = _knob(500, simulated=(1, 10))
    """How many expired rows of one kind one transaction deletes."""

    stops_per_transaction: int = _knob(200, simulated=(1, 20))
    """How many instants of virtual time share one transaction. The commit costs as much as the work of one instant."""

    cached_resources: int = _knob(120_000, simulated=(1, 200))
    """How many decoded documents of resources are cached.

    This many schedules take 150 MB. 100,000 schedules that are due together are read once.
    """

    events_replayed_per_claim: int = _knob(100, simulated=(1, 10))
    """How many events of a replay one transaction publishes."""

    items_indexed_per_claim: int = _knob(200, simulated=(1, 10))
    """How many items one transaction writes into an index that is being filled."""

    alarms_per_claim: int = _knob(500, simulated=(1, 10))
    """How many alarms one transaction evaluates at most. Five hundred take about as long as a durable commit."""


PRODUCTION = Knobs()


def ranges() -> Mapping[str, tuple[int, int]]:
    """The range from which the simulator draws each knob, by name."""
    return {knob.name: knob.metadata[_SIMULATED] for knob in fields(Knobs)}


def drawn(between: Callable[[int, int], int]) -> Knobs:
    """Random knobs for a simulation. `between` draws an integer, both ends included."""
    return Knobs(**{name: between(low, high) for name, (low, high) in ranges().items()})
