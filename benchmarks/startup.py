"""From nothing to the first answer, or the first verdict: how long, and with how much memory."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.processes import ENVIRONMENT, PYTHON, ROOT, cpu_s_of, free_port, redrive_command, serving
from benchmarks.report import Figure

RUNS = 7
HEALTH = b"GET /_redrive/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
REDRIVE = (PYTHON, "-m", "redrive.cli")
SAFE = ROOT / "examples" / "prove" / "safe.py"
SHOP = ROOT / "examples" / "shop"
VERDICT = b"[1/"


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
        *_commands(),
    ]


def _commands() -> Iterator[Figure]:
    """Commands from their start to their end, or to the first verdict."""
    for words in (["--help"], ["prove", "--help"], ["serve", "--help"]):
        yield Figure(f"redrive {' '.join(words)}, CPU", _cpu_s(*REDRIVE, *words), "s")
    with TemporaryDirectory() as folder:
        proof = ("prove", f"{SAFE}:handler", "--faults", "1")
        yield Figure(
            "a proof with one fault (safe.py), the whole command, CPU", _cpu_s(*REDRIVE, *proof, at=folder), "s"
        )
    with TemporaryDirectory() as folder:
        shop = Path(folder) / "shop"
        shutil.copytree(SHOP, shop, ignore=shutil.ignore_patterns(".redrive"))
        first, *later = (_first_verdict_cpu_s(shop) for _ in range(RUNS))
        yield Figure("redrive prove in examples/shop, to the first verdict, CPU", first, "s")
        yield Figure("the same once more", statistics.median(later), "s")


def _first_verdict_cpu_s(project: Path) -> float:
    """CPU until the first function of a project has its verdict."""
    with subprocess.Popen(  # noqa: S603 - our own Python.
        [*REDRIVE, "prove"], cwd=project, env={**os.environ, **ENVIRONMENT}, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stderr is not None, "it was asked for"
        next(line for line in process.stderr if line.startswith(VERDICT))
        used = cpu_s_of(process.pid)
        process.stderr.read()
    return used


def _start() -> tuple[float, float, float]:
    port = free_port()
    with (
        TemporaryDirectory() as data,
        serving(redrive_command(port, "--data", data), port, probe=HEALTH, env=ENVIRONMENT) as server,
    ):
        return server.started_s, server.cpu_s(), server.rss_mb()


def _python_cpu_s(code: str) -> float:
    """CPU of a whole Python that runs this code: the median of several."""
    return _cpu_s(PYTHON, "-c", code)


def _cpu_s(*command: str, at: str | None = None) -> float:
    """CPU of a command from its start to its end: the median of several."""
    measured: list[float] = []
    for _ in range(RUNS):
        process = subprocess.Popen(  # noqa: S603 - our own Python.
            command, env=ENVIRONMENT, cwd=at, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        measured.append(used.ru_utime + used.ru_stime)
    return statistics.median(measured)
