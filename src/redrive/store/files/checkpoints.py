"""Brings the log of a store into its file while the server runs, and writes down how far time has come.

SQLite does the first by itself once the log has 4,000 pages, in the commit that fills it. A store that is seldom
written to would lie in its log for days, and a copy of the file alone would hold none of it.
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
"""How long what was accepted may stand in the log alone."""
SEEN_EVERY = 6
"""At every so-manyth checkpoint it is written down how far time has come: once a minute."""


class Checkpoints:
    """A thread that looks every few seconds whether anything was written. It has a connection of its own.

    A checkpoint of this kind waits for nobody, and nobody waits for it.
    """

    def __init__(self, store: SqliteStore, path: Path, log: Log, *, write_seen: Callable[[], object]) -> None:
        """`write_seen` stores how far time has come."""
        self._store = store
        self._log = log
        self._write_seen = write_seen
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._copied = self._seen = store.written
        self._turns = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="redrive-checkpoints", daemon=True)

    def start(self) -> None:
        """Begin to look every few seconds."""
        self._thread.start()

    def stop(self) -> None:
        """End. Before the store is closed: the last connection to close is the store's own."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._connection.close()

    def turn(self) -> None:
        """Look once."""
        self._turns += 1
        try:
            if self._turns % SEEN_EVERY == 0 and self._store.written != self._seen:
                self._write_seen()
                self._seen = self._store.written
            if (written := self._store.written) != self._copied:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                self._copied = written
        except (sqlite3.Error, Conflict, UserError) as error:  # The log keeps everything meanwhile.
            self._log.warning("checkpoint failed", error=error)

    def _work(self) -> None:
        while not self._stopping.wait(INTERVAL_S):
            self.turn()
