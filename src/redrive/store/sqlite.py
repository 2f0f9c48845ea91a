"""The embedded store: one SQLite connection, one writer.

Commits are durable by default (WAL, synchronous=FULL): a commit is on the disk before it is answered. `begin` runs many
steps in one transaction. A failed step is rolled back; the others are not.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from redrive.core.clock import Clock
from redrive.core.entropy import Entropy
from redrive.core.errors import Bug, Conflict
from redrive.core.knobs import PRODUCTION, Knobs
from redrive.store.api import NO_PARAMS, Services, StartAnew, Step, Tables, Transaction, answer_of
from redrive.store.connection import SqliteDatabase, StoreDamaged, StoreFull, unusable
from redrive.store.database import Row
from redrive.store.files.bodies import BodyFiles, bodies_beside
from redrive.store.files.life import UNKNOWN_BOOT, this_boot
from redrive.store.files.opening import SharedMemory, close_file, open_file, open_memory
from redrive.store.group import Follow
from redrive.store.tables.facts import SECRET
from redrive.store.tables.metrics import Accumulator, MetricTable
from redrive.store.tables.resources import ResourceCache

T = TypeVar("T")

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A store's whole content, and its cache of resources."""

    content: bytes
    resources: ResourceCache


class Batch:
    """Steps that have run in a transaction that is still open. Nothing else runs in the store before `conclude`."""

    __slots__ = ("_database", "_failure", "_lock", "_tables", "metrics", "results", "size", "topics")

    def __init__(self, size: int, database: SqliteDatabase, tables: Tables, lock: threading.Lock) -> None:
        self.size = size
        self.results: list[object] = []
        self.topics: set[str] = set()
        self.metrics: list[MetricTable] = []
        self._database = database
        self._tables = tables
        self._lock = lock
        self._failure: Exception | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the whole batch will be rolled back."""
        return self._failure is not None

    def commit(self) -> None:
        """Commit the steps' writes. Any thread may call it: it uses only the connection."""
        if self._failure is None and self._database.connection.in_transaction:
            try:
                self._database.run("COMMIT", NO_PARAMS)
            except Exception as error:  # noqa: BLE001 - whatever the disk says is the answer of every step.
                self._failure = error

    def conclude(self) -> tuple[list[object], frozenset[str]]:
        """The steps' results, and the topics to announce. Unlocks the store for others.

        A step's result is the exception that rolled it back, or the exception of a failed commit.
        """
        try:
            if self._failure is not None:
                self.roll_back()
                return [self._failure] * self.size, frozenset()
            for metrics in self.metrics:
                metrics.forget_flushed()  # First: a step's counts are not part of another step's flush.
            for metrics in self.metrics:
                metrics.committed()
            return self.results, frozenset(self.topics)
        finally:
            self._lock.release()

    def fail(self, error: Exception) -> None:
        """Make every step fail with this error."""
        self._failure = error

    def roll_back(self) -> None:
        """Roll everything back."""
        self.results, self.topics, self.metrics = [], set(), []
        self._tables.undone()
        if self._database.connection.in_transaction:
            self._database.connection.execute("ROLLBACK")


