"""The two sides of a copy: a store that is read, and an empty store that is filled. Nobody else uses either meanwhile.

seq         the column that numbers the rows of a table. In SQLite it may be the hidden rowid
numbering   the highest number that a table has given, which may belong to a row that is gone
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from redrive.core.errors import UserError
from redrive.store.database import Row

SEQ = "seq"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a store. `has_rowid`: whether it can be asked for a column `seq` that is not among its columns."""

    name: str
    columns: Sequence[str]
    has_rowid: bool = False

    def has(self, column: str) -> bool:
        """Whether the column can be read and written."""
        return column in self.columns or (column == SEQ and self.has_rowid)


class ReadSide(Protocol):
    """A store that is read, as of one instant. Errors: UserError."""

    @property
    def shown(self) -> str:
        """Where it is."""
        ...

    def tables(self) -> Sequence[Table]:
        """Its tables, in alphabetical order."""
        ...

    def count(self, table: Table) -> int:
        """How many rows a table has."""
        ...

    def rows(self, table: Table, columns: Sequence[str]) -> Generator[Row, None, None]:
        """The rows of a table, one by one. Whoever stops before the end closes it."""
        ...

    def numbering(self, table: Table) -> int:
        """The highest number that the table has given; 0 if it has given none or does not number its rows."""
        ...


class FilledSide(Protocol):
    """An empty store that is filled. Until `finish` it is nobody's store. Errors: UserError."""

    @property
    def shown(self) -> str:
        """Where it is."""
        ...

    def tables(self) -> Sequence[Table]:
        """Its tables, in alphabetical order."""
        ...

    def count(self, table: Table) -> int:
        """How many rows a table has."""
        ...

    def put(self, table: Table, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Insert rows."""
        ...

    def go_on_after(self, table: Table, number: int) -> None:
        """Make the next row of the table get a higher number than this."""
        ...

    def finish(self) -> None:
        """Make it a store that a server can open."""
        ...


def check_schema(shown: str, version: int, known: int) -> None:
    """Errors: UserError if a store is not of this redrive's schema: only tables that are known can be copied."""
    if version < known:
        raise UserError(
            f"{shown} was written by an older redrive (schema {version}, this one has {known}).",
            next_step="Start a server of this version on it once, and stop it: that brings the store up to date.",
        )
    if version > known:
        raise UserError(
            f"{shown} was written by a newer redrive (schema {version}, this one knows {known}).",
            next_step="Copy with that version.",
        )
