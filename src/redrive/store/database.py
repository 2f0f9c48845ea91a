"""The database port of the tables: run one statement, with parameters by name or by position, or with many rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]
Params = Mapping[str, object] | Row
"""By name; or by position, for `?`. Statements that run for each delivery use positions, which bind faster."""


class Database(Protocol):
    """One connection inside a transaction. Errors: core.errors.Conflict; StoreFull when the disk has no room."""

    @property
    def written(self) -> int:
        """How many rows were written since the connection was opened. An unchanged number means no writes."""
        ...

    def all(self, sql: str, params: Params) -> list[Row]:
        """Run a statement and return all its rows."""
        ...

    def each(self, sql: str, params: Params) -> Iterator[Row]:
        """Run a statement and yield its rows one by one. Rows that are not consumed are not read."""
        ...

    def one(self, sql: str, params: Params) -> Row | None:
        """Run a statement and return its first row."""
        ...

    def run(self, sql: str, params: Params) -> int:
        """Run a statement. Returns how many rows it changed."""
        ...

    def insert(self, sql: str, params: Params) -> int | None:
        """Run an INSERT of one row. Returns the row's number, or None if a conflict prevented the insertion."""
        ...

    def run_many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run a statement with `?` parameters once for each row."""
        ...
