"""Small shared values with a version: what several processes know together, such as the state of a breaker.

A cell changes only if it is still as it was read. Every ledger keeps cells beside its records.
"""

from __future__ import annotations

from _thread import allocate_lock  # All of `threading` that is needed here; the rest would cost each cold start.
from typing import NamedTuple, Protocol

RESERVED = "redrive:"  # A ledger that has one place for both keeps cells under this; no execution's key begins so.


class Cell(NamedTuple):
    """A value as it was read. Version 0 was never written, and its text is empty."""

    version: int = 0
    text: str = ""


class Cells(Protocol):
    """A place that keeps cells by name."""

    def load_cell(self, name: str) -> Cell:
        """The cell as it is now."""
        ...

    def swap_cell(self, name: str, version: int, text: str) -> bool:
        """Write the cell if its version is still this one. False, and nothing changes, if it is not."""
        ...


class LocalCells:
    """Cells of one process, which are gone with it. Safe across its threads."""

    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}
        self._guard = allocate_lock()

    def load_cell(self, name: str) -> Cell:
        return self._cells.get(name, Cell())

    def swap_cell(self, name: str, version: int, text: str) -> bool:
        with self._guard:
            if self.load_cell(name).version != version:
                return False
            self._cells[name] = Cell(version + 1, text)
            return True
