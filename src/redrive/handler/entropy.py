"""Randomness, for code that runs in a user's process. The only module of the library that draws random numbers.

It asks the operating system: Lambda environments restored from one snapshot would share the state of a generator.
"""

from __future__ import annotations

import os
from collections.abc import Callable

NewNonce = Callable[[], str]
Random = Callable[[], float]

_STEPS = 1 << 53


def new_nonce() -> str:
    """32 hexadecimal digits, different for each run."""
    return os.urandom(16).hex()


def fraction() -> float:
    """A random number from 0 up to, but not including, 1."""
    return (int.from_bytes(os.urandom(7), "big") % _STEPS) / _STEPS
