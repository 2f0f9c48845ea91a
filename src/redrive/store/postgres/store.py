"""The store of many nodes in one PostgreSQL database."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from redrive.core.clock import Clock, monotonic_ms
from redrive.core.entropy import Entropy
from redrive.core.errors import Bug, UserError
from redrive.core.knobs import PRODUCTION, Knobs
from redrive.store.api import Services, Step, Tables, Transaction
from redrive.store.database import Row
from redrive.store.files.life import GENERATION
from redrive.store.postgres.lane import POSTPONED, STORE_LOCK, Batch, Lane
from redrive.store.postgres.migrate import migrate
from redrive.store.postgres.opening import Connection, connect
from redrive.store.postgres.pipeline import Pipeline
from redrive.store.postgres.presence import TIME, DatabaseTime
from redrive.store.postgres.url import StoreUrl
from redrive.store.sqlite import SECRET_BYTES
from redrive.store.tables.facts import SECRET
from redrive.store.tables.metrics import Accumulator

T = TypeVar("T")

VIRTUAL_KEY = 0x7265647269766503
"""The advisory lock that says whether the store's time is real. Nodes in real time share it."""
MEASUREMENTS = 20
"""How often the database's clock is read at the start. The shortest round trip counts."""


class PostgresStore:
    """A store that many nodes share. A lock lets one thread at a time run steps on the store's own lane."""

    is_durable = True

    def __init__(
        self, url: StoreUrl, *, clock: Clock, entropy: Entropy, knobs: Knobs = PRODUCTION,
        time: DatabaseTime | None = None,
    ) -> None:  # fmt: skip
        """Connect, and create or migrate the tables. `time` is set to the database's clock, for `clock` to follow.

        Errors: UserError: see `opening` and `migrate`.
        """
        self.url = url
        self._clock = clock
        self._knobs = knobs
        self._lock = threading.Lock()
        self._listeners: list[Callable[[frozenset[str]], None]] = []
        self._services: Services | None = None
        self._accumulator = Accumulator()
        with connect(url) as connection:
            migrate(connection, url.shown)
            if time is not None:
                _measure(connection, time)
            self._secret = _ensure_secret(connection, entropy)
            self.generation = _count_opening(connection)
        self.entropy = entropy if self.generation == 1 else entropy.fork(f"generation {self.generation}")
        self._lane: Lane | None = None

    @property
    def secret(self) -> bytes:
        """32 bytes that only this store knows, drawn at its first opening. Keys and tokens derive from them."""
        return self._secret

    @property
    def counted(self) -> Accumulator:
        """Counted metrics of this node that are not in a table yet. A crash loses them."""
        return self._accumulator

    def bind(self, services: Services) -> None:
        if self._services is not None:
            raise Bug("the store is bound to its services once")
        self._services = services

    def on_commit(self, listener: Callable[[frozenset[str]], None]) -> None:
        self._listeners.append(listener)

    def on_others_commit(self, listener: Callable[[], None]) -> None:
        """Other nodes' commits are found by each batch itself."""

    def announce(self, topics: frozenset[str]) -> None:
        """Wake the waiters of these topics."""
        if topics:
            for listener in self._listeners:
                listener(topics)

    def lane(self) -> Lane:
        """A new lane, on a connection of its own. Errors: UserError: the database does not answer."""
        connection = connect(self.url)
        return Lane(
            lambda failed: Pipeline(connection, failed=failed), self._transaction,
            resources_max=self._knobs.cached_resources,
        )  # fmt: skip

    def presence(self, failed: Callable[[Exception], None]) -> Pipeline:
        """A connection for the presence of a server's node. While it is open, the store's time stays what it is.

        Errors: UserError: another node uses the store in virtual time, or in real time; no answer.
        """
        connection = connect(self.url)
        lock = "pg_try_advisory_lock" if self._clock.is_virtual else "pg_try_advisory_lock_shared"
        if connection.execute(f"SELECT {lock}(%s)".encode(), (VIRTUAL_KEY,)).fetchone() != (True,):
            connection.close()
            others = "another server" if self._clock.is_virtual else "a server in virtual time"
            raise UserError(
                f"{self.url} is in use by {others}.",
                next_step="Virtual time moves for one node alone: stop the other servers, or serve from another store.",
            )
        return Pipeline(connection, failed=failed)

    def run(self, step: Step[T]) -> T:
        with self._lock:
            if self._lane is not None and self._lane.is_lost:
                self._lane.pipeline.close()
                self._lane = None
            if self._lane is None:
                self._lane = self.lane()
            (result,), topics = run_on(self._lane, [step])
        self.announce(topics)
        if isinstance(result, BaseException):
            raise result
        return cast(T, result)

    def reset(self) -> None:
        """Delete everything: empties all tables except those that tell of the store itself."""
        with self._lock, connect(self.url) as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (STORE_LOCK,))
            self._accumulator.clear()
            tables = connection.execute(
                "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()"
                " AND tablename NOT IN ('facts', 'store_state', 'nodes')"
            ).fetchall()
            connection.execute("TRUNCATE " + ", ".join(table for (table,) in tables))
            connection.execute("UPDATE store_state SET generation = generation + 1")

    def rows(self, tables: Sequence[str]) -> list[list[Row]]:
        """All rows of these tables, to compare two stores."""
        with connect(self.url) as connection:
            return [connection.execute(f"SELECT * FROM {table}".encode()).fetchall() for table in tables]  # noqa: S608 - ours

    def close(self) -> None:
        with self._lock:
            if self._lane is not None:
                self._lane.pipeline.close()
                self._lane = None

    def _transaction(self, tables: Tables, *, is_guarded: bool) -> Transaction:
        if self._services is None:
            raise Bug("the store runs no step before it is bound to its services")
        return Transaction(
            tables, now=self._clock.now(), entropy=self.entropy, services=self._services,
            accumulator=self._accumulator, is_guarded=is_guarded,
        )  # fmt: skip


