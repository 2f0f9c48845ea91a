"""Keeps a node's environments ready, as provisioned concurrency asks. Each node of a shared store keeps its own.

There is no timer in the store: environments are processes of this node, and a node that starts has none.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from redrive.core.errors import Conflict, Unavailable
from redrive.core.log import Log
from redrive.delivery.outside.invocation import PROVISIONS, Provision, Provisioner
from redrive.engine.engine import Runner
from redrive.services.lambda_.provisions import provisions

CHECK_S = 1.0
"""How often environments are looked after while some are kept: dead ones are replaced."""
LOOK_S = 30.0
"""How often the store is asked while none are kept. Hints of other nodes may be lost."""


class Provisioning:
    """A thread that brings the invoker's environments in line with the store. In real time only."""

    def __init__(self, run: Runner, provisioner: Provisioner, log: Log) -> None:
        self._run = run
        self._provisioner = provisioner
        self._log = log
        self._wanted: Sequence[Provision] = ()
        self._asked = threading.Event()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._work, name="redrive-provisioning", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._asked.set()
        self._thread.start()

    def hear(self, topics: frozenset[str]) -> None:
        """Look again if a commit may have changed what is kept. Cheap; any thread may call it."""
        if PROVISIONS in topics:
            self._asked.set()

    def stop(self) -> None:
        """End. The invoker is closed before, so that nobody waits for a function that loads."""
        self._is_stopping = True
        self._asked.set()
        self._thread.join()

    def _work(self) -> None:
        while True:
            self._asked.wait(CHECK_S if self._wanted else LOOK_S)
            self._asked.clear()
            if self._is_stopping:
                return
            try:
                self._keep()
            except (Conflict, Unavailable) as error:
                self._log.warning("environments were not looked after", error=str(error))
            except Exception as error:  # noqa: BLE001 - the one supervisor of this thread: the next look repeats it.
                self._log.error("environments were not looked after", error=repr(error))

    def _keep(self) -> None:
        before, self._wanted = self._wanted, self._run(provisions)
        if before or self._wanted:
            self._provisioner.provide(self._wanted)
