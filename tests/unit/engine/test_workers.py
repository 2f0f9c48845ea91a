"""Workers and sources that are imported with their first work: what is said of them before, and what that saves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest

from redrive.core.clock import Instant, VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.log import SilentLog
from redrive.delivery.sources.source import Source
from redrive.delivery.worker import ONE, Worker
from redrive.engine.build import bind_registry
from redrive.engine.late import LateWorker
from redrive.engine.settings import DEFAULTS
from redrive.engine.sources import late_sources
from redrive.engine.workers import build_workers
from redrive.services.lambda_.source import LambdaSource
from redrive.store.api import Transaction
from redrive.store.sqlite import SqliteStore
from redrive.wire.model.files import Models

IMPORTED = """
import sys
from redrive.core.log import SilentLog
from redrive.engine.build import bind_registry
from redrive.engine.workers import build_workers
build_workers(SilentLog(), has_upkeep=False)
print(*sorted(name for name in sys.modules if name.startswith("redrive.services.") and "workers." in name))
"""


def late_workers() -> dict[str, LateWorker]:
    """The workers of an engine that are not imported yet, by their names."""
    return {worker.name: worker for worker in build_workers(SilentLog()) if isinstance(worker, LateWorker)}


@pytest.mark.parametrize("name", late_workers())
def test_what_is_said_of_a_worker_before_it_is_imported_is_true(name: str) -> None:
    worker = late_workers()[name]

    made = worker.made

    assert (worker.name, worker.timer, worker.upkeep) == (made.name, made.timer, made.upkeep)


def test_worker_is_asked_as_soon_as_a_timer_of_its_kind_is_set() -> None:
    """Until then, it would say itself that nothing is due."""
    asked = late_workers()
    made = {name: worker.made for name, worker in late_workers().items()}
    store = SqliteStore(None, clock=VirtualClock(0), entropy=SeededEntropy(1))
    bind_registry(store, Models())

    def due(workers: Mapping[str, Worker]) -> dict[str, Instant | None]:
        return store.run(lambda tx: {name: one.next_due(tx, free=ONE) for name, one in workers.items()})

    def set_all(tx: Transaction) -> None:
        for kind in {*(worker.timer or worker.name for worker in asked.values()), "events.connection"}:
            tx.timers.set(kind, "000000000000/us-east-1/one", 7)

    assert due(asked) == due(made) == dict.fromkeys(asked)
    store.run(set_all)
    assert due(asked) == due(made) == {**dict.fromkeys(asked, 7), "dynamodb.ttl": None}
    store.close()


@pytest.mark.parametrize(("name", "make"), late_sources(DEFAULTS).items())
def test_what_is_said_of_a_source_before_it_is_imported_is_true(name: str, make: Callable[[], Source]) -> None:
    """Its name, and that its attempts are under no longer lease than those of Lambda."""
    source = make()

    assert source.name == name
    assert source.lease_ms <= LambdaSource.lease_ms


def test_engine_imports_no_worker_of_a_service_that_has_nothing_to_do() -> None:
    told = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)

    assert told.stdout.split() == ["redrive.services.lambda_.workers.mappings"]
