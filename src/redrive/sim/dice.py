"""Whole numbers and chances out of a source of randomness."""

from __future__ import annotations

from redrive.core.entropy import Entropy


class Dice:
    """Draws for whoever decides: the weather, a workload."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def chance(self, share: float) -> bool:
        """True in this share of all draws."""
        return self._entropy.uniform(0, 1) < share

    def share(self, highest: float = 1.0) -> float:
        """A number drawn evenly from 0 to the highest."""
        return self._entropy.uniform(0, highest)

    def between(self, low: int, high: int) -> int:
        """A whole number drawn evenly from low to high, both included."""
        return min(high, low + int(self._entropy.uniform(0, high - low + 1)))
