"""Small shared values with a version, such as the state of a breaker, which several processes share.

A cell changes only by compare-and-swap: if its version is still the version that was read. Every ledger keeps cells
beside its records.
"""

from __future__ import annotations

from _thread import allocate_lock  # All of `threading` that is needed here; the rest would slow down each cold start.
from typing import NamedTuple, Protocol

RESERVED = "redrive:"  # The prefix of cells in a ledger's only table; no execution's key has this prefix.


class Cell(NamedTuple):
    """A value as it was read. Version 0 was never written, and its text is empty."""

    version: int = 0
    text: str = ""


class Cells(Protocol):
    """Stores cells by name."""

    def load_cell(self, name: str) -> Cell:
        """The current cell."""
        ...

    def swap_cell(self, name: str, version: int, text: str) -> bool:
        """Write the cell if its version is still this one. Otherwise False, and nothing changes."""
        ...


class LocalCells:
    """Cells in the memory of one process. Thread-safe."""

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
