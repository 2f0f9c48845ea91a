"""The ids of a history: drawn from where in it they are drawn, and told apart from each other by nothing but that.

Two histories that do the same at the same time so draw the same ids, and come to the same moment more often. Within a
history no id comes twice, because no two draws have the same place.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from redrive.core.entropy import Entropy, SeededEntropy

_ID = re.compile(r"([0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}(?:[0-9a-f]{16})?))")
_DIGITS = 64
_TELLING_DIGITS = 8
"""So many of its first digits tell an id in each of its spellings: a UUID sets two of the others."""
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
        """The first digits of all ids that were ever drawn."""
        return self._drawn

    def begin(self, *place: object) -> None:
        """What is drawn from now on follows from this place and the seed."""
        self._place, self._draws = place, 0

    def hex(self, length: int) -> str:
        digits = self._digits()[:length] if length <= _DIGITS else self._fork("long").hex(length)
        self._drawn.add(digits[:_TELLING_DIGITS])
        return digits

    def uniform(self, low: float, high: float) -> float:
        return self._fork("uniform").uniform(low, high)

    def fork(self, name: str) -> Entropy:
        return self._fork(name)

    def _digits(self) -> str:
        """Digits of this draw and of no other. A hash is made sooner than a source of randomness is seeded."""
        self._draws += 1
        return hashlib.sha256(repr((self._seed, self._place, self._draws)).encode()).hexdigest()

    def _fork(self, name: str) -> Entropy:
        return SeededEntropy(f"{self._digits()}/{name}")


def renamed(left: Sequence[str], held: str, drawn: AbstractSet[str]) -> str:
    """`left` with a number in the place of each id that was drawn, and that is not in `held`.

    Where `left` is what a history has left behind, and `held` what the queues still hold, two histories with the same
    text after this go on alike. An id that no queue holds is given to no run any more, and none that will be drawn
    equals it: whatever a run does with it, it can do no more than compare it with what else is left behind, and there
    both have equal ids in equal places. Only a handler to which one random id is not as good as another (it sorts by
    them, or stores one beside its own hash) could tell the two apart.

    `left` comes in parts, because most of them are those of another moment too, and are known already.
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
    """The text in pieces, of which each second one is an id."""
    return tuple(_ID.split(text))
