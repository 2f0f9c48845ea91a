"""A statement of the user's code to a database and its answer, as values: the same whichever driver sends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Bound = Mapping[str, object] | Sequence[object]
"""The parameters of a statement: by name, or by place."""


class UuidText(str):
    """A UUID of a row: most drivers give its text."""

    __slots__ = ()


class Array(list[object]):
    """An array of a row, and no list of JSON."""


@dataclass(frozen=True, slots=True)
class SqlAsked:
    """A statement. `dialect` is sqlite, postgres or mysql; `database` its file or its name."""

    dialect: str
    database: str
    connection: int
    """The number of the connection in its run."""
    text: str
    params: Bound = ()
    begins: bool = False
    """Whether the driver begins a transaction before it, unless one is open."""
    more: tuple[Bound, ...] = ()
    """Further parameters with which the same statement is made: `executemany`."""


@dataclass(frozen=True, slots=True)
class SqlAnswer:
    """What a statement gives. `changes` are the rows that it has left, or those that a COMMIT has."""

    columns: tuple[str, ...] | None = None
    """None for a statement without rows."""
    rows: tuple[tuple[object, ...], ...] = ()
    count: int = -1
    last_id: int | None = None
    changes: tuple[Mapping[str, object], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class SqlRefusal:
    """Why a statement failed. `code` is that of SQL's standard: 23505 for a key that is there already."""

    code: str
    message: str

    @property
    def is_lost(self) -> bool:
        """Whether the connection is lost with it."""
        return self.code.startswith("08")


LOST = SqlRefusal("08006", "server closed the connection unexpectedly")
UNIQUE, NOT_NULL, FOREIGN_KEY, CHECK = "23505", "23502", "23503", "23514"
LOCKED, SERIALIZATION, ABORTED, UNKNOWN = "55P03", "40001", "25P02", "42000"

SqlAsk = Callable[[SqlAsked], SqlAnswer | SqlRefusal]
"""Answers a statement."""
