"""Sizes that change how work is cut into transactions, and never what comes of it.

Each is declared once, with the value that production has and the range from which the simulator draws. Small values
bring the seams of the work close together: a batch that is full, a claim that leaves something for the next one, a
cache that starts anew. Whoever needs a size is given it as an argument.
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
    """All sizes, with the values that production has."""

    steps_per_commit: int = _knob(256, simulated=(1, 8))
    """How many steps share a commit at most."""

    deliveries_per_claim: int = _knob(200, simulated=(1, 20))
    """How many deliveries inside the store share one transaction: bounds how long others wait for the writer."""

    occurrences_per_claim: int = _knob(200, simulated=(1, 10))
    """How many schedules fire in one transaction at most."""

    rows_swept_per_claim: int = _knob(500, simulated=(1, 10))
    """How many rows of one kind that have aged are forgotten in one transaction."""

    stops_per_transaction: int = _knob(200, simulated=(1, 20))
    """At how many instants of virtual time work is done in one transaction: it costs as much as the work at one."""

    cached_resources: int = _knob(120_000, simulated=(1, 200))
    """How many documents of resources are kept decoded. So many schedules take 150 MB, and 100,000 that are due
    together are read once."""


PRODUCTION = Knobs()


def ranges() -> Mapping[str, tuple[int, int]]:
    """The range from which the simulator draws each, by name."""
    return {knob.name: knob.metadata[_SIMULATED] for knob in fields(Knobs)}


def drawn(between: Callable[[int, int], int]) -> Knobs:
    """Sizes for a simulation; `between` draws a whole number, both ends included."""
    return Knobs(**{name: between(low, high) for name, (low, high) in ranges().items()})
