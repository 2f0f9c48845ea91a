"""The fleet: one database, the nodes over it, the clients in the weather, and one client without hazards."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from redrive.core.clock import Instant, VirtualClock
from redrive.core.entropy import Entropy
from redrive.core.knobs import Knobs
from redrive.core.log import Log
from redrive.delivery.outside.http_call import HttpCaller
from redrive.delivery.worker import ONE
from redrive.engine.build import bind_registry
from redrive.engine.engine import Engine, Runner
from redrive.engine.faults import Commits, FaultyInvoker
from redrive.engine.services import BoundServices
from redrive.engine.workers import build_workers
from redrive.sim.fleet.clients import Client
from redrive.sim.fleet.clocks import Machine
from redrive.sim.fleet.nodes import Node
from redrive.sim.fleet.serving import Committed, Process, Serving
from redrive.sim.users.functions import Functions
from redrive.store.api import Step
from redrive.store.files.opening import SharedMemory
from redrive.store.sqlite import SqliteStore
from redrive.wire.model.files import Models

T = TypeVar("T")

BUSY_SHARE = 0.7
"""How often a client's step joins waiting steps of the same process, so that they share a commit."""


class Fleet:
    """Nodes over one database, and their clients."""

    def __init__(
        self, serving: Serving, *, clock: VirtualClock, models: Models, functions: Functions, sites: HttpCaller,
        entropy: Entropy, knobs: Knobs, log: Log, wake: Callable[[], None],
    ) -> None:  # fmt: skip
        """A fleet without nodes. `wake` is called when work may have come due."""
        self._serving = serving
        self._clock = clock
        self._functions = functions
        self._sites = sites
        self._entropy = entropy
        self._knobs = knobs
        self._log = log
        self._wake = wake
        self._shared = SharedMemory()
        self._store = SqliteStore(self._shared, clock=clock, entropy=entropy.fork("store"))
        self._store.on_commit(lambda _: wake())
        self._registry = bind_registry(self._store, models)
        self._watching = self._engine(self.run)
        self.reliable = Client(self._reliable_engine, entropy.fork("reliable client"))
        self.nodes: list[Node] = []

    def add_nodes(self, count: int, *, slots: int) -> None:
        """Start `count` nodes, on machines whose clocks are right."""
        for number in range(1, count + 1):
            name, machine = f"node-{number}", Machine(self._clock)
            self.nodes.append(Node(name, machine, slots, self._start(name, machine, life=0)))

    def run(self, step: Step[T]) -> T:
        """Run a step without hazards."""
        self._serving.unlock()
        return self._store.run(step)

    def next_due(self) -> Instant | None:
        """When work that a user waits for is next due."""
        return self._watching.next_due(free=ONE, upkeep=False)

    def client(self, name: str) -> Client:
        """A client in the weather."""
        return Client(self._client_engine, self._entropy.fork(f"client {name}"))

    def restart(self, node: Node, *, at: Instant) -> Process:
        """End a node's process and start another, which continues at `at`. Returns the ended process."""
        ended = node.process
        ended.end()
        self._serving.forget(ended)
        self._serving.unlock()
        node.restart(partial(self._start, node.name, node.machine), at=at)
        return ended

    def close(self) -> None:
        """Close the database."""
        for node in self.nodes:
            node.process.end()
        self._store.close()
        self._shared.close()

    def _start(self, name: str, machine: Machine, life: int) -> Process:
        entropy = self._entropy.fork(f"{name}, life {life}")
        store = SqliteStore(self._shared, clock=machine, entropy=entropy, knobs=self._knobs)
        store.bind(BoundServices(self._registry))
        store.on_commit(lambda _: self._wake())
        return Process(self._serving, store, self._engine, machine, knobs=self._knobs)

    def _client_engine(self, committed: Committed | None) -> Engine:
        return self._engine(partial(self._run_anywhere, committed=committed), has_workers=False)

    def _reliable_engine(self, committed: Committed | None) -> Engine:
        def run(step: Step[T]) -> T:
            answer = self.run(step)
            if committed is not None:
                committed(answer)
            return answer

        return self._engine(run, has_workers=False)

    def _run_anywhere(self, step: Step[T], *, committed: Committed | None) -> T:
        """Run a client's step on a node that is awake: on one with waiting steps, or on any."""
        awake = [node for node in self.nodes if node.awake_at <= self._clock.now()] or self.nodes
        busy = [node for node in awake if node.process.waiting]
        dice = self._serving.weather.dice
        chosen = busy if busy and dice.chance(BUSY_SHARE) else awake
        return self._serving.run(chosen[dice.between(0, len(chosen) - 1)].process, step, committed=committed)

    def _engine(self, run: Runner, *, has_workers: bool = True, commits: Commits | None = None) -> Engine:
        """An engine. With `commits`, runs of functions need no transaction while it is known that no faults exist."""
        invoker = FaultyInvoker(self._functions, run, real_time=False, commits=commits)
        workers = build_workers(self._log, knobs=self._knobs) if has_workers else []
        return Engine(run, self._registry, workers, invoker, self._log, http=self._sites)
