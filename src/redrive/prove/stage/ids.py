"""The ids of a history: derived from the place of the draw in the history.

So two histories that do the same at the same time draw the same ids, and reach equal moments more often. Within a
history no id occurs twice, because no two draws have the same place.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from redrive.core.clock import Instant
from redrive.core.entropy import Entropy, SeededEntropy

_ID = re.compile(r"([0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}(?:[0-9a-f]{16})?))")
_DIGITS = 64
_UUID_DIGITS = 32
_TELLING_DIGITS = 8
"""How many of its first digits identify an id in each of its spellings: a UUID sets two of the other digits."""
_PARTS_KEPT_MAX = 4_096


class Ids:
    """Entropy that begins anew at each place."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._place: tuple[object, ...] = ()
        self._draws = 0
        self._drawn: set[str] = set()

    @property
    def drawn(self) -> AbstractSet[str]:
        """The first digits of all ids ever drawn."""
        return self._drawn

    @property
    def draws(self) -> int:
        """How many draws there were since `begin`."""
        return self._draws

    def begin(self, *place: object) -> None:
        """Derive the next draws from this place and the seed."""
        self._place, self._draws = place, 0

    def hex(self, length: int) -> str:
        digits = self._digits()[:length] if length <= _DIGITS else self._fork("long").hex(length)
        self._drawn.add(digits[:_TELLING_DIGITS])
        return digits

    def ordered(self, now: Instant) -> str:
        return self.hex(_UUID_DIGITS)

    def uniform(self, low: float, high: float) -> float:
        return self._fork("uniform").uniform(low, high)

    def fork(self, name: str) -> Entropy:
        return self._fork(name)

    def _digits(self) -> str:
        """The digits of this draw, and of no other. A hash is faster than seeding a source of randomness."""
        self._draws += 1
        return hashlib.sha256(repr((self._seed, self._place, self._draws)).encode()).hexdigest()

    def _fork(self, name: str) -> Entropy:
        return SeededEntropy(f"{self._digits()}/{name}")


def renamed(left: Sequence[str], held: str, drawn: AbstractSet[str]) -> str:
    """`left` with a number in place of each drawn id that is not in `held`.

    If `left` is what a history has left behind, and `held` what the queues still hold, two histories with the same text
    after this continue alike. No run receives an id that no queue holds any more, and no later draw equals that id. A
    run can only compare the id with others that are left behind, and there both histories have equal ids in equal
    places. Only a handler that treats random ids differently (it sorts by them, or stores an id beside its own hash)
    could tell the two histories apart.

    `left` comes in parts, because most parts occur in other moments too, and are cached.
    """
    names: dict[str, str] = {}
    told: list[str] = []
    for part in left:
        pieces = list(_split(part))
        for at in range(1, len(pieces), 2):
            found = pieces[at]
            if found not in names:
                digits = found[:_TELLING_DIGITS]
                is_kept = digits not in drawn or digits in held
                names[found] = found if is_kept else f"<{len(names)}>"
            pieces[at] = names[found]
        told += pieces
    return "".join(told)


@functools.lru_cache(_PARTS_KEPT_MAX)
def _split(text: str) -> Sequence[str]:
    """The text in pieces; every second piece is an id."""
    return tuple(_ID.split(text))
