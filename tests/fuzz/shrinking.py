"""Makes failing cases small, and writes the test that repeats them.

A case is any value of lists, dicts, texts, bytes and dataclasses. Shrinking tries what is simpler, keeps what still
fails, and begins again, a bounded number of times: the result is small, not always the smallest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

T = TypeVar("T")

TRIES_MAX = 600
CHARACTERS_MAX = 20_000
"""How long a case may be to be printed."""


def shrink(case: T, fails: Callable[[T], bool], *, tries_max: int = TRIES_MAX) -> T:
    """The simplest case that was found to fail still. `case` fails."""
    tries = 0
    progressed = True
    while progressed and tries < tries_max:
        progressed = False
        for simpler in _simpler(case):
            tries += 1
            if fails(simpler):
                case, progressed = simpler, True
                break
            if tries >= tries_max:
                break
    return case


def snippet(imports: str, call: str, case: object) -> str:
    """A test to paste, which repeats a case. `call` has the place `{}` for it."""
    if len(repr(case)) > CHARACTERS_MAX:
        return f"The case is too long to be shown: {len(repr(case))} characters. Repeat it by its seed."
    items = ",\n        ".join(map(repr, case)) if isinstance(case, list) else ""
    written = f"[\n        {items},\n    ]" if items else repr(case)
    return f"{imports}\n\ndef test_what_fuzzing_found_is_answered() -> None:\n    {call.format(written)}\n"


def _simpler(value: T) -> Iterator[T]:
    """Values that are simpler, the much simpler ones first."""
    match value:
        case str() | bytes():
            yield from cast("Iterator[T]", _fewer(value))
        case list() | tuple():
            yield from cast("Iterator[T]", _fewer(value))
            for index, item in enumerate(value):
                for simpler in _simpler(item):
                    yield cast("T", type(value)([*value[:index], simpler, *value[index + 1 :]]))
        case dict():
            for key in value:
                yield cast("T", {other: item for other, item in value.items() if other != key})
            for key, item in value.items():
                for simpler in _simpler(item):
                    yield cast("T", value | {key: simpler})
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                for simpler in _simpler(getattr(value, field.name)):
                    yield cast("T", dataclasses.replace(cast("Any", value), **{field.name: simpler}))


def _fewer(whole: Any) -> Iterator[Any]:
    """The sequence without all of it, a half, a quarter, … and without each single piece."""
    size = len(whole)
    while size:
        for start in range(0, len(whole), size):
            yield whole[:start] + whole[start + size :]
        size //= 2
