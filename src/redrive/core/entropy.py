"""Randomness, as an argument. The only module that imports random, secrets or uuid.

Seeded in simulation and in virtual time, so that the same seed gives the same ids, jitter and order.
"""

from __future__ import annotations

import os
import random
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

_PIECE_LENGTH = 32
"""Digits of a UUID, the longest draw that is common."""
_PIECES_PER_FETCH = 256


class Entropy(Protocol):
    """Where a node draws its randomness."""

    def hex(self, length: int) -> str:
        """So many random lower-case hexadecimal digits."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """A number drawn evenly from [low, high]."""
        ...

    def fork(self, name: str) -> Entropy:
        """An independent source of the same kind. Seeded sources fork to the same source for the same name."""
        ...


class SystemEntropy:
    """The operating system's randomness. Callable from any thread.

    It is fetched for many draws at once: a call of the system costs more than all else there is to a short draw.
    """

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()

    def hex(self, length: int) -> str:
        if length > _PIECE_LENGTH:
            return secrets.token_hex((length + 1) // 2)[:length]
        try:
            return self._pieces.pop()[:length]
        except IndexError:
            fetched = secrets.token_hex(_PIECES_PER_FETCH * _PIECE_LENGTH // 2)
            pieces = [fetched[at : at + _PIECE_LENGTH] for at in range(0, len(fetched), _PIECE_LENGTH)]
            self._pieces.extend(pieces[1:])
            return pieces[0][:length]

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)

    def fork(self, name: str) -> Entropy:
        return self


class SeededEntropy:
    """A reproducible source: the same seed, the same draws."""

    def __init__(self, seed: int | str) -> None:
        self._seed = seed
        self._random = random.Random(f"redrive:{seed}")

    def hex(self, length: int) -> str:
        return f"{self._random.getrandbits(4 * length):0{length}x}" if length else ""

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def fork(self, name: str) -> Entropy:
        return SeededEntropy(f"{self._seed}/{name}")


def new_uuid(entropy: Entropy) -> str:
    """A random UUID (version 4) in its usual spelling."""
    digits = entropy.hex(32)
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


@contextmanager
def seeded_process() -> Iterator[Callable[[str], None]]:
    """While inside, all that this process draws (random, secrets, uuid, os.urandom) follows from a seed.

    Yields what sets the seed. For running user code whose every run must be repeatable.
    """
    source = random.Random()
    places = ((os, "urandom"), (random, "_urandom"))
    saved = [getattr(module, name) for module, name in places]
    state = random.getstate()
    for module, name in places:
        setattr(module, name, source.randbytes)

    def reseed(seed: str) -> None:
        source.seed(seed)
        random.seed(seed)

    try:
        yield reseed
    finally:
        random.setstate(state)
        for (module, name), original in zip(places, saved, strict=True):
            setattr(module, name, original)
