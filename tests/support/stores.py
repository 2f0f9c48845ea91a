"""The worlds of a test run on PostgreSQL, in place of SQLite: `pytest --store postgresql`.

A world gets a database of its own. When the world is closed or forgotten, its database is emptied for another one:
that takes a tenth of the time in which a database is created and its tables are made.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NoReturn, cast

import psycopg
import pytest
from psycopg import pq

from redrive.core.clock import Clock
from redrive.core.entropy import Entropy
from redrive.core.knobs import Knobs
from redrive.store.api import Step
from redrive.store.postgres.lane import Lane
from redrive.store.postgres.store import PostgresStore, run_on
from redrive.store.postgres.url import parse_url
from redrive.store.sqlite import SqliteStore
from redrive.testing.world import World

OPEN_MAX = 30
"""From this many databases on, worlds in cycles of references are looked for before another one is created."""

_EMPTY = """
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'store_state'
  LOOP EXECUTE 'DELETE FROM ' || name; END LOOP;
  FOR name IN SELECT quote_ident(sequencename) FROM pg_sequences WHERE schemaname = 'public'
  LOOP EXECUTE 'ALTER SEQUENCE ' || name || ' RESTART'; END LOOP;
  UPDATE store_state SET generation = 0;
END $$
"""


class WorldStore(PostgresStore):
    """The store of a world, which does without the members that only SQLite has."""

    def __init__(self, url: str, *, clock: Clock, entropy: Entropy, knobs: Knobs) -> None:
        # Only the connections: a lane knows its store, which would then never be forgotten.
        self.connections: list[pq.abc.PGconn] = []
        self.closed: Callable[[], object] = _nothing_to_do
        super().__init__(parse_url(url), clock=clock, entropy=entropy, knobs=knobs)

    def lane(self) -> Lane:
        lane = super().lane()
        self.connections.append(lane.pipeline.pgconn)
        return lane

    def close(self) -> None:
        super().close()
        self.closed()

    @property
    def connection(self) -> NoReturn:
        """SQLite's connection. Whoever asks for it tests SQLite."""
        pytest.skip("looks into SQLite")


def _nothing_to_do() -> None:
    """Whoever gave the URL looks after the database."""


class Databases:
    """The databases of one process of a test run."""

    def __init__(self, server_url: str) -> None:
        self._server_url = server_url
        self._free: list[str] = []
        self._made: list[str] = []

    def open(self, world: World, knobs: Knobs) -> SqliteStore:
        """A store for a world. Its type is what World says; only `WorldStore` says where they differ."""
        url = self._taken()
        store = WorldStore(url, clock=world.clock, entropy=world.entropy, knobs=knobs)
        store.closed = weakref.finalize(store, self._give_back, url, store.connections)
        return cast(SqliteStore, store)

    def drop(self) -> None:
        """Drop all databases, whoever still uses them."""
        with psycopg.connect(self._server_url, autocommit=True) as server:
            for name in self._made:
                server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def _taken(self) -> str:
        if not self._free and len(self._made) >= OPEN_MAX:
            gc.collect()
        if self._free:
            url = self._free.pop()
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(_EMPTY)
            return url
        with psycopg.connect(self._server_url, autocommit=True) as server:
            row = server.execute("SELECT 'world_' || replace(gen_random_uuid()::text, '-', '')").fetchone()
            assert row is not None
            server.execute(f"CREATE DATABASE {row[0]} TEMPLATE template0".encode())
        self._made.append(row[0])
        return self._server_url.replace("/postgres?", f"/{row[0]}?")

    def _give_back(self, url: str, connections: Sequence[pq.abc.PGconn]) -> None:
        for connection in connections:
            connection.finish()
        self._free.append(url)


class PostgresWorld(World):
    """A world that is a node of a store in PostgreSQL, beside others of the same database."""

    def __init__(self, url: str, *, seed: int = 0) -> None:
        self._url = url
        self._lanes: list[Lane] = []
        super().__init__(seed=seed)

    def open_store(self, knobs: Knobs) -> SqliteStore:
        return cast(SqliteStore, WorldStore(self._url, clock=self.clock, entropy=self.entropy, knobs=knobs))

    def together(self, *steps: Step[object]) -> list[object]:
        """Run steps in one batch on a lane of the store. Returns the result or the exception of each."""
        if not self._lanes:
            self._lanes.append(cast(WorldStore, self.store).lane())
        return run_on(self._lanes[0], steps)[0]

    def calls(self, service: str, operation: str, all_params: Sequence[Mapping[str, object]]) -> list[object]:
        """Run an operation many times in one batch. Returns the answer or the exception of each."""
        steps = [
            partial(self.engine.registry.begin, caller=self.caller(), service=service, operation=operation, params=one)
            for one in all_params
        ]
        return self.together(*steps)

    def close(self) -> None:
        for lane in self._lanes:
            lane.pipeline.close()
        super().close()


@contextmanager
def on_postgresql(server_url: str) -> Iterator[None]:
    """Every world that is made inside has its store in a database of this server."""
    databases = Databases(server_url)

    def open_store(world: World, knobs: Knobs) -> SqliteStore:
        return databases.open(world, knobs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "open_store", open_store)
        yield
    databases.drop()