def run_on(lane: Lane, steps: Sequence[Step[object]], *, is_alone: bool = False) -> tuple[list[object], frozenset[str]]:
    """Run steps on a lane, in this thread, which waits meanwhile. Returns their results, and the topics."""
    results, topics = _once(lane, steps, is_alone=is_alone)
    postponed = [place for place, result in enumerate(results) if result is POSTPONED]
    if postponed:
        others, told = _once(lane, [steps[place] for place in postponed], is_alone=True)
        topics |= told
        for place, result in zip(postponed, others, strict=True):
            results[place] = result
    return results, topics


def _once(lane: Lane, steps: Sequence[Step[object]], *, is_alone: bool) -> tuple[list[object], frozenset[str]]:
    found: list[tuple[list[object], frozenset[str]]] = []
    lane.start(Batch(steps, is_alone, lambda results, topics: found.append((list(results), topics))))
    while not found:
        socket = lane.pipeline.socket
        writing = [] if lane.pipeline.write() else [socket]
        select.select([socket], writing, [], 1.0)
        lane.go_on()
    return found[0]


def _measure(connection: Connection, time: DatabaseTime) -> None:
    """Read the database's clock."""
    for _ in range(MEASUREMENTS):
        sent_at = monotonic_ms()
        row = connection.execute(TIME).fetchone()
        assert row is not None, "a SELECT without FROM has one row"
        time.measured(sent_at, int(row[0]))


def _ensure_secret(connection: Connection, entropy: Entropy) -> bytes:
    """The store's secret, drawn if it is missing."""
    drawn = bytes.fromhex(entropy.fork("secret").hex(2 * SECRET_BYTES))
    connection.execute("INSERT INTO facts (name, value) VALUES (%s, %s) ON CONFLICT DO NOTHING", (SECRET, drawn))
    row = connection.execute("SELECT value FROM facts WHERE name = %s", (SECRET,)).fetchone()
    assert row is not None, "a store has a secret from its first opening on"
    return bytes(row[0])


def _count_opening(connection: Connection) -> int:
    """How often the store was opened, this time included."""
    row = connection.execute(
        "INSERT INTO facts (name, value) VALUES (%s, '1') ON CONFLICT (name) DO UPDATE"
        " SET value = convert_to((convert_from(facts.value, 'UTF8')::bigint + 1)::text, 'UTF8') RETURNING value",
        (GENERATION,),
    ).fetchone()
    assert row is not None, "an upsert returns its row"
    return int(row[0])
