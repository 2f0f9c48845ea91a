"""Walks through the keys of a bucket in order, a page at a time, with common prefixes in place of their keys.

A page costs one statement for each chunk of rows. Keys under a common prefix are not read: one statement goes on after
all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from redrive.services.s3.model.pages import Grouping, Place, after_prefix, chunk_sizes


class Keyed(Protocol):
    """A row that has a key and a number."""

    @property
    def key(self) -> bytes: ...

    @property
    def number(self) -> int: ...


R = TypeVar("R", bound=Keyed)

Read = Callable[["Position", bytes, int], Sequence[R]]
"""Reads rows from a position on, with keys before a key, up to a number of them."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading goes on: at a key, after all rows of the key, or after one of them (`number`)."""

    key: bytes
    is_after: bool
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Common:
    """A common prefix of a page."""

    prefix: bytes


@dataclass(frozen=True, slots=True)
class Page(Generic[R]):
    """The entries of a page in order, and whether more follow."""

    entries: Sequence[R | Common]
    is_truncated: bool

    @property
    def rows(self) -> Sequence[R]:
        """The entries that are rows."""
        return [entry for entry in self.entries if not isinstance(entry, Common)]

    @property
    def prefixes(self) -> Sequence[bytes]:
        """The entries that are common prefixes."""
        return [entry.prefix for entry in self.entries if isinstance(entry, Common)]


def begin_at(place: Place) -> Position:
    """The position at the beginning of a page."""
    return Position(place.key, place.is_after)


def read_page(
    read: Read[R], grouping: Grouping, start: Position, size: int, *, shows: Callable[[R], bool] = lambda _: True
) -> Page[R]:
    """A page of up to `size` entries. Rows that are not shown cost no entry."""
    entries: list[R | Common] = []
    if not size:
        return Page(entries, is_truncated=False)
    end = after_prefix(grouping.prefix)
    position = start
    chunks = chunk_sizes(size + 1)
    while True:
        asked = next(chunks) if grouping.delimiter else size + 1 - len(entries)
        rows = read(position, end, asked)
        for row in rows:
            if position.key > row.key or not shows(row):
                continue  # It is under the common prefix before it.
            if len(entries) == size:
                return Page(entries, is_truncated=True)
            common = grouping.common_prefix(row.key) if grouping.delimiter else None
            if common is None:
                entries.append(row)
                continue
            entries.append(Common(common))
            position = Position(after_prefix(common), is_after=False)
        if len(rows) < asked:
            return Page(entries, is_truncated=False)
        last = rows[-1]
        if position.key <= last.key:
            position = Position(last.key, is_after=False, number=last.number)
        else:
            chunks = chunk_sizes(size + 1)
