"""What a table needs of a database: run one statement, with parameters by name or by place, or with rows of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]
Params = Mapping[str, object] | Row
"""By name; or by place, for `?`: where a statement is run for each delivery, since names are looked up one by one."""


class Database(Protocol):
    """One connection inside a transaction. Errors: core.errors.Conflict; StoreFull when the disk has no room."""

    @property
    def written(self) -> int:
        """How many rows were written since the connection was made: the same number means that nothing was."""
        ...

    def all(self, sql: str, params: Params) -> list[Row]:
        """Run a statement and take all its rows."""
        ...

    def each(self, sql: str, params: Params) -> Iterator[Row]:
        """Run a statement and take its rows one by one: what is not taken is not read."""
        ...

    def one(self, sql: str, params: Params) -> Row | None:
        """Run a statement and take its first row."""
        ...

    def run(self, sql: str, params: Params) -> int:
        """Run a statement; answers how many rows it changed."""
        ...

    def insert(self, sql: str, params: Params) -> int | None:
        """Run an INSERT of one row; answers the row's number, or None if the statement did nothing on a conflict."""
        ...

    def run_many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run a statement with `?` for its parameters once for each row of them."""
        ...
