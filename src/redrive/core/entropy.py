"""Randomness, as an argument. The only module that imports random, secrets or uuid.

In simulations and in virtual time it is seeded, so that the same seed gives the same ids, jitter and order.
"""

from __future__ import annotations

import os
import random
import secrets
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from redrive.core.clock import Instant

UUID = uuid.UUID
"""The type of ids that user code draws."""

_PIECE_LENGTH = 32
"""The digits of a UUID, the longest common draw."""
_PIECES_PER_FETCH = 256
_INSTANT_DIGITS = 12


class Entropy(Protocol):
    """A node's source of randomness."""

    def hex(self, length: int) -> str:
        """Random lower-case hexadecimal digits: `length` of them."""
        ...

    def ordered(self, now: Instant) -> str:
        """The 32 digits of a new id: first the instant, then random ones. Ids of the same time are near each other."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """A random number, uniform in [low, high]."""
        ...

    def fork(self, name: str) -> Entropy:
        """An independent source of the same kind. A seeded source returns equal forks for equal names."""
        ...


class SystemEntropy:
    """The operating system's randomness. Any thread may call it.

    Bytes for many draws are fetched at once, because the system call is the most expensive part of a short draw.
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

    def ordered(self, now: Instant) -> str:
        return _ordered(self, now)

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)

    def fork(self, name: str) -> Entropy:
        return self


class SeededEntropy:
    """A reproducible source: the same seed gives the same draws."""

    def __init__(self, seed: int | str) -> None:
        self._seed = seed
        self._random = random.Random(f"redrive:{seed}")

    def hex(self, length: int) -> str:
        return f"{self._random.getrandbits(4 * length):0{length}x}" if length else ""

    def ordered(self, now: Instant) -> str:
        return _ordered(self, now)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def fork(self, name: str) -> Entropy:
        return SeededEntropy(f"{self._seed}/{name}")


def new_uuid(entropy: Entropy) -> str:
    """A random UUID (version 4) in the usual format."""
    return _uuid(entropy.hex(32))


def new_row_id(entropy: Entropy, now: Instant) -> str:
    """A UUID for a row that is stored now: a message, an event, a run of a function.

    Rows that are stored together have ids that lie together, so their entries in an index share pages. Entries of
    random ids would each change a page of their own, and a durable commit writes whole pages.
    """
    return _uuid(entropy.ordered(now))


def _ordered(entropy: Entropy, now: Instant) -> str:
    return f"{now:0{_INSTANT_DIGITS}x}{entropy.hex(_PIECE_LENGTH - _INSTANT_DIGITS)}"


def _uuid(digits: str) -> str:
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


class Randomness:
    """The randomness of this process, as far as Python code draws it."""

    def __init__(self, source: random.Random) -> None:
        """`source` stands for the system's own."""
        self._source = source
        self._kept: list[tuple[object, object] | None] = []

    def begin(self, seed: str) -> None:
        """Have all further draws follow from a seed."""
        if self._kept and self._kept[-1] is None:
            self._kept[-1] = (self._source.getstate(), random.getstate())
        self._source.seed(seed)
        random.seed(seed)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is drawn inside after a `begin` changes nothing of what is drawn afterwards."""
        self._kept.append(None)
        try:
            yield
        finally:
            states = self._kept.pop()
            if states is not None:
                self._source.setstate(states[0])  # type: ignore[arg-type] # It came from there.
                random.setstate(states[1])  # type: ignore[arg-type]


@contextmanager
def seeded_process() -> Iterator[Randomness]:
    """Inside the `with` block, all randomness of this process (random, secrets, uuid, os.urandom) follows from a seed.

    For user code whose runs must be repeatable.
    """
    source = random.Random()
    places = ((os, "urandom"), (random, "_urandom"))
    saved = [getattr(module, name) for module, name in places]
    state = random.getstate()
    for module, name in places:
        setattr(module, name, source.randbytes)

    try:
        yield Randomness(source)
    finally:
        random.setstate(state)
        for (module, name), original in zip(places, saved, strict=True):
            setattr(module, name, original)
