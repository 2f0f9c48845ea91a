"""From nothing to the first answer: how long, and with how much memory."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory

from benchmarks.processes import ENVIRONMENT, PYTHON, free_port, redrive_command, serving
from benchmarks.report import Figure

RUNS = 7
HEALTH = b"GET /_redrive/health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def measure() -> list[Figure]:
    """Medians of several runs; an import is measured against a Python that imports nothing."""
    starts, rss = zip(*(_start() for _ in range(RUNS)), strict=True)
    bare = _median(lambda: _python("pass"))
    return [
        Figure("redrive serve, to the first answer", statistics.median(starts), "s"),
        Figure("the same, resident memory while idle", statistics.median(rss), "MB"),
        Figure("import redrive, over a bare Python", 1000 * (_median(lambda: _python("import redrive")) - bare), "ms"),
        Figure("a bare Python", 1000 * bare, "ms"),
    ]


def _start() -> tuple[float, float]:
    port = free_port()
    with (
        TemporaryDirectory() as data,
        serving(redrive_command(port, "--data", data), port, probe=HEALTH, env=ENVIRONMENT) as server,
    ):
        return server.started_s, server.rss_mb()


def _python(code: str) -> float:
    command: Sequence[str] = [PYTHON, "-c", code]
    began = time.perf_counter()
    subprocess.run(command, check=True, env=ENVIRONMENT)
    return time.perf_counter() - began


def _median(measured: Callable[[], float]) -> float:
    return statistics.median(measured() for _ in range(RUNS))
