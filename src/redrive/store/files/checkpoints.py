"""Copies the log of a store into its file while the server runs, and records how far time has come.

SQLite makes a checkpoint only when the log has 4,000 pages, in the commit that fills it. With few writes, data could
stay in the log for days, and a copy of the file alone would miss it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from redrive.core.errors import Conflict, UserError
from redrive.core.log import Log
from redrive.store.sqlite import SqliteStore

INTERVAL_S = 10.0
"""How long committed data may be in the log only."""
SEEN_EVERY = 6
"""How far time has come is recorded at each sixth checkpoint: once a minute."""


class Checkpoints:
    """A thread that checks every few seconds whether anything was written. It has its own connection.

    A passive checkpoint waits for no other connection, and blocks none.
    """

    def __init__(
        self, store: SqliteStore, path: Path, log: Log, *, write_seen: Callable[[], object],
        settle: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        """`write_seen` records how far time has come. `settle` puts received files in their place, at each turn."""
        self._store = store
        self._log = log
        self._write_seen = write_seen
        self._settle = settle
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._copied = self._seen = store.written
        self._turns = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="redrive-checkpoints", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. Call it before the store is closed: the store's own connection must be the last to close."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._connection.close()

    def turn(self) -> None:
        """Check once, and make a checkpoint if anything was written."""
        self._turns += 1
        try:
            if self._turns % SEEN_EVERY == 0 and self._store.written != self._seen:
                self._write_seen()
                self._seen = self._store.written
            if (written := self._store.written) != self._copied:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                self._copied = written
            self._settle()
        except (sqlite3.Error, OSError, Conflict, UserError) as error:  # The log still has everything.
            self._log.warning("checkpoint failed", error=error)

    def _work(self) -> None:
        while not self._stopping.wait(INTERVAL_S):
            self.turn()
