"""Nodes of one store as processes; they are killed without warning and started again, like their database."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import ENVIRONMENT, free_port, redrive_command
from scripts.postgresql import Server

STOP_S_MAX = 30
DOWN_S = 1.0


class Node:
    """A redrive server that may be killed. What it prints goes on in one file over its lives."""

    def __init__(self, store: Sequence[str], log: Path) -> None:
        """`store`: the options that name the store."""
        self.port = free_port()
        self.log = log
        self._command = redrive_command(self.port, *store)
        self._process: subprocess.Popen[bytes]
        self.start()

    def start(self) -> None:
        """Begin a life."""
        with self.log.open("ab") as printed:
            self._process = subprocess.Popen(  # noqa: S603 - our own server.
                self._command, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, **ENVIRONMENT, "PYTHONFAULTHANDLER": "1"},
            )  # fmt: skip

    def kill(self) -> None:
        """End the process and all that it has started, without warning."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """End in order. Returns the exit code."""
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)  # The log then shows where each thread stood.
            self._process.wait()
            return -1

    @property
    def is_up(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None


class Weather:
    """Kills a random node from time to time, and once, in the middle, restarts the database."""

    def __init__(
        self, nodes: Sequence[Node], database: Server | None, *, seconds: float, every_s: float, seed: int
    ) -> None:
        self._nodes = nodes
        self._database = database
        self._seconds = seconds
        self._every_s = every_s
        self._random = random.Random(seed)  # noqa: S311 - which node is next is no secret.
        self._over = threading.Event()
        self.kills = 0
        self.restarts = 0
        self.ended_alone: list[str] = []

    def run(self) -> None:
        """Make weather until the time is over."""
        began = time.monotonic()
        while not self._over.wait(self._every_s) and time.monotonic() - began < self._seconds:
            if self._database is not None and not self.restarts and time.monotonic() - began > self._seconds / 2:
                self._database.restart()
                self.restarts += 1
                continue
            node = self._random.choice(self._nodes)
            if not node.is_up:
                self.ended_alone.append(f"the node on port {node.port} had ended by itself: see {node.log}")
            else:
                node.kill()
                self.kills += 1
                time.sleep(DOWN_S)
            node.start()


@contextmanager
def nodes_on(store: Sequence[str], count: int, folder: Path) -> Iterator[list[Node]]:
    """So many nodes on a store, while the block runs. Each has a log in the folder; `store` are options."""
    nodes: list[Node] = []
    try:
        nodes.extend(Node(store, folder / f"node-{number}.log") for number in range(count))
        yield nodes
    finally:
        for node in nodes:
            if node.is_up:
                node.kill()
