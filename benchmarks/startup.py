"""From nothing to the first answer: how long, and with how much memory."""

from __future__ import annotations

import os
import statistics
import subprocess
from tempfile import TemporaryDirectory

from benchmarks.processes import ENVIRONMENT, PYTHON, free_port, redrive_command, serving
from benchmarks.report import Figure

RUNS = 7
HEALTH = b"GET /_redrive/health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def measure() -> list[Figure]:
    """Medians of several runs; CPU besides the wall, as other work on the machine does not move it."""
    walls, cpus, rss = zip(*(_start() for _ in range(RUNS)), strict=True)
    bare, imported = _python_cpu_s("pass"), _python_cpu_s("import redrive")
    return [
        Figure("redrive serve, to the first answer", statistics.median(walls), "s"),
        Figure("CPU until then", statistics.median(cpus), "s"),
        Figure("resident memory while idle", statistics.median(rss), "MB"),
        Figure("import redrive, CPU over that of a bare Python", 1000 * (imported - bare), "ms"),
        Figure("a bare Python, CPU", 1000 * bare, "ms"),
    ]


def _start() -> tuple[float, float, float]:
    port = free_port()
    with (
        TemporaryDirectory() as data,
        serving(redrive_command(port, "--data", data), port, probe=HEALTH, env=ENVIRONMENT) as server,
    ):
        return server.started_s, server.cpu_s(), server.rss_mb()


def _python_cpu_s(code: str) -> float:
    """CPU of a whole Python that runs this code: the median of several."""
    measured: list[float] = []
    for _ in range(RUNS):
        process = subprocess.Popen([PYTHON, "-c", code], env=ENVIRONMENT)  # noqa: S603 - our own Python.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        measured.append(used.ru_utime + used.ru_stime)
    return statistics.median(measured)
