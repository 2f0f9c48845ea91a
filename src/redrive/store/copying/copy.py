"""Copy a store table by table, and compare the counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

from redrive.core.errors import Bug, UserError
from redrive.store.copying.of_sqlite import filling_directory, reading_directory
from redrive.store.copying.sides import SEQ, FilledSide, ReadSide, Table
from redrive.store.database import Row
from redrive.store.place import Place

ROWS_PER_TICK = 1_000

Progress = Callable[[str, int, int], None]
"""Called with the table, the number of copied rows, and the number of all rows of the store."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy has copied: the rows by table."""

    source: str
    target: str
    tables: Mapping[str, int]

    @property
    def rows(self) -> int:
        """The rows of all tables."""
        return sum(self.tables.values())


def copy_place(source: Place, target: Place, *, progress: Progress) -> Copied:
    """Copy the whole store from one place into an empty one.

    Errors: UserError: the source is in use, damaged or of another schema; the target is not empty; a disk is full.
    Whatever goes wrong, the source is as it was, and the target holds no store.
    """
    with _reading(source) as read, _filling(target) as filled:
        copied = copy_all(read, filled, progress=progress)
        filled.finish()
    return copied


def copy_all(source: ReadSide, target: FilledSide, *, progress: Progress) -> Copied:
    """Copy all tables of one side to the other. Errors: those of the sides; UserError if a count differs."""
    tables, places = source.tables(), {table.name: table for table in target.tables()}
    if [table.name for table in tables] != sorted(places):
        raise Bug(f"the tables of {source.shown} and {target.shown} differ: {tables} and {places}")
    counts = {table.name: source.count(table) for table in tables}
    total, done = sum(counts.values()), 0
    for table in tables:
        place = places[table.name]
        columns = shared_columns(table, place)
        with closing(source.rows(table, columns)) as rows:
            target.put(place, columns, _told(rows, table.name, done, total, progress))
        target.go_on_after(place, source.numbering(table))
        done += counts[table.name]
        found = target.count(place)
        if found != counts[table.name]:
            raise UserError(
                f"{source.shown} has {counts[table.name]} rows in {table.name}, and {found} of them arrived.",
                next_step="Nothing was kept of the copy. Try again, and report it if it happens twice.",
            )
        progress(table.name, done, total)
    return Copied(source.shown, target.shown, counts)


def shared_columns(source: Table, target: Table) -> Sequence[str]:
    """The columns to copy, which are all of both tables, and the hidden number if both have one.

    Errors: Bug if one lacks a column of the other.
    """
    hidden = [SEQ] if source.has_rowid and target.has_rowid else []
    columns = list(dict.fromkeys([*source.columns, *target.columns, *hidden]))
    missing = [name for name in columns if not (source.has(name) and target.has(name))]
    if missing:
        raise Bug(f"the two schemas of the table {source.name} differ in {missing}")
    return columns


def _told(rows: Iterator[Row], table: str, done: int, total: int, progress: Progress) -> Iterator[Row]:
    """The rows, with the progress told from time to time."""
    for number, row in enumerate(rows):
        if number % ROWS_PER_TICK == 0:
            progress(table, done + number, total)
        yield row


def _reading(place: Place) -> AbstractContextManager[ReadSide]:
    if isinstance(place, Path):
        return reading_directory(place)
    from redrive.store.copying.of_postgresql import reading_database  # noqa: PLC0415 - its packages are an extra.

    return reading_database(place)


def _filling(place: Place) -> AbstractContextManager[FilledSide]:
    if isinstance(place, Path):
        return filling_directory(place)
    from redrive.store.copying.of_postgresql import filling_database  # noqa: PLC0415 - as above.

    return filling_database(place)
