"""A ledger in the memory of one process: for tests, and for work that does not outlive its process."""

from __future__ import annotations

import threading

from redrive.handler.cells import Cell, LocalCells
from redrive.handler.clock import Clock, now_ms
from redrive.handler.entropy import NewNonce, new_nonce
from redrive.handler.ledger import Record
from redrive.handler.ledgers.records import Change, RecordLedger, T


class MemoryLedger(RecordLedger):
    """Executions of this process, thread-safe. On Lambda they are lost when the environment is replaced."""

    def __init__(self, *, clock: Clock = now_ms, nonce: NewNonce = new_nonce) -> None:
        super().__init__(clock=clock, nonce=nonce)
        self._records: dict[str, Record] = {}
        self._cells = LocalCells()
        self._guard = threading.Lock()

    def load_cell(self, name: str) -> Cell:
        """See `Cells.load_cell`."""
        return self._cells.load_cell(name)

    def swap_cell(self, name: str, version: int, text: str) -> bool:
        """See `Cells.swap_cell`."""
        return self._cells.swap_cell(name, version, text)

    def _change(self, key: str, change: Change[T]) -> T:
        with self._guard:
            record, answer = change(self._records.get(key))
            if record is not None:
                self._records[key] = record
            return answer
