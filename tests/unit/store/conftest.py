"""Stores on real SQLite and on real PostgreSQL, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.connected_calls import ConnectedCall
from redrive.core.documents import Document
from redrive.core.entropy import SeededEntropy
from redrive.core.leniency import OnUnknown
from redrive.core.limits import Limits
from redrive.core.own_events import OwnEvent
from redrive.core.scope import Caller, Scope
from redrive.store.api import NO_CONTEXT, QueueMessage, Step, Transaction
from redrive.store.postgres.store import PostgresStore, run_on
from redrive.store.postgres.url import parse_url
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.attempts import AttemptRecord, RunRecord, RunState


class NoServices:
    """A store of which no step calls a service."""

    limits = Limits.STRICT
    has_rates = False
    on_unknown = OnUnknown.REFUSE

    def call(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
    ) -> Document:
        raise AssertionError("no service is called here")

    def read(self, service: str, operation: str, document: Mapping[str, object]) -> Mapping[str, object]:
        raise AssertionError("no document is read here")

    def missing(self, service: str, operation: str, document: Mapping[str, object]) -> Sequence[str]:
        raise AssertionError("no document is read here")

    def shown(self, service: str, operation: str, answer: Mapping[str, object]) -> Document:
        raise AssertionError("no answer is shown here")

    def declares(self, service: str, operation: str, code: str) -> bool:
        raise AssertionError("nobody asks for errors here")

    def assume_role(
        self,
        tx: Transaction,
        role_arn: str,
        *,
        service: str,
        session_name: str,
        region: str,
        request_id: str,
        source_arn: str | None = None,
    ) -> Caller:
        raise AssertionError("no role is assumed here")

    def holder_id(self, tx: Transaction, caller: Caller) -> str:
        raise AssertionError("nobody is named here")

    def publish_event(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        raise AssertionError("no service tells anything here")

    def announce_queues(self, tx: Transaction, arns: Iterable[str]) -> None:
        """Nothing is sent to queues here."""

    def send_to_queues(self, tx: Transaction, messages: Sequence[QueueMessage]) -> Sequence[str | None]:
        return [None for _ in messages]

    def publish_read_call(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        raise AssertionError("no call is recorded here")

    def connection(self, tx: Transaction, caller: Caller, arn: str) -> ConnectedCall | None:
        raise NotImplementedError

    def connection_refused(self, tx: Transaction, arn: str, headers: Sequence[tuple[str, str]]) -> None:
        raise NotImplementedError

    def vended_log_types(self, tx: Transaction, resource_arn: str) -> frozenset[str]:
        return frozenset()

    def vend_logs(
        self, tx: Transaction, resource_arn: str, stream: str, records: Mapping[str, Sequence[Document]]
    ) -> None:
        raise AssertionError("no service writes logs here")

    def begin_reading(
        self, tx: Transaction, caller: Caller, stream_arn: str, start: str, at: int | None
    ) -> Mapping[str, int]:
        raise AssertionError("no stream is read here")

    def user_of(self, tx: Transaction, caller: Caller, access_key_id: str, service: str) -> Caller:
        raise AssertionError("nobody calls with a key here")

    def authorize(
        self, tx: Transaction, caller: Caller, action: str, resource: str, *,
        context: Mapping[str, tuple[str, ...]] = NO_CONTEXT, policy: str = "", resource_account: str | None = None,
        more: Callable[[], Mapping[str, tuple[str, ...]]] | None = None,
    ) -> None:  # fmt: skip
        raise AssertionError("nothing is authorized here")


def open_store(path: Path | None, clock: VirtualClock | None = None, *, defers_sync: bool = False) -> SqliteStore:
    """A bound store."""
    store = SqliteStore(path, clock=clock or VirtualClock(1_000), entropy=SeededEntropy(1), defers_sync=defers_sync)
    store.bind(NoServices())
    return store


def open_postgres(url: str, clock: VirtualClock | None = None, *, seed: int = 1) -> PostgresStore:
    """A bound store in PostgreSQL: one of the nodes that use the database."""
    store = PostgresStore(parse_url(url), clock=clock or VirtualClock(1_000), entropy=SeededEntropy(seed))
    store.bind(NoServices())
    return store


@dataclass(frozen=True, slots=True)
class AnyStore:
    """A store of any kind, as the tests use it that hold for all of them."""

    store: SqliteStore | PostgresStore

    def run(self, step: Step[Any]) -> Any:
        """Run one step."""
        return self.store.run(step)

    def batch(self, *steps: Step[object]) -> list[object]:
        """Run steps in one transaction, if they do not prevent it. Returns the result or the exception of each."""
        if isinstance(self.store, SqliteStore):
            return self.store.commit(steps)[0]
        lane = self.store.lane()
        try:
            return run_on(lane, steps)[0]
        finally:
            lane.pipeline.close()


@pytest.fixture(params=["file", "memory", "postgresql"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyStore]:
    """The same test on each kind of store."""
    if request.param == "postgresql":
        opened: SqliteStore | PostgresStore = open_postgres(request.getfixturevalue("postgresql_store_url"))
    else:
        opened = open_store(tmp_path / "redrive.sqlite" if request.param == "file" else None)
    yield AnyStore(opened)
    opened.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = open_store(tmp_path / "redrive.sqlite")
    yield opened
    opened.close()


def write_down(tx: Transaction, attempt: AttemptRecord, *, execution_id: str = "", scope: str = "0/here") -> None:
    """Record an attempt of a run that says no more than it does."""
    ended_at = None if attempt.state is RunState.RETRYING else attempt.ended_at
    run = RunRecord(
        attempt.delivery_id, scope, "test", attempt.source_arn, "arn:target", execution_id or attempt.delivery_id, "",
        attempt.state, attempt.ended_at, ended_at, attempt.left_out, attempt.left_out_until,
    )  # fmt: skip
    tx.attempts.record(run, attempt)
