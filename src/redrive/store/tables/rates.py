"""Rates: how much of a quota per second has been used, in memory.

tx.metrics.rates.take ──► kept by the transaction ──commit──► Rates (memory)

Using a rate runs no statement, as counting a metric runs none. A crash forgets what was used, and each node of a shared
store has rates of its own. A transaction sees what was committed and what it has taken itself. Steps that share a
commit do not see each other, but what each of them takes counts.
"""

from __future__ import annotations

from typing import NamedTuple

Rates = dict[str, int]
"""The levels of all rates, by key: how far each was used, in units of its owner."""


class _Taken(NamedTuple):
    key: str
    floor: int
    amount: int
    level: int
    """The level after this, as far as the transaction knows."""


class RateTable:
    """What a transaction takes of rates."""

    __slots__ = ("_rates", "_taken")

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self._taken: list[_Taken] = []

    def take(self, key: str, *, floor: int, amount: int) -> int:
        """Raise a level by `amount`, if this transaction commits; a level below `floor` starts there.

        Returns the level from which it was raised.
        """
        level = max(floor, self._level(key))
        self._taken.append(_Taken(key, floor, amount, level + amount))
        return level

    def _level(self, key: str) -> int:
        for taken in reversed(self._taken):
            if taken.key == key:
                return taken.level
        return self._rates.get(key, 0)

    def take_over(self, other: RateTable) -> None:
        """Take what a part of this transaction has taken."""
        for taken in other._taken:
            self.take(taken.key, floor=taken.floor, amount=taken.amount)

    @property
    def mark(self) -> int:
        """The position to `rewind` to if later uses are rolled back."""
        return len(self._taken)

    def rewind(self, mark: int) -> None:
        """Drop what was taken since the mark."""
        del self._taken[mark:]

    def committed(self) -> None:
        """Pass on what was taken. Only the store calls it, after the commit."""
        for key, floor, amount, _ in self._taken:
            self._rates[key] = max(floor, self._rates.get(key, 0)) + amount
