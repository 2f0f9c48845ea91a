"""The calls of a leg in order, and the faults that strike at them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from redrive.prove.calls.calls import Call
from redrive.prove.play.faults import Leg, Spot, Strike


class Strikes:
    """Counts the calls of one leg, and looks up the faults that strike at each."""

    def __init__(self, leg: Leg) -> None:
        self._kinds: list[tuple[str, str, str]] = []
        """The calls reached so far. A call occurs once more for each run that overlaps at it."""
        self._at: dict[int | Spot, tuple[Strike, ...]] = {}
        for strike in leg.strikes:
            self._at[strike.at] = (*self._at.get(strike.at, ()), strike)
        self._last = max((at for at in self._at if isinstance(at, int)), default=0)
        self._has_spots = any(isinstance(at, Spot) for at in self._at)

    def reach(self, call: Call) -> tuple[int, Sequence[Strike]]:
        """The next call: its index, and the faults that strike at it."""
        kind, index = (call.service, call.operation, call.target), len(self._kinds)
        self._kinds.append(kind)
        strikes = self._at.get(index, ())
        if self._has_spots:
            strikes = (*strikes, *self._at.get(Spot(*kind, self._kinds.count(kind)), ()))
        return index, strikes

    @property
    def spots(self) -> list[Spot]:
        """The calls reached so far, identified by what they ask."""
        counts: Counter[tuple[str, str, str]] = Counter()
        spots = []
        for kind in self._kinds:
            counts[kind] += 1
            spots.append(Spot(*kind, counts[kind]))
        return spots

    def is_past(self, index: int) -> bool:
        """Whether nothing strikes after that call."""
        return index >= self._last

    def unmet(self) -> list[Strike]:
        """The strikes whose calls were not reached."""
        reached = {*range(len(self._kinds)), *self.spots}
        return [strike for strikes in self._at.values() for strike in strikes if strike.at not in reached]

    def named(self, leg: Leg) -> Leg:
        """The leg with its calls identified by what they ask, as far as they were reached."""
        spots = self.spots
        return replace(leg, strikes=tuple(_named(strike, spots) for strike in leg.strikes))


def _named(strike: Strike, spots: Sequence[Spot]) -> Strike:
    is_known = isinstance(strike.at, int) and strike.at < len(spots)
    return replace(strike, at=spots[strike.at]) if isinstance(strike.at, int) and is_known else strike
