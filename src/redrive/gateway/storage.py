"""A server's store: in a file or in memory, which the server has for itself, or in a database that nodes share."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from redrive import __version__
from redrive.core.clock import Clock, SystemClock, format_instant
from redrive.core.documents import Document
from redrive.core.entropy import Entropy, new_uuid
from redrive.core.knobs import PRODUCTION
from redrive.engine.rounds import IDLE_MS_MAX
from redrive.store.api import Services, Step
from redrive.store.bodies import Bodies, DiskBodies, RowBodies, Runner
from redrive.store.group import Answer, GroupCommit, Post
from redrive.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from redrive.store.postgres.url import StoreUrl

T = TypeVar("T")

Describe = Callable[[], Mapping[str, object]]
"""What a server says of itself to others."""

SHARED_IDLE_MS_MAX = 1_000
"""How long a node among others waits at most before it looks for due work: hints of other nodes may be lost."""


class Commits(Protocol):
    """Runs the steps of a server: many to a commit."""

    def submit(self, step: Step[object], answer: Answer) -> None:
        """Schedule a step; `answer` is called on the loop when it is durable or has failed. Any thread may call it."""
        ...

    def run(self, step: Step[T]) -> T:
        """Run a step and wait for it. Errors: those of the step; Bug on the loop's thread."""
        ...

    def run_unsynced(self, step: Step[T]) -> T:
        """As `run`, for work whose loss in a power cut nobody notices."""
        ...


class ServedStore(Protocol):
    """The store, as a server uses it outside of requests."""

    @property
    def secret(self) -> bytes: ...

    @property
    def entropy(self) -> Entropy: ...

    def bind(self, services: Services) -> None: ...

    def run(self, step: Step[T]) -> T: ...

    def on_commit(self, listener: Callable[[frozenset[str]], None]) -> None: ...

    def on_others_commit(self, listener: Callable[[], None]) -> None: ...

    def announce(self, topics: frozenset[str]) -> None: ...

    def reset(self) -> None: ...

    def close(self) -> None: ...


class Storage(Protocol):
    """A store that is open, and how a server runs steps in it."""

    is_shared: bool
    idle_ms_max: int

    @property
    def store(self) -> ServedStore: ...

    @property
    def clock(self) -> Clock: ...

    def begin(self, post: Post, describe: Describe) -> Commits:
        """Begin to run steps on the running loop. `describe` is what the server says of itself to others."""
        ...

    def bodies(self, run: Runner) -> Bodies:
        """Where large bodies go. `run` is that of what `begin` has returned."""
        ...

    def nodes(self) -> Sequence[Document]:
        """What the servers on this store say of themselves, this one among them. Any thread may call it."""
        ...

    async def end(self) -> None:
        """Finish the steps that wait."""
        ...


class OwnStorage:
    """A store that no other server uses."""

    is_shared = False
    idle_ms_max = IDLE_MS_MAX

    def __init__(self, store: SqliteStore, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self._group: GroupCommit | None = None

    def begin(self, post: Post, describe: Describe) -> Commits:
        """See Storage."""
        self._group = GroupCommit(self.store, post=post)
        self._describe = describe
        self._started = format_instant(self.clock.now())
        return self._group

    def bodies(self, run: Runner) -> Bodies:
        """See Storage."""
        return bodies_of(self.store, run)

    def nodes(self) -> Sequence[Document]:
        """See Storage."""
        return [{**_facts(), **self._describe(), "started": self._started, "silent_ms": 0}]

    async def end(self) -> None:
        """See Storage."""
        if self._group is not None:
            self._group.close()


class SharedStorage:
    """A store in PostgreSQL, which other servers use as well."""

    is_shared = True
    idle_ms_max = SHARED_IDLE_MS_MAX

    def __init__(self, url: StoreUrl, *, virtual: Clock | None, entropy: Entropy) -> None:
        """`virtual` is the clock of a server in virtual time. Errors: UserError: the store cannot be used."""
        from redrive.store.postgres.presence import DatabaseTime  # noqa: PLC0415 - its packages are an extra.
        from redrive.store.postgres.store import PostgresStore  # noqa: PLC0415 - as above.

        self._time = DatabaseTime()
        self.clock: Clock = virtual or SystemClock(self._time.now)
        self.store = self._store = PostgresStore(url, clock=self.clock, entropy=entropy, time=self._time)
        self._id = new_uuid(self.store.entropy.fork("node"))

    def begin(self, post: Post, describe: Describe) -> Commits:
        """See Storage."""
        from redrive.store.postgres.commits import LaneCommits  # noqa: PLC0415 - its packages are an extra.
        from redrive.store.postgres.presence import Presence  # noqa: PLC0415 - as above.

        facts = _facts()
        self._presence = Presence(
            self._store.presence,
            self._time,
            id=self._id,
            describe=lambda: {**facts, **describe()},
            heard=self.store.announce,
        )
        tell, announce = self._presence.tell, self.store.announce

        def told(topics: frozenset[str]) -> None:
            announce(topics)
            tell(topics)

        self._commits = LaneCommits(self._store.lane, told, steps_max=PRODUCTION.steps_per_commit)
        return self._commits

    def bodies(self, run: Runner) -> Bodies:
        """See Storage."""
        return RowBodies(run)

    def nodes(self) -> Sequence[Document]:
        """See Storage."""
        now = self._time.now()
        return [
            {**told.document, "started": format_instant(told.started_at), "silent_ms": max(0, now - told.seen_at)}
            for told in self._presence.nodes
        ]

    async def end(self) -> None:
        """See Storage."""
        await self._commits.close()
        self._presence.close()
        await asyncio.sleep(0)


def bodies_of(store: SqliteStore, run: Runner) -> Bodies:
    """The large bodies of a store on this machine. `run` runs steps in the store."""
    rows = RowBodies(run)
    return rows if store.files is None else DiskBodies(store.files, rows)


def _facts() -> Document:
    """What a server says of itself that does not change."""
    return {"host": platform.node(), "process": os.getpid(), "version": __version__}
