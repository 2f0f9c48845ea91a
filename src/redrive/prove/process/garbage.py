"""Python's search for cyclic garbage, which costs a tenth of a search: nearly all that a search makes, it keeps."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS_MORE = 100_000
"""After so many new objects, the youngest are looked through; by default after 700."""
_TIMES_YOUNG, _TIMES_OLDER = 20, 50
"""After so many looks at the younger objects, the older ones are looked through, too."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """While entered, garbage is looked for seldom, and not among the objects that are there already.

    Entered within itself, it changes nothing.
    """
    before = gc.get_threshold()
    if before[0] >= _OBJECTS_MORE:
        yield
        return
    gc.freeze()
    gc.set_threshold(_OBJECTS_MORE, _TIMES_YOUNG, _TIMES_OLDER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
