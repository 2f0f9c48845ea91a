"""What asyncpg gives for values, and takes for them: records, JSON as a text, UUIDs, and the codecs of a connection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import SupportsIndex, cast

from redrive.core.entropy import UUID
from redrive.prove.process.sql_exchange import Array, UuidText

Codec = tuple[Callable[[object], object], Callable[[str], object]]
"""An encoder and a decoder of JSON."""


class AsyncRow:
    """A row. As in asyncpg, `in` and `keys` are about its names, which count with their case; it cannot be changed."""

    __slots__ = ("_names", "_values")

    def __init__(self, names: tuple[str, ...], values: tuple[object, ...]) -> None:
        self._names, self._values = names, values

    def __getitem__(self, at: object) -> object:
        if not isinstance(at, str):
            return self._values[cast("SupportsIndex", at)]  # Or a slice; anything else raises as a tuple does.
        if at not in self._names:
            raise KeyError(at)
        return self._values[len(self._names) - 1 - self._names[::-1].index(at)]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[object]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return self._values == (other._values if isinstance(other, AsyncRow) else other)

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        return f"<Record {' '.join(f'{name}={value!r}' for name, value in self.items())}>"

    def keys(self) -> Iterator[str]:
        """The names."""
        return iter(self._names)

    def values(self) -> Iterator[object]:
        """The values."""
        return iter(self._values)

    def items(self) -> Iterator[tuple[str, object]]:
        """Names and values."""
        return iter(list(zip(self._names, self._values, strict=True)))

    def get(self, name: str, default: object = None) -> object:
        """The value of a name."""
        return self[name] if name in self._names else default


def given_value(value: object, codec: Codec | None) -> object:
    """A value of a row as asyncpg gives it: JSON is a text, unless the connection has a codec."""
    match value:
        case UuidText():
            return UUID(value)
        case Array():
            return list(value)
        case dict() | list():
            text = json.dumps(value)
            return text if codec is None else codec[1](text)
        case _:
            return value


def taken_value(value: object, codec: Codec | None) -> object:
    """A parameter as it is sent. Errors: TypeError for a mapping without a codec, which asyncpg takes for no JSON."""
    if isinstance(value, Mapping):
        if codec is None:
            raise TypeError(f"expected str, got {type(value).__name__}")
        return codec[0](value)
    return value