class SqliteStore:
    """A store in one SQLite file, or in memory. A lock lets one thread at a time use it."""

    def __init__(
        self, path: Path | SharedMemory | None, *, clock: Clock, entropy: Entropy, synchronous: str = "FULL",
        defers_sync: bool = False, knobs: Knobs = PRODUCTION,
    ) -> None:  # fmt: skip
        """Open or create the store. `path` None: in memory of its own. SharedMemory: in memory that stores share.

        Without `defers_sync`, each commit waits for the disk, even if `awaits_disk` is False.

        From its second opening on, a store uses a fork of the entropy, so that a seed never gives the same values
        twice.
        Errors: UserError if the file is not a redrive store or comes from a newer version; StoreDamaged.
        """
        self.files: BodyFiles | None = None
        if isinstance(path, Path):
            self.files = BodyFiles(bodies_beside(path), syncs=synchronous == "FULL")
            if not path.exists():
                self.files.refuse_strangers()
            opened = open_file(path, synchronous=synchronous, defers_sync=defers_sync)
        else:
            opened = open_memory(path)
        self.generation = opened.generation
        self.found = opened.life
        self.is_checked_in_part = opened.is_checked_in_part
        self.entropy = entropy if opened.generation == 1 else entropy.fork(f"generation {opened.generation}")
        self._clock = clock
        self._path = path
        self._others_at: int | None = None
        self._defers_sync = defers_sync and self.is_durable and synchronous == "FULL"
        self._awaits_disk = True
        self._lock = threading.Lock()
        self._listeners: list[Callable[[frozenset[str]], None]] = []
        self._listeners_to_others: list[Callable[[], None]] = []
        self._services: Services | None = None
        self._accumulator = Accumulator()
        self._database = self.database_on(opened.connection)
        self._tables = Tables(self._database, resources_max=knobs.cached_resources, files=self.files)
        if self.files is not None:
            is_other_boot = opened.life.opened not in ("", this_boot()) or opened.life.opened == UNKNOWN_BOOT
            self.files.recover(self._tables.bodies.known, is_whole=is_other_boot)
        # Without `close`, the finalizer closes the store properly. Otherwise SQLite would close it without our mark.
        self._close = weakref.finalize(self, _close, opened.connection, path, os.getpid())
        self._secret = self._ensure_secret()

    def database_on(self, connection: sqlite3.Connection) -> SqliteDatabase:
        """The database of this store on its connection."""
        return SqliteDatabase(connection)

    @property
    def secret(self) -> bytes:
        """32 bytes that only this store knows, drawn at its first opening. Keys and tokens derive from them."""
        return self._secret

    @property
    def is_durable(self) -> bool:
        """Whether a commit waits for a disk."""
        return isinstance(self._path, Path)

    @property
    def counted(self) -> Accumulator:
        """Counted metrics that are not in a table yet. A crash loses them."""
        return self._accumulator

    @property
    def written(self) -> int:
        """How many rows were written since the store was opened. Any thread may call it."""
        return self._database.written

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection. Only for tests that count statements."""
        return self._database.connection

    def bind(self, services: Services) -> None:
        if self._services is not None:
            raise Bug("the store is bound to its services once")
        self._services = services

    def on_commit(self, listener: Callable[[frozenset[str]], None]) -> None:
        self._listeners.append(listener)

    def on_others_commit(self, listener: Callable[[], None]) -> None:
        self._listeners_to_others.append(listener)

    def run(self, step: Step[T]) -> T:
        (result,), topics = self.commit([step])
        self.announce(topics)
        if isinstance(result, BaseException):
            raise result
        return cast(T, result)

    def commit(self, steps: Sequence[Step[object]]) -> tuple[list[object], frozenset[str]]:
        """Run steps in this order and commit them in one transaction.

        Returns each step's result, or the exception that rolled back that step alone; and the topics to announce after
        the answers are given. If the commit itself fails, every step has failed with that exception.
        """
        batch = self.begin(steps)
        batch.commit()
        return batch.conclude()

    def begin(
        self, steps: Sequence[Step[object]], *, awaits_disk: bool = True, follow: Follow | None = None
    ) -> Batch:  # fmt: skip
        """Run steps in this order, in a transaction that stays open. Callers must `commit` and `conclude` the batch.

        `follow` may give one step more, by what the steps have notified.

        A power cut may lose a commit with `awaits_disk` False, and all later ones, until a commit that waits for the
        disk.
        """
        self._lock.acquire()
        batch = Batch(len(steps), self._database, self._tables, self._lock)
        try:
            if awaits_disk is not self._awaits_disk:
                self._await_disk(awaits_disk)
            self._begin_transaction()
            try:
                self._attempt_all(steps, batch, follow, guarded=False)
            except StartAnew:
                batch.roll_back()
                self._begin_transaction()
                self._attempt_all(steps, batch, follow, guarded=True)
        except Exception as error:  # noqa: BLE001 - a store that cannot run steps fails all of them.
            batch.fail(error)
        except BaseException:
            batch.roll_back()
            self._lock.release()
            raise
        return batch

    def _begin_transaction(self) -> None:
        """Begin a transaction. Only a store with shared memory checks whether others have changed the database."""
        self._database.run("BEGIN IMMEDIATE", NO_PARAMS)
        if isinstance(self._path, SharedMemory):
            self.refresh()

    def _await_disk(self, is_awaited: bool) -> None:
        """Set whether commits wait for the disk from now on.

        With NORMAL, SQLite still syncs the log before a checkpoint: a power cut loses the latest commits, never the
        file. The sync of a commit that waits covers all commits before it.
        """
        if self._defers_sync:
            self._database.run(f"PRAGMA synchronous = {'FULL' if is_awaited else 'NORMAL'}", NO_PARAMS)
        self._awaits_disk = is_awaited

    def refresh(self) -> None:
        """Clear the caches if another store has committed since the last call. Call it inside a transaction."""
        row = self._database.one("PRAGMA data_version", NO_PARAMS)
        others_at = None if row is None else row[0]
        if others_at != self._others_at:
            self._others_at = others_at
            self._tables.forget()
            for listener in self._listeners_to_others:
                listener()

    def announce(self, topics: frozenset[str]) -> None:
        """Wake the waiters of these topics."""
        if topics:
            for listener in self._listeners:
                listener(topics)

    def _attempt_all(
        self, steps: Sequence[Step[object]], batch: Batch, follow: Follow | None, *, guarded: bool
    ) -> None:  # fmt: skip
        """Run the steps of a batch. An exception rolls back its step's writes and is the step's answer.

        Few steps fail after a write, and a savepoint for each step would copy every page for each step. So the steps
        first run without savepoints. Errors: StartAnew: a step failed after a write, and all steps must run again with
        savepoints.
        """
        batch.size = len(steps)
        for step in steps:
            self._attempt(step, batch, guarded=guarded)
        following = follow(batch.topics) if follow is not None and batch.topics else None
        if following is not None:
            batch.size += 1
            self._attempt(following, batch, guarded=guarded)

    def _attempt(self, step: Step[object], batch: Batch, *, guarded: bool) -> None:
        """Run one step of a batch, and add its result."""
        tx = self._transaction(is_guarded=guarded)
        if guarded:
            self._database.run("SAVEPOINT step", NO_PARAMS)
        written = self._database.written
        try:
            result = step(tx)
        except (Conflict, StoreFull, StoreDamaged):
            raise
        except Exception as error:  # noqa: BLE001 - a step's exception is its answer; the batch goes on.
            if self._database.written != written:
                self._undo(error, guarded=guarded, alone=batch.size == 1)
            result = answer_of(error)
        else:
            batch.topics |= tx.topics
            batch.metrics.append(tx.metrics)
        batch.results.append(result)
        if guarded:
            self._database.run("RELEASE step", NO_PARAMS)

    def _undo(self, error: Exception, *, guarded: bool, alone: bool) -> None:
        if not guarded and not alone:
            raise StartAnew from error
        self._database.run("ROLLBACK TO step" if guarded else "ROLLBACK", NO_PARAMS)
        self._tables.undone()

    def _transaction(self, *, is_guarded: bool) -> Transaction:
        if self._services is None:
            raise Bug("the store runs no step before it is bound to its services")
        return Transaction(
            self._tables, now=self._clock.now(), entropy=self.entropy, services=self._services,
            accumulator=self._accumulator, is_guarded=is_guarded,
        )  # fmt: skip

    def reset(self) -> None:
        """Delete everything: empties all tables except `facts`, keeps the file."""
        with self._lock:
            self._await_disk(True)
            self._tables.forget()
            self._accumulator.clear()
            tables = self._database.all(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name != 'facts'",
                NO_PARAMS,
            )
            self._database.run("BEGIN IMMEDIATE", NO_PARAMS)
            for (table,) in tables:
                self._database.run(f"DELETE FROM {table}", NO_PARAMS)  # noqa: S608 - the schema's own names
            self._database.run("COMMIT", NO_PARAMS)
            if self.files is not None:
                self.files.clear()

    def save(self) -> Snapshot:
        """The stored data, for `load`. Without counted metrics that are not in a table yet."""
        with self._lock:
            return Snapshot(self._database.connection.serialize(), self._tables.resources.cache.copied())

    def load(self, saved: Snapshot) -> None:
        """Restore a snapshot of `save`. Only for stores in memory: a file is not changed."""
        with self._lock:
            self._tables.forget()
            self._tables.resources.cache = saved.resources.copied()
            self._accumulator.clear()
            self._database.connection.deserialize(saved.content)

    def rows(self, tables: Sequence[str]) -> list[list[Row]]:
        """All rows of these tables, to compare two stores."""
        with self._lock:
            return [self._database.all(f"SELECT * FROM {table}", NO_PARAMS) for table in tables]  # noqa: S608 - ours

    def close(self) -> None:
        with self._lock:
            self._close()

    def _ensure_secret(self) -> bytes:
        """The store's secret, drawn if missing. Errors: UserError if it cannot be stored."""
        try:
            known = self._tables.facts.get(SECRET)
            if known is None:
                # A fork, because every store begins with the same draws of the source itself.
                known = bytes.fromhex(self.entropy.fork("secret").hex(2 * SECRET_BYTES))
                self._tables.facts.set(SECRET, known)
        except sqlite3.DatabaseError as error:
            raise unusable(str(self._path or ":memory:"), error) from error
        return known


def _close(connection: sqlite3.Connection, path: Path | SharedMemory | None, process: int) -> None:
    """Close a store properly. Does nothing in a child of the process that opened it."""
    if process == os.getpid():
        if isinstance(path, Path):
            close_file(connection, path)
        else:
            connection.close()
