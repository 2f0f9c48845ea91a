"""Random integers and chances from a source of randomness."""

from __future__ import annotations

from redrive.core.entropy import Entropy


class Dice:
    """Random draws for the weather and the workload."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return self._entropy.uniform(0, 1) < share

    def share(self, highest: float = 1.0) -> float:
        """A random number, uniform from 0 to `highest`."""
        return self._entropy.uniform(0, highest)

    def between(self, low: int, high: int) -> int:
        """A random integer, uniform from `low` to `high`, both included."""
        return min(high, low + int(self._entropy.uniform(0, high - low + 1)))
