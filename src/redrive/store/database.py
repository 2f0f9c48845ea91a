"""The database port of the tables: run one statement, with parameters by name or by position, or with many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]
Params = Mapping[str, object] | Row
"""By name; or by position, for `?`. Statements that run for each delivery use positions, which bind faster."""


class Database(Protocol):
    """One connection inside a transaction. Errors: core.errors.Conflict; StoreFull when the disk has no room."""

    is_shared: bool
    """Whether other nodes write to the database while a step runs: then nothing that is read stays true by itself."""

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

    def write(self, sql: str, params: Params) -> None:
        """Run a statement whose result nobody needs. A shared store may run it later in the transaction."""
        ...

    def write_one(self, sql: str, params: Params) -> None:
        """Run a statement that must change exactly one row. Errors: Bug, or Conflict, at the latest at the commit."""
        ...

    def insert(self, sql: str, params: Params) -> int | None:
        """Run an INSERT of one row. Returns the row's number, or None if a conflict prevented the insertion."""
        ...

    def run_many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run a statement with `?` parameters once for each row."""
        ...

    def side_by_side(self, branches: Sequence[Callable[[], object]]) -> None:
        """Run parts of a step that do not depend on each other. A store may let them wait for their answers together.

        Errors: the first exception of a branch, after all have ended or run as far as they can.
        """
        ...

    def reserve(self, *keys: str) -> None:
        """Let no other step, on no node, reserve these keys until the transaction ends.

        A step reserves what it reads in order to write it, before it reads. A store with one writer needs none.
        """
        ...

    def announce(self, *keys: str) -> None:
        """Let other nodes not reserve these keys, which this step will reserve later, for less time.

        So steps of one node wait for each other only from then on, and nodes never wait for each other's second locks.
        """
        ...

    def holds(self, key: str) -> bool:
        """Whether this step has reserved a key, or needs not to."""
        ...

    def require(self, key: str) -> None:
        """Say that a write is only right if its key was reserved. A step that has not done so runs again, alone."""
        ...

    def be_alone(self) -> None:
        """Say that this step needs the store for itself. If others run beside it, it runs again, alone."""
        ...

    def change_definitions(self) -> None:
        """Say that what every node remembers is about to change. The step runs alone in the store."""
        ...
