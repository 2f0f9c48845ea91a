"""How much of a rate is used: token buckets in memory. Nothing is stored, and nothing is rolled back.

A node that starts again begins with full buckets, and each node of a shared store has buckets of its own. In return, a
request that is within its rate writes nothing.
"""

from __future__ import annotations

from redrive.core.clock import SECOND_MS, Instant

METERS_MAX = 10_000
"""How many meters are kept; the one that was used first is forgotten, and is full again."""


class MeterTable:
    """The meters of one store, by name."""

    __slots__ = ("_used_until",)

    def __init__(self) -> None:
        # By name, the instant at which all that was used would be used up at the meter's rate.
        self._used_until: dict[str, float] = {}

    def use(self, name: str, now: Instant, amount: float, *, per_s: float, burst_ms: int) -> bool:
        """Use an amount of a bucket that fills by `per_s` and holds what comes in `burst_ms`.

        False, and nothing is used, if the bucket is empty. What is left in the bucket may be less than the amount:
        then the rest is owed.
        """
        used_until = max(self._used_until.get(name, 0.0), float(now - burst_ms))
        if used_until >= now:
            return False
        if name not in self._used_until and len(self._used_until) >= METERS_MAX:
            del self._used_until[next(iter(self._used_until))]
        self._used_until[name] = used_until + amount * SECOND_MS / per_s
        return True
